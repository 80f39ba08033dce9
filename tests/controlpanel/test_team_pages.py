"""The pages of teams, and the page behind an invitation's link, with and without an account."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from jobs.models import JobDefinition
from projects.models import ApiToken, AuditEntry, Invitation, Membership, Project, Role, Team
from tests.factories import PASSWORD, a_member, a_project, a_team, a_token, a_user
from tests.jobs.conftest import vision  # noqa: F401  a fixture

pytestmark = pytest.mark.django_db
GOOD = {"username": "ada", "password": "correct horse battery"}
INVITE = {"invitation-role": "member", "invitation-days": "7", "invitation-most_uses": "1", "invitation-address": ""}


@pytest.fixture
def admin(vision):  # noqa: F811
    return a_member(team=vision.team, role=Role.ADMIN, username="admin")


def as_(user) -> Client:
    browser = Client(raise_request_exception=False)
    browser.force_login(user)
    return browser


def text_of(answer) -> str:
    return answer.content.decode()


def roles(team) -> dict[str, str]:
    return dict(Membership.objects.filter(team=team).values_list("user__username", "role"))


def invited(admin, **how) -> str:
    """The path of a new link."""
    answer = as_(admin).post("/teams/vision/invitations", INVITE | how)
    assert answer.status_code == 201, answer.context["invitation_form"].errors
    return answer.context["link"].removeprefix("http://127.0.0.1:8000")


# -- Lists ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, 3])
def test_a_list_of_teams_takes_six_queries_however_many_there_are(vision, count, django_assert_num_queries):  # noqa: F811
    for _ in range(count):
        a_project(team=a_team())
    browser = as_(vision.operator)
    with django_assert_num_queries(6):  # session, user, roles, teams; conditions; the navigation
        answer = browser.get("/teams")
    assert len(answer.context["teams"]) == count + 2
    assert text_of(answer).count('<td class="name wide"><a href="/teams/') == count + 2


@pytest.mark.parametrize("count", [1, 3])
def test_a_team_takes_eleven_queries_however_large_it_is(vision, admin, count, django_assert_num_queries):  # noqa: F811
    for number in range(count):
        a_member(team=vision.team)
        a_project(team=vision.team, slug=f"more-{number}")
        invited(admin)
    browser = as_(admin)
    with django_assert_num_queries(11):
        answer = browser.get("/teams/vision")
    # session, user; team, role (the right), all rights, members, is one of them, invitations, projects; conditions; navigation
    assert len(answer.context["members"]) == 3 + count and len(answer.context["invitations"]) == count


def test_each_sees_ones_own_teams_and_an_operator_all(vision):  # noqa: F811
    assert [team.slug for team in as_(vision.viewer).get("/teams").context["teams"]] == ["vision"]
    assert [team.slug for team in as_(vision.operator).get("/teams").context["teams"]] == ["speech", "vision"]
    empty = text_of(as_(a_user()).get("/teams"))
    assert "You are in no team yet" in empty and "invitation" in empty


def test_who_may_not_edit_is_offered_nothing_to_edit(vision, admin):  # noqa: F811
    text = text_of(as_(vision.member).get("/teams/vision"))
    assert "viewer" in text and "Leave" in text
    assert not re.search(r"Remove|Make the link|Rename|vision/tokens", text)


# -- Members -------------------------------------------------------------------------------------------------------


def test_an_admin_changes_roles_and_removes(vision, admin):  # noqa: F811
    browser = as_(admin)
    assert browser.post("/teams/vision/members/viewer", {"role": "member"})["Location"] == "/teams/vision"
    assert roles(vision.team) == {"viewer": "member", "member": "member", "admin": "admin"}
    assert "viewer is member now." in text_of(browser.get("/teams/vision"))
    browser.post("/teams/vision/members/viewer/removal")
    assert roles(vision.team) == {"member": "member", "admin": "admin"}
    assert AuditEntry.objects.filter(team=vision.team).values_list("verb", flat=True).last() == "member.remove"


@pytest.mark.parametrize("name", ["张伟", "علي", "a.b+c@d-e_f"])
def test_a_name_of_any_script_stands_in_an_address(vision, admin, name):  # noqa: F811
    a_member(team=vision.team, username=name)
    browser = as_(admin)
    action = re.search(r'action="(/teams/vision/members/[^"]+)/removal"', text_of(browser.get("/teams/vision")))
    assert action and name in text_of(browser.get("/teams/vision"))
    browser.post(f"/teams/vision/members/{name}", {"role": "viewer"})
    assert roles(vision.team)[name] == "viewer"


def test_the_last_admin_is_told_why_they_stay(vision, admin):  # noqa: F811
    browser = as_(admin)
    for path, sent in (
        ("/teams/vision/members/admin/removal", {}),
        ("/teams/vision/members/admin", {"role": "viewer"}),
    ):
        answer = browser.post(path, sent)
        assert answer.status_code == 409
        assert "admin is the only admin of this team. Make someone else an admin first." in text_of(answer)
    assert roles(vision.team)["admin"] == "admin"
    answer = browser.post("/teams/vision/members/viewer", {"role": "owner"})
    assert (answer.status_code, roles(vision.team)["viewer"]) == (422, "viewer")


def test_a_member_leaves_by_themselves_and_removes_nobody_else(vision, admin):  # noqa: F811
    browser = as_(vision.viewer)
    assert browser.post("/teams/vision/members/member/removal").status_code == 403
    assert browser.post("/teams/vision/members/viewer/removal")["Location"] == "/teams"
    assert "viewer" not in roles(vision.team) and "member" in roles(vision.team)
    assert browser.get("/teams/vision").status_code == 404


# -- Names and projects ----------------------------------------------------------------------------------------------


def test_a_project_is_made_with_all_that_the_panel_ships(vision, admin):  # noqa: F811
    answer = as_(admin).post("/teams/vision/projects", {"new-slug": "scans", "new-name": "Scans 扫描"}, follow=True)
    project = Project.objects.get(slug="scans")
    assert (project.team, project.name) == (vision.team, "Scans 扫描")
    assert JobDefinition.objects.filter(project=project, slug="command").exists()
    assert "Scans 扫描" in text_of(answer)


@pytest.mark.parametrize(
    "slug", ["", "Vit", "vit", "x" * 64, "x" * 1_000_000], ids=["none", "capital", "taken", "long", "megabyte"]
)
def test_a_project_that_is_none_is_told_at_its_field(vision, admin, slug):  # noqa: F811
    answer = as_(admin).post("/teams/vision/projects", {"new-slug": slug, "new-name": ""})
    assert answer.status_code == 422 and answer.context["project_form"].errors["slug"]
    assert list(Project.objects.values_list("slug", flat=True)) == ["vit"]
    assert not AuditEntry.objects.filter(verb="project.create").exists()


def test_names_are_changed(vision, admin):  # noqa: F811
    browser = as_(admin)
    browser.post("/teams/vision", {"name-name": "Seeing <b>"})
    browser.post("/projects/vit/name", {"name": "Transformers"})
    assert (Team.objects.get(slug="vision").name, Project.objects.get().name) == ("Seeing <b>", "Transformers")
    assert "Seeing &lt;b&gt;" in text_of(browser.get("/teams/vision"))
    for path, sent in (("/teams/vision", {"name-name": "x" * 1_000_000}), ("/projects/vit/name", {"name": ""})):
        assert browser.post(path, sent).status_code == 422
    assert (Team.objects.get(slug="vision").name, Project.objects.get().name) == ("Seeing <b>", "Transformers")


def test_an_operator_makes_a_team_and_nobody_else(vision, admin):  # noqa: F811
    assert as_(admin).post("/teams", {"new-slug": "own", "new-name": ""}).status_code == 403
    assert as_(vision.operator).post("/teams", {"new-slug": "own", "new-name": ""})["Location"] == "/teams/own"
    assert as_(vision.operator).post("/teams", {"new-slug": "own", "new-name": ""}).status_code == 422
    assert Team.objects.get(slug="own").name == "own"


# -- Invitations -------------------------------------------------------------------------------------------------------


def test_a_link_is_shown_once_and_then_how_it_stands(vision, admin):  # noqa: F811
    browser = as_(admin)
    answer = browser.post("/teams/vision/invitations", INVITE)
    assert answer.context["link"] in text_of(answer) and "no-store" in answer["Cache-Control"]
    again = text_of(browser.get("/teams/vision"))
    assert answer.context["link"] not in again and "0 of 1" in again
    browser.post(f"/teams/vision/invitations/{Invitation.objects.get().pk}/revocation")
    assert "revoked" in text_of(browser.get("/teams/vision"))


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"invitation-role": "owner"}, "role"),
        ({"invitation-days": "365"}, "days"),
        ({"invitation-most_uses": "0"}, "most_uses"),
        ({"invitation-most_uses": "many"}, "most_uses"),
        ({"invitation-address": "nobody"}, "address"),
        ({"invitation-address": "x" * 1_000_000}, "address"),
        ({"invitation-address": "ada@example.org", "invitation-most_uses": "2"}, "most_uses"),
    ],
    ids=["role", "days", "no use", "no number", "address", "megabyte", "two"],
)
def test_an_invitation_that_is_none_is_told_at_its_field(vision, admin, wrong, field):  # noqa: F811
    answer = as_(admin).post("/teams/vision/invitations", INVITE | wrong)
    assert answer.status_code == 422 and list(answer.context["invitation_form"].errors) == [field]
    assert not Invitation.objects.exists()


def test_it_says_who_invites_and_to_what_before_anything_is_done(vision, admin):  # noqa: F811
    path = invited(admin)
    text = " ".join(text_of(Client().get(path)).split())
    assert "admin invites you to the team Vision, as" in text and "<b>member</b>" in text
    assert "no-store" in Client().get(path)["Cache-Control"]
    assert f"/sign-in?next={path}" in text
    assert roles(vision.team) == {"viewer": "viewer", "member": "member", "admin": "admin"}


def test_who_has_no_account_makes_one_and_is_in(vision, admin):  # noqa: F811
    path, browser = invited(admin), Client()
    assert browser.post(path, GOOD)["Location"] == "/"
    assert roles(vision.team)["ada"] == "member"
    assert "You are in the team Vision." in text_of(browser.get("/"))
    assert browser.get("/jobs?project=vit").status_code == 200
    other = Client()
    assert other.post("/sign-in", GOOD)["Location"] == "/"


def test_who_has_an_account_signs_in_and_joins(vision, admin):  # noqa: F811
    path, browser = invited(admin), Client()
    user = a_user(username="bob")
    assert browser.post(f"/sign-in?next={path}", {"username": "bob", "password": PASSWORD})["Location"] == path
    assert "Join as bob" in text_of(browser.get(path))
    assert browser.post(path)["Location"] == "/"
    assert roles(vision.team)["bob"] == "member" and User.objects.filter(username=user.username).count() == 1


def test_who_is_in_already_is_told_and_spends_nothing(vision, admin):  # noqa: F811
    path = invited(admin)
    assert "You are in this team already." in text_of(as_(vision.viewer).get(path))
    assert as_(vision.viewer).post(path).status_code == 409
    assert (Invitation.objects.get().uses, roles(vision.team)["viewer"]) == (0, "viewer")


def test_every_link_that_is_over_gets_one_page(vision, admin):  # noqa: F811
    used, expired, revoked = (invited(admin) for _ in range(3))
    Client().post(used, GOOD)
    rows = list(Invitation.objects.order_by("pk"))
    Invitation.objects.filter(pk=rows[1].pk).update(expires_at=timezone.now() - timedelta(seconds=1))
    as_(admin).post(f"/teams/vision/invitations/{rows[2].pk}/revocation")
    for path, status, words in (
        (used, 410, "used already"),
        (expired, 410, "has expired"),
        (revoked, 410, "taken back"),
        ("/invitations/no-such-text", 404, "no invitation of ours"),
        ("/invitations/" + "x" * 5000, 404, "no invitation of ours"),
    ):
        for answer in (Client().get(path), Client().post(path, GOOD | {"username": "eve"}), as_(vision.stranger).post(path)):
            assert (answer.status_code, words in text_of(answer)) == (status, True)
            assert "Vision" not in text_of(answer)
    assert set(roles(vision.team)) == {"viewer", "member", "admin", "ada"}
    assert not User.objects.filter(username="eve").exists()


@pytest.mark.parametrize(
    ("sent", "field"),
    [
        ({"username": "member"}, "username"),
        ({"username": ""}, "username"),
        ({"username": "a b"}, "username"),
        ({"username": "x" * 1_000_000}, "username"),
        ({"password": "short"}, "password"),
        ({"password": "x" * 1_000_000}, "password"),
        ({"password": ""}, "password"),
    ],
    ids=["taken", "none", "space", "megabyte", "short", "megabyte of password", "no password"],
)
def test_what_is_wrong_with_an_account_is_told_at_its_field_and_the_link_stays_good(vision, admin, sent, field):  # noqa: F811
    path, browser = invited(admin), Client()
    answer = browser.post(path, GOOD | sent)
    assert (answer.status_code, list(answer.context["form"].errors)) == (422, [field])
    assert "correct horse" not in text_of(answer)
    assert Invitation.objects.get().uses == 0 and not User.objects.filter(username="ada").exists()
    assert browser.post(path, GOOD).status_code == 302


def test_with_cookies_off_there_is_one_clear_answer_and_nothing_is_done(vision, admin):  # noqa: F811
    path = invited(admin)
    browser = Client(enforce_csrf_checks=True)
    page = text_of(browser.get(path))
    token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', page)[1]
    answer = Client(enforce_csrf_checks=True).post(path, GOOD | {"csrfmiddlewaretoken": token})
    assert answer.status_code == 403 and "Allow cookies for this site" in text_of(answer)
    assert Invitation.objects.get().uses == 0 and not User.objects.filter(username="ada").exists()
    assert browser.post(path, GOOD | {"csrfmiddlewaretoken": token}).status_code == 302


# -- Tokens ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, 3])
def test_an_admin_sees_the_tokens_that_reach_the_team(vision, admin, count, django_assert_num_queries):  # noqa: F811
    for _ in range(count):
        a_token(user=vision.member, name="nightly")
    a_token(user=vision.stranger, name="elsewhere")
    a_token(user=vision.member, name="over", expires_at=timezone.now() + timedelta(days=1))
    ApiToken.objects.filter(name="over").update(expires_at=timezone.now())
    browser = as_(admin)
    with django_assert_num_queries(7):  # session, user; team, role, tokens; conditions; the navigation
        text = text_of(browser.get("/teams/vision/tokens"))
    assert (text.count('<tr id="token-'), "elsewhere" in text, "over</td>" in text) == (count, False, False)


def test_an_admin_revokes_a_members_token_and_no_operators(vision, admin):  # noqa: F811
    Membership.objects.create(team=vision.team, user=vision.operator, role=Role.MEMBER)
    (mine, _text), (theirs, _other), (strangers, _third) = (
        a_token(user=user) for user in (vision.member, vision.operator, vision.stranger)
    )
    browser = as_(admin)
    assert browser.post(f"/teams/vision/tokens/{mine.pk}/revocation")["Location"] == "/teams/vision/tokens"
    assert browser.post(f"/teams/vision/tokens/{theirs.pk}/revocation").status_code == 403
    assert browser.post(f"/teams/vision/tokens/{strangers.pk}/revocation").status_code == 404
    assert set(ApiToken.objects.exclude(revoked_at=None)) == {mine}
    entry = AuditEntry.objects.get(verb="token.revoke")
    assert (entry.user, entry.team, entry.data) == (admin, vision.team, {"of": "member"})
    assert "an operator's" in text_of(browser.get("/teams/vision/tokens"))


def test_a_viewer_is_offered_no_scope_that_they_cannot_use(vision, admin):  # noqa: F811
    for user, scopes in ((vision.viewer, ["read"]), (vision.member, ["read", "launch"]), (admin, ["read", "launch", "admin"])):
        form = as_(user).get("/tokens").context["form"]
        assert [name for name, _words in form.fields["scope"].choices] == scopes
    refused = as_(vision.viewer).post("/tokens", {"name": "x", "scope": "admin", "days": ""})
    assert (refused.status_code, list(refused.context["form"].errors)) == (422, ["scope"])
    assert not ApiToken.objects.exists()
