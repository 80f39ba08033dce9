"""The API of teams: the same services as the pages."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from projects.models import ApiToken, Invitation, Membership, Project, Role, Team
from tests.factories import a_member, a_project, a_team, a_token, a_user
from tests.jobs.conftest import script, vision  # noqa: F401  fixtures

pytestmark = pytest.mark.django_db
ONE = "/api/v1/teams/vision"


@pytest.fixture
def admin(vision):  # noqa: F811
    return a_member(team=vision.team, role=Role.ADMIN, username="admin")


def told(answer):
    return answer.status_code, answer.json()["code"]


@pytest.mark.parametrize("count", [1, 3])
def test_a_list_takes_three_queries(script, vision, count, django_assert_num_queries):  # noqa: F811
    for number in range(count):
        team = a_team(slug=f"team-of-{number}")
        Membership.objects.create(team=team, user=vision.member, role=Role.ADMIN)
        a_project(team=team)
    member = script(vision.member)
    member.get("/api/v1/teams")
    with django_assert_num_queries(3):  # token, roles, teams
        found = member.get("/api/v1/teams").json()["results"]
    assert [(one["slug"], one["role"], one["members"], one["projects"]) for one in found] == [
        *((f"team-of-{number}", "admin", 1, 1) for number in range(count)),
        ("vision", "member", 2, 1),
    ]


def test_one_team_its_members_and_projects(script, vision, admin):  # noqa: F811
    viewer = script(vision.viewer, scope="read")
    one = viewer.get(ONE).json()
    assert (one["slug"], one["name"], one["role"], one["members"], one["projects"]) == ("vision", "Vision", "viewer", 3, 1)
    assert viewer.get(f"{ONE}/members").json() == {
        "results": [
            {"username": "admin", "role": "admin", "is_active": True},
            {"username": "member", "role": "member", "is_active": True},
            {"username": "viewer", "role": "viewer", "is_active": True},
        ]
    }
    project = {"slug": "vit", "name": "ViT", "team": "vision", "role": "viewer"}
    assert viewer.get(f"{ONE}/projects").json() == {"results": [project]}
    assert viewer.get("/api/v1/projects/vit").json() == project


def test_an_operator_who_is_in_no_team_sees_it_without_a_role(script, vision):  # noqa: F811
    assert script(vision.operator).get(ONE).json()["role"] is None


def test_names_are_changed(script, vision, admin):  # noqa: F811
    asker = script(admin)
    assert asker.patch(ONE, {"name": "Seeing"}).json()["name"] == "Seeing"
    assert asker.patch("/api/v1/projects/vit", {"name": "Transformers"}).json()["name"] == "Transformers"
    for path in (ONE, "/api/v1/projects/vit"):
        for body in ({}, {"name": ""}, {"name": 7}, {"name": "x" * 1_000_000}, {"name": "ok", "slug": "other"}):
            assert told(asker.patch(path, body)) == (422, "invalid")
    assert (Team.objects.get(slug="vision").name, Project.objects.get().name) == ("Seeing", "Transformers")


def test_a_project_and_a_team_are_made_once_for_one_key(script, vision, admin):  # noqa: F811
    key = {"Idempotency-Key": "k"}
    for asker, path in ((script(admin), f"{ONE}/projects"), (script(vision.operator), "/api/v1/teams")):
        first, again = (asker.post(path, {"slug": "scans", "name": "Scans"}, **key) for _ in range(2))
        assert (first.status_code, again.status_code, again["Idempotent-Replayed"]) == (201, 201, "true")
        assert first.json() == again.json() and first.json()["slug"] == "scans"
        assert told(asker.post(path, {"slug": "scans", "name": "Scans"})) == (422, "invalid")
    assert Project.objects.get(slug="scans").definitions.filter(slug="command").exists()


def test_roles_are_changed_and_members_removed(script, vision, admin):  # noqa: F811
    asker = script(admin)
    assert asker.patch(f"{ONE}/members/viewer", {"role": "admin"}).json()["role"] == "admin"
    assert told(asker.patch(f"{ONE}/members/viewer", {"role": "owner"})) == (422, "invalid")
    assert told(asker.patch(f"{ONE}/members/stranger", {"role": "viewer"})) == (404, "no-such-member")
    assert told(asker.delete(f"{ONE}/members/nobody")) == (404, "no-such-member")
    assert asker.delete(f"{ONE}/members/member").status_code == 204
    assert script(vision.viewer).delete(f"{ONE}/members/viewer").status_code == 204
    assert told(asker.delete(f"{ONE}/members/admin")) == (409, "last-admin")
    assert list(Membership.objects.filter(team=vision.team).values_list("user__username", flat=True)) == ["admin"]


def test_who_was_removed_is_out_at_the_next_request(script, vision, admin):  # noqa: F811
    member = script(vision.member)
    Membership.objects.create(team=a_team(), user=vision.member, role=Role.VIEWER)  # so that the token itself stays
    assert member.get("/api/v1/projects/vit").status_code == 200
    script(admin).delete(f"{ONE}/members/member")
    assert told(member.get("/api/v1/projects/vit")) == (404, "no-such-project")
    assert told(member.get(ONE)) == (404, "no-such-team")


def test_a_token_may_do_no_more_than_the_role_that_is_left(script, vision, admin):  # noqa: F811
    other = script(a_member(team=vision.team, role=Role.ADMIN, username="other"))
    assert other.put("/api/v1/projects/vit/secrets/KEY", {"value": "a-secret-value"}).status_code == 204
    script(admin).patch(f"{ONE}/members/other", {"role": "viewer"})
    assert told(other.put("/api/v1/projects/vit/secrets/KEY", {"value": "another-value"})) == (403, "role")


def test_a_link_is_made_listed_used_and_taken_back(script, vision, admin):  # noqa: F811
    asker, ada = script(admin), script(a_user(username="ada"))
    made = asker.post(f"{ONE}/invitations", {"role": "member", "most_uses": 2})
    assert made.status_code == 201 and "no-store" in made["Cache-Control"]
    link = made.json()["link"]
    joined = ada.post("/api/v1/invitations/acceptance", {"invitation": link})
    assert (joined.status_code, joined.json()) == (201, {"team": "vision", "role": "member"})
    assert told(ada.post("/api/v1/invitations/acceptance", {"invitation": link})) == (409, "member-already")
    [listed] = asker.get(f"{ONE}/invitations").json()["results"]
    assert "link" not in listed and (listed["uses"], listed["standing"], listed["created_by"]) == (1, "open", "admin")
    assert asker.delete(f"{ONE}/invitations/{listed['id']}").status_code == 204
    bob = script(a_user(username="bob"))
    assert told(bob.post("/api/v1/invitations/acceptance", {"invitation": link})) == (410, "invitation-revoked")
    assert told(bob.post("/api/v1/invitations/acceptance", {"invitation": "x" * 1999})) == (404, "invitation-unknown")
    assert not Membership.objects.filter(user__username="bob").exists()


@pytest.mark.parametrize(
    "body",
    [{}, {"role": "owner"}, {"role": "member", "most_uses": 0}, {"role": "member", "expires_at": "2020-01-01T00:00:00Z"}],
    ids=["none", "role", "uses", "past"],
)
def test_an_invitation_that_is_none_is_refused(script, admin, body):  # noqa: F811
    assert told(script(admin).post(f"{ONE}/invitations", body)) == (422, "invalid")
    assert not Invitation.objects.exists()


def test_lists_come_by_pages(script, vision, admin):  # noqa: F811
    asker = script(admin)
    for number in range(3):
        asker.post(f"{ONE}/invitations", {"role": "member"})
        a_token(user=vision.member, name=f"token {number}")
    for path in ("invitations", "tokens"):
        first = asker.get(f"{ONE}/{path}?limit=2").json()
        rest = asker.get(f"{ONE}/{path}?limit=2&cursor={first['next_cursor']}").json()
        ids = [one["id"] for one in [*first["results"], *rest["results"]]]
        assert len(first["results"]) == 2 and ids == sorted(ids, reverse=True) and len(set(ids)) == len(ids) >= 3
        assert told(asker.get(f"{ONE}/{path}?cursor=nonsense")) == (422, "invalid")
    cursor = asker.get(f"{ONE}/tokens?limit=1").json()["next_cursor"]
    assert told(asker.get(f"{ONE}/invitations?cursor={cursor}")) == (422, "invalid")


def test_a_members_token_is_seen_and_revoked(script, vision, admin):  # noqa: F811
    asker = script(admin)
    token, text = a_token(user=vision.member, name="nightly", expires_at=timezone.now() + timedelta(days=1))
    [found] = [one for one in asker.get(f"{ONE}/tokens").json()["results"] if one["owner"] == "member"]
    assert (found["name"], found["scope"], found["prefix"], "digest" in found) == ("nightly", "admin", token.prefix, False)
    assert asker.delete(f"{ONE}/tokens/{token.pk}").status_code == 204
    assert told(asker.delete(f"{ONE}/tokens/{token.pk}")) == (404, "no-such-token")
    assert set(ApiToken.objects.exclude(revoked_at=None)) == {token} and text


def test_a_scope_of_which_no_role_has_a_use_is_refused(script, vision):  # noqa: F811
    answer = script(vision.viewer).post("/api/v1/tokens", {"name": "x", "scope": "launch"})
    assert told(answer) == (422, "invalid") and list(answer.json()["details"]) == ["scope"]
