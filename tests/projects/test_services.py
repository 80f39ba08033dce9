import pytest

from projects import services
from projects.actors import Actor
from projects.errors import Invalid, NotFound
from projects.models import AuditEntry, Membership, Project, Team
from tests.factories import a_team, a_token, a_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def by(db):
    return Actor(user=a_user(username="operator", is_superuser=True))


def audited():
    return list(AuditEntry.objects.order_by("pk").values_list("verb", "subject_title", "data"))


def test_a_team_begins_empty(by):
    team = services.create_team(slug="vision", name="Vision", by=by)
    assert list(Team.objects.values_list("pk", "slug", "name")) == [(team.pk, "vision", "Vision")]
    assert not team.memberships.exists()
    assert audited() == [("team.create", "vision", {})]


def test_a_project_is_its_teams(by):
    team = a_team(slug="vision")
    project = services.create_project(team=team, slug="vit", name="ViT", by=by)
    assert (Project.objects.get().team, Project.objects.get().slug) == (team, "vit")
    assert audited() == [("project.create", "vit", {"team": "vision"})]
    assert AuditEntry.objects.get().project == project


@pytest.mark.parametrize("slug", ["", "Vision", "-a", "a-", "a_b", "a" * 64, "vision\n", "é"])
def test_a_slug_that_is_none_is_refused(by, slug):
    team = a_team()
    for create in (
        lambda: services.create_team(slug=slug, name="x", by=by),
        lambda: services.create_project(team=team, slug=slug, name="x", by=by),
    ):
        with pytest.raises(Invalid) as wrong:
            create()
        assert list(wrong.value.fields) == ["slug"]
    assert (Team.objects.count(), Project.objects.count(), audited()) == (1, 0, [])


def test_a_slug_that_is_taken_is_refused_even_when_another_was_quicker(by, monkeypatch):
    one, other = a_team(slug="vision"), a_team(slug="speech")
    services.create_project(team=one, slug="vit", name="ViT", by=by)
    for _ in ("looked at", "taken between look and insert"):
        for create in (
            lambda: services.create_team(slug="vision", name="x", by=by),
            lambda: services.create_project(team=other, slug="vit", name="x", by=by),
        ):
            with pytest.raises(Invalid) as wrong:
                create()
            assert list(wrong.value.fields) == ["slug"]
        monkeypatch.setattr("django.db.models.Model.validate_unique", lambda *_args, **_more: None)
    assert (Team.objects.count(), Project.objects.count(), len(audited())) == (2, 1, 1)


def test_a_member_is_added_and_given_another_role(by):
    team, user = a_team(slug="vision"), a_user(username="ada")
    services.add_member(team=team, user=user, role="viewer", by=by)
    services.add_member(team=team, user=user, role="admin", by=by)
    services.add_member(team=team, user=user, role="admin", by=by)
    assert list(Membership.objects.values_list("team", "user", "role")) == [(team.pk, user.pk, "admin")]
    assert audited() == [
        ("member.add", "vision", {"user": "ada", "role": "viewer", "was": ""}),
        ("member.add", "vision", {"user": "ada", "role": "admin", "was": "viewer"}),
    ]


def test_an_unknown_role_is_refused(by):
    with pytest.raises(Invalid) as wrong:
        services.add_member(team=a_team(), user=a_user(), role="owner", by=by)
    assert list(wrong.value.fields) == ["role"]
    assert not Membership.objects.exists() and audited() == []


def test_who_is_removed_is_out_of_that_team_and_keeps_their_tokens(by):
    team, other, user = a_team(slug="vision"), a_team(slug="speech"), a_user(username="ada")
    token, _text = a_token(user=user)
    for one in (team, other):
        services.add_member(team=one, user=user, role="member", by=by)
    services.remove_member(team=team, user=user, by=by)
    assert list(Membership.objects.values_list("team__slug", flat=True)) == ["speech"]
    assert audited()[-1] == ("member.remove", "vision", {"user": "ada", "was": "member"})
    token.refresh_from_db()
    assert token.revoked_at is None
    with pytest.raises(NotFound):
        services.remove_member(team=team, user=user, by=by)
    assert len(audited()) == 4
