"""What must hold in the data, and a way to break each of it."""

import pytest
from django.db import IntegrityError, transaction
from django.db.models import ProtectedError

from projects import audit
from projects.actors import Actor
from projects.models import ApiToken, AuditEntry, IdempotencyKey, Membership, Project, Secret, Team
from tests.factories import a_project, a_team, a_token, a_user

pytestmark = pytest.mark.django_db


def refused(name, make):
    with pytest.raises(IntegrityError, match=name), transaction.atomic():
        make()


def test_a_person_is_in_a_team_once_and_with_a_known_role(vision):
    refused("membership", lambda: Membership.objects.create(team=vision.team, user=vision.member, role="viewer"))
    refused("membership_role_known", lambda: Membership.objects.create(team=vision.team, user=a_user(), role="owner"))
    assert sorted(vision.team.memberships.values_list("user__username", "role")) == [
        ("admin", "admin"),
        ("member", "member"),
        ("viewer", "viewer"),
    ]


def test_slugs_of_teams_and_projects_are_unique_over_all(vision):
    refused("slug", lambda: a_team(slug="vision"))
    refused("slug", lambda: a_project(team=a_team(), slug="vit"))
    assert (Team.objects.filter(slug="vision").count(), Project.objects.filter(slug="vit").count()) == (1, 1)


def test_a_team_with_projects_stays(vision):
    with pytest.raises(ProtectedError):
        vision.team.delete()
    assert Team.objects.filter(pk=vision.team.pk).exists()


def test_a_token_has_a_known_scope_and_a_digest_of_its_own():
    token, _text = a_token()
    refused("token_scope_known", lambda: ApiToken.objects.filter(pk=token.pk).update(scope="all"))
    refused("digest", lambda: ApiToken.objects.create(user=token.user, name="twin", digest=token.digest, scope="read"))
    assert ApiToken.objects.get().scope == "admin"


def test_a_project_has_a_secret_of_one_name_once_and_another_project_too():
    one, other = a_project(), a_project()
    Secret.objects.create(project=one, name="KEY", value=b"x")
    Secret.objects.create(project=other, name="KEY", value=b"x")
    refused("secret", lambda: Secret.objects.create(project=one, name="KEY", value=b"y"))
    assert bytes(Secret.objects.get(project=one).value) == b"x"


def test_an_idempotency_key_is_a_persons_own_once_and_not_empty():
    one, other = a_user(), a_user()
    IdempotencyKey.objects.create(user=one, key="k", fingerprint="f")
    IdempotencyKey.objects.create(user=other, key="k", fingerprint="f")
    refused("idempotency", lambda: IdempotencyKey.objects.create(user=one, key="k", fingerprint="g"))
    refused("idempotency_key_not_empty", lambda: IdempotencyKey.objects.create(user=one, key="", fingerprint="f"))
    assert IdempotencyKey.objects.get(user=one).fingerprint == "f"


def test_the_audit_is_only_added_to():
    entry = audit.record("team.create", by=Actor(user=a_user()))
    entry.verb = "nothing.happened"
    for forbidden in (
        entry.save,
        entry.delete,
        AuditEntry.objects.all().delete,
        lambda: AuditEntry.objects.update(verb="nothing.happened"),
    ):
        with pytest.raises(TypeError, match="only ever added to"):
            forbidden()
    assert AuditEntry.objects.get().verb == "team.create"


def test_the_audit_outlives_person_and_project():
    user, project = a_user(username="ada"), a_project()
    audit.record("project.create", by=Actor(user=user), project=project, subject=("project", str(project.pk), project.slug))
    title = project.slug
    user.delete()
    project.delete()
    entry = AuditEntry.objects.get()
    assert (entry.user, entry.user_name, entry.project, entry.subject_title) == (None, "ada", None, title)
