"""Links into a team: who may use them, how often, until when; and that two never share a last use."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta

import pytest
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction

from projects import invitations, members
from projects.actors import Actor
from projects.errors import Conflict, Gone, Invalid, NotFound, PanelError
from projects.models import AuditEntry, Invitation, Membership, Role
from tests.factories import a_member, a_team, a_user
from tests.monitoring.threads import at_once

pytestmark = pytest.mark.django_db
NOON = datetime(2030, 3, 1, 12, tzinfo=UTC)
GOOD = "correct horse battery"


@pytest.fixture
def team(db):
    return a_team(slug="vision", name="Vision")


@pytest.fixture
def admin(team):
    return a_member(team=team, role=Role.ADMIN, username="admin")


@pytest.fixture
def invite(team, admin):
    def make(**how):
        wanted = {"role": "member", "expires_at": NOON + timedelta(days=1), "most_uses": 1, "address": ""} | how
        return invitations.create(team=team, by=Actor(user=admin), now=NOON, **wanted)

    return make


def accept(text, user, now=NOON):
    return invitations.accept(text=text, user=user, now=now, by=Actor(user=user))


def refusal(act) -> str:
    with pytest.raises(PanelError) as refused:
        act()
    return refused.value.code


def test_a_link_is_shown_once_and_kept_as_a_digest(invite, team, admin):
    invitation, text = invite(role="viewer", most_uses=3)
    assert len(text) >= 32 and text not in str(Invitation.objects.values().get())
    assert (invitation.team, invitation.role, invitation.uses, invitation.created_by) == (team, "viewer", 0, admin)
    entry = AuditEntry.objects.get()
    assert (entry.verb, entry.team, entry.subject_id) == ("invitation.create", team, str(invitation.pk))
    assert text not in str(entry.data)
    assert invitations.find(text, NOON) == invitation


def test_someone_with_an_account_joins_and_the_use_is_spent(invite, team):
    invitation, text = invite(role="viewer", most_uses=2)
    ada = a_user(username="ada")
    accept(text, ada)
    invitation.refresh_from_db()
    assert Membership.objects.get(user=ada).role == "viewer" and invitation.uses == 1
    verbs = list(AuditEntry.objects.order_by("pk").values_list("verb", "user_name"))
    assert verbs[1:] == [("member.add", "ada"), ("invitation.accept", "ada")]


def test_who_is_in_the_team_keeps_their_role_and_spends_no_use(invite, team):
    invitation, text = invite(role="admin")
    viewer = a_member(team=team, role=Role.VIEWER)
    assert refusal(lambda: accept(text, viewer)) == "member-already"
    invitation.refresh_from_db()
    assert (invitation.uses, Membership.objects.get(user=viewer).role) == (0, "viewer")


def test_each_way_in_which_a_link_ends_says_so_and_lets_nobody_in(invite, admin, team):
    used, expired, revoked = (invite() for _ in range(3))
    accept(used[1], a_user())
    invitations.revoke(invitation=revoked[0], by=Actor(user=admin), now=NOON)
    invitations.revoke(invitation=revoked[0], by=Actor(user=admin), now=NOON)
    ada, later = a_user(username="ada"), NOON + timedelta(days=1)
    for text, now, code in (
        (used[1], NOON, "invitation-used"),
        (expired[1], later, "invitation-expired"),
        (revoked[1], NOON, "invitation-revoked"),
        ("never-made", NOON, "invitation-unknown"),
        ("", NOON, "invitation-unknown"),
        ("\0\ud800", NOON, "invitation-unknown"),
        (Invitation.objects.first().digest, NOON, "invitation-unknown"),
    ):
        assert refusal(lambda text=text, now=now: accept(text, ada, now)) == code
        assert refusal(lambda text=text, now=now: invitations.sign_up(text=text, username="eve", password=GOOD, now=now)) == code
    assert not Membership.objects.filter(user=ada).exists() and not User.objects.filter(username="eve").exists()
    assert AuditEntry.objects.filter(verb="invitation.revoke").count() == 1
    assert accept(expired[1], ada, later - timedelta(seconds=1)).team == team


@pytest.mark.parametrize("end", ["left", "reduced", "inactive", "deleted"])
def test_a_link_is_good_for_as_long_as_its_maker_may_invite(invite, team, admin, end):
    """Also when nobody has ended the invitation itself: a row that was changed by hand, say."""
    _invitation, text = invite()
    match end:
        case "left":
            Membership.objects.filter(user=admin).delete()
        case "reduced":
            Membership.objects.filter(user=admin).update(role="member")
        case "inactive":
            User.objects.filter(pk=admin.pk).update(is_active=False)
        case "deleted":
            admin.delete()
    assert refusal(lambda: accept(text, a_user())) == "invitation-revoked"


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"role": "owner"}, "role"),
        ({"expires_at": NOON}, "expires_at"),
        ({"expires_at": NOON + timedelta(days=31)}, "expires_at"),
        ({"most_uses": 0}, "most_uses"),
        ({"most_uses": 101}, "most_uses"),
        ({"address": "no address"}, "address"),
        ({"address": "a@" + "x" * 1_000_000}, "address"),
        ({"address": "ada@example.org", "most_uses": 2}, "most_uses"),
    ],
    ids=["role", "past", "far", "none", "many", "no address", "megabyte", "one address for two"],
)
def test_an_invitation_that_is_none_is_refused_at_its_field(invite, wrong, field):
    with pytest.raises(Invalid) as refused:
        invite(**wrong)
    assert list(refused.value.fields) == [field]
    assert not Invitation.objects.exists() and not AuditEntry.objects.exists()


def test_an_address_that_is_bound_lets_nobody_else_in(invite):
    _invitation, text = invite(address="ada@example.org")
    other, ada = a_user(), a_user()
    User.objects.filter(pk=other.pk).update(email="bob@example.org")
    other.refresh_from_db()
    assert refusal(lambda: accept(text, other)) == "other-address"
    accept(text, ada)
    ada.refresh_from_db()
    assert ada.email == "ada@example.org"
    _invitation, text = invite(address="Ada@Example.org")
    ada.memberships.all().delete()
    accept(text, ada)
    _invitation, text = invite(address="new@example.org")
    assert invitations.sign_up(text=text, username="new", password=GOOD, now=NOON).email == "new@example.org"


# -- Signing up ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["ada", "Ада", "张伟", "علي", "Ζωή", "अदिति", "ada.l+vit@x-y_1"])
def test_who_has_no_account_gets_one_by_a_name_of_any_script(invite, name):
    _invitation, text = invite()
    user = invitations.sign_up(text=text, username=f" {name} ", password=GOOD, now=NOON)
    assert (user.username, user.check_password(GOOD), user.is_superuser, user.is_staff) == (name, True, False, False)
    assert Membership.objects.get(user=user).role == "member"
    assert AuditEntry.objects.filter(verb="user.sign-up", user=user).exists()


@pytest.mark.parametrize(
    ("username", "password", "fields"),
    [
        ("", GOOD, ["username"]),
        ("a b", GOOD, ["username"]),
        ("<b>", GOOD, ["username"]),
        ("a\0b", GOOD, ["username"]),
        ("x" * 1_000_000, GOOD, ["username"]),
        ("admin", GOOD, ["username"]),
        ("ADMIN", GOOD, ["username"]),
        ("\uff41dmin", GOOD, ["username"]),
        ("ada", "short", ["password"]),
        ("ada", "password123", ["password"]),
        ("ada", "", ["password"]),
        ("ada", "x" * 1_000_000, ["password"]),
        ("admin", "short", ["password", "username"]),
    ],
    ids=["none", "space", "markup", "nul", "long", "taken", "capitals", "wide", "short", "common", "empty", "megabyte", "both"],
)
def test_what_no_account_can_be_made_of_makes_none(invite, username, password, fields):
    invitation, text = invite()
    before = User.objects.count()
    with pytest.raises(Invalid) as wrong:
        invitations.sign_up(text=text, username=username, password=password, now=NOON)
    assert sorted(wrong.value.fields) == fields
    invitation.refresh_from_db()
    assert (User.objects.count(), Membership.objects.count(), invitation.uses) == (before, 1, 0)


# -- At once -------------------------------------------------------------------------------------------------------


@pytest.mark.django_db(transaction=True)
def test_of_two_who_take_the_last_use_at_once_one_joins(shared_database):
    team = a_team()
    by = Actor(user=a_member(team=team, role=Role.ADMIN))
    for _round in range(10):
        _invitation, text = invitations.create(
            team=team, role="member", expires_at=NOON + timedelta(days=1), most_uses=1, by=by, now=NOON
        )
        before, ada, gate, told = Membership.objects.count(), a_user(), threading.Barrier(2), []

        def take(how, gate=gate, told=told):
            gate.wait(30)
            try:
                how()
            except Gone as refused:
                told.append(refused.code)

        name = f"new-{_round}"
        at_once(
            lambda text=text, ada=ada, take=take: take(lambda: accept(text, ada)),
            lambda text=text, name=name, take=take: take(
                lambda: invitations.sign_up(text=text, username=name, password=GOOD, now=NOON)
            ),
        )
        assert (Membership.objects.count() - before, told) == (1, ["invitation-used"])
        assert User.objects.filter(username=name).exists() != Membership.objects.filter(user=ada).exists()


@pytest.mark.django_db(transaction=True)
def test_of_two_who_take_one_name_at_once_one_gets_it(shared_database):
    team = a_team()
    by = Actor(user=a_member(team=team, role=Role.ADMIN))
    _invitation, text = invitations.create(
        team=team, role="member", expires_at=NOON + timedelta(days=1), most_uses=2, by=by, now=NOON
    )
    gate, told = threading.Barrier(2), []

    def signs_up():
        gate.wait(30)
        try:
            invitations.sign_up(text=text, username="ada", password=GOOD, now=NOON)
        except Invalid as wrong:
            told.append(list(wrong.fields))

    at_once(signs_up, signs_up)
    assert (User.objects.filter(username="ada").count(), told, Invitation.objects.get().uses) == (1, [["username"]], 1)


# -- In the data -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("broken", [{"uses": 2}, {"role": "owner"}, {"most_uses": 0}])
def test_the_database_itself_refuses_what_cannot_be(invite, broken):
    invite()
    with pytest.raises(IntegrityError), transaction.atomic():
        Invitation.objects.update(**broken)


def test_another_teams_invitation_does_not_exist(invite, team):
    invitation, _text = invite()
    assert invitations.get_invitation(team, invitation.pk) == invitation
    with pytest.raises(NotFound):
        invitations.get_invitation(a_team(), invitation.pk)


def test_who_was_removed_comes_in_again_by_no_link_of_their_own(invite, team, admin):
    a_member(team=team, role=Role.ADMIN)
    _invitation, text = invite(most_uses=5)
    members.remove(team=team, username="admin", by=Actor(user=a_user(is_superuser=True)))
    with pytest.raises((Gone, Conflict)):
        accept(text, admin)
    assert not Membership.objects.filter(user=admin).exists()
