import pytest
from django.contrib.auth.models import AnonymousUser

from projects import access
from projects.actors import SCOPES, Actor
from projects.errors import Forbidden, NotFound

pytestmark = pytest.mark.django_db

ROLES = ["viewer", "member", "admin"]


@pytest.mark.parametrize("right", access.RIGHTS)
@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("scope", SCOPES)
def test_role_and_scope_must_both_suffice(vision, right, role, scope):
    needs = access.RIGHTS[right]
    may = ROLES.index(role) >= ROLES.index(needs.role) and SCOPES.index(scope) >= SCOPES.index(needs.scope)
    actor = Actor(user=getattr(vision, role), scope=scope)
    assert (right in access.rights_in(actor, vision.project)) is may
    if may:
        assert access.get_project(actor, "vit", may=right) == vision.project
    else:
        with pytest.raises(Forbidden):
            access.get_project(actor, "vit", may=right)
    assert list(access.projects_with(actor, right)) == ([vision.project] if may else [])


def test_a_stranger_is_told_what_everyone_is_told_of_nothing(vision):
    said = []
    for user, slug in ((vision.stranger, "vit"), (vision.stranger, "nothing"), (AnonymousUser(), "vit")):
        with pytest.raises(NotFound) as missing:
            access.get_project(Actor(user=user), slug, may="project.view")
        said.append(missing.value.sentence.replace(slug, "..."))
    assert len(set(said)) == 1
    assert access.role_in(Actor(user=AnonymousUser()), vision.project) is None


def test_an_operator_may_all_in_every_project_but_not_with_a_small_token(vision):
    assert access.rights_in(Actor(user=vision.operator), vision.project) == set(access.RIGHTS)
    assert "secrets.edit" not in access.rights_in(Actor(user=vision.operator, scope="read"), vision.project)
    assert list(access.projects_with(Actor(user=vision.operator), "secrets.edit")) == [vision.project]


def test_who_is_not_in_a_team_may_nothing_in_its_projects(vision):
    for user in (vision.stranger, AnonymousUser()):
        assert not access.projects_with(Actor(user=user), "project.view").exists()
    assert list(access.visible_projects(Actor(user=vision.operator))) == [vision.project]
