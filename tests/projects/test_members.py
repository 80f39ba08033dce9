"""Who is in a team: the last admin stays, and what ends with a person's place in it."""

from __future__ import annotations

import functools
import threading
from datetime import timedelta

import pytest
from django.utils import timezone

from projects import invitations, members, tokens
from projects.actors import Actor
from projects.errors import Conflict, Invalid, NotFound
from projects.models import AuditEntry, Invitation, Membership, Role
from tests.factories import a_member, a_team, a_token, a_user
from tests.monitoring.threads import at_once

pytestmark = pytest.mark.django_db


@pytest.fixture
def by(db):
    return Actor(user=a_user(username="operator", is_superuser=True))


def audited():
    return list(AuditEntry.objects.order_by("pk").values_list("verb", "subject_title", "data"))


def roles(team):
    return dict(Membership.objects.filter(team=team).values_list("user__username", "role"))


def invites(team, user):
    now = timezone.now()
    return invitations.create(
        team=team, role="member", expires_at=now + timedelta(days=1), most_uses=2, by=Actor(user=user), now=now
    )


def test_a_member_is_added_and_given_another_role(by):
    team, user = a_team(slug="vision"), a_user(username="ada")
    members.add(team=team, user=user, role="viewer", by=by)
    members.add(team=team, user=user, role="admin", by=by)
    members.add(team=team, user=user, role="admin", by=by)
    assert list(Membership.objects.values_list("team", "user", "role")) == [(team.pk, user.pk, "admin")]
    assert audited() == [
        ("member.add", "vision", {"user": "ada", "role": "viewer", "was": ""}),
        ("member.add", "vision", {"user": "ada", "role": "admin", "was": "viewer"}),
    ]
    assert set(AuditEntry.objects.values_list("team", flat=True)) == {team.pk}


@pytest.mark.parametrize("role", ["owner", "", "ADMIN", "x" * 1_000_000], ids=["owner", "none", "capitals", "megabyte"])
def test_an_unknown_role_is_refused(by, role):
    team = a_team()
    a_member(team=team, username="ada")
    for change in (
        lambda: members.add(team=team, user=a_user(), role=role, by=by),
        lambda: members.change_role(team=team, username="ada", role=role, by=by),
    ):
        with pytest.raises(Invalid) as wrong:
            change()
        assert list(wrong.value.fields) == ["role"]
    assert roles(team) == {"ada": "member"} and audited() == []


def test_who_is_removed_keeps_other_teams_and_with_them_their_tokens(by):
    team, user = a_team(slug="vision"), a_member(team=a_team(slug="speech"), username="ada")
    token, _text = a_token(user=user)
    members.add(team=team, user=user, role="member", by=by)
    members.remove(team=team, username="ada", by=by)
    assert list(Membership.objects.values_list("team__slug", flat=True)) == ["speech"]
    assert audited()[-1] == ("member.remove", "vision", {"user": "ada", "was": "member"})
    token.refresh_from_db()
    assert token.revoked_at is None
    for name in ("ada", "nobody", "a\0b", "x" * 1_000_000):
        with pytest.raises(NotFound) as unknown:
            members.remove(team=team, username=name, by=by)
        assert unknown.value.code == "no-such-member"
    assert roles(team) == {}


def test_who_leaves_their_last_team_has_no_token_left(by):
    team, user = a_team(), a_user()
    members.add(team=team, user=user, role="member", by=by)
    token, text = a_token(user=user)
    others, _text = a_token()
    members.remove(team=team, username=user.username, by=Actor(user=user))
    assert tokens.find(text, timezone.now()) is None
    assert audited()[-1] == ("token.revoke", token.name, {"of": user.username})
    others.refresh_from_db()
    assert others.revoked_at is None


def test_an_operator_who_leaves_keeps_their_tokens(by):
    team = a_team()
    members.add(team=team, user=by.user, role="member", by=by)
    _token, text = a_token(user=by.user)
    members.remove(team=team, username="operator", by=by)
    assert tokens.find(text, timezone.now()) is not None


def test_the_last_admin_is_neither_removed_nor_reduced(by):
    team, gone = a_team(), a_member(role=Role.ADMIN)
    a_member(team=team, role=Role.ADMIN, username="ada")
    a_member(team=team, username="bob")
    gone.is_active = False
    gone.save()
    Membership.objects.create(team=team, user=gone, role=Role.ADMIN)  # who cannot sign in keeps nothing going
    for change in (
        lambda: members.remove(team=team, username="ada", by=by),
        lambda: members.change_role(team=team, username="ada", role="member", by=by),
    ):
        with pytest.raises(Conflict) as refused:
            change()
        assert refused.value.code == "last-admin"
    assert roles(team)["ada"] == "admin" and audited() == []
    members.change_role(team=team, username="bob", role="admin", by=by)
    members.remove(team=team, username="ada", by=by)
    assert roles(team) == {"bob": "admin", gone.username: "admin"}


@pytest.mark.django_db(transaction=True)
def test_of_two_admins_who_remove_each_other_at_once_one_stays(shared_database):
    for _round in range(10):
        team = a_team()
        people = [a_member(team=team, role=Role.ADMIN) for _ in range(2)]
        gate, told = threading.Barrier(2), []

        def removes(who, other, team=team, gate=gate, told=told):
            gate.wait(30)
            try:
                members.remove(team=team, username=other.username, by=Actor(user=who))
            except Conflict as refused:
                told.append(refused.code)

        ada, bob = people
        at_once(functools.partial(removes, ada, bob), functools.partial(removes, bob, ada))
        assert (list(roles(team).values()), told) == (["admin"], ["last-admin"])


@pytest.mark.parametrize("end", ["removed", "reduced", "deactivated"])
def test_the_invitations_of_who_may_no_longer_invite_end(by, end):
    team, other = a_team(), a_team()
    ada, bob = (a_member(team=team, role=Role.ADMIN, username=name) for name in ("ada", "bob"))
    Membership.objects.create(team=other, user=ada, role=Role.ADMIN)
    _invitation, text = invites(team, ada)
    kept, _text = invites(team, bob)
    elsewhere, _text = invites(other, ada)
    match end:
        case "removed":
            members.remove(team=team, username="ada", by=by)
        case "reduced":
            members.change_role(team=team, username="ada", role="member", by=by)
        case "deactivated":
            members.deactivate(user=ada, by=by)
    left = set(Invitation.objects.filter(revoked_at=None))
    assert left == ({kept} if end == "deactivated" else {kept, elsewhere})
    with pytest.raises(Exception, match="taken back"):
        invitations.find(text, timezone.now())


def test_who_is_deactivated_is_out_and_the_last_operator_stays(by):
    ada = a_member()
    token, text = a_token(user=ada)
    members.deactivate(user=ada, by=by)
    members.deactivate(user=ada, by=by)
    ada.refresh_from_db()
    assert (ada.is_active, tokens.find(text, timezone.now())) == (False, None)
    assert [verb for verb, *_rest in audited()] == ["token.issue", "user.deactivate", "token.revoke"]
    with pytest.raises(Conflict) as refused:
        members.deactivate(user=by.user, by=by)
    by.user.refresh_from_db()
    assert (refused.value.code, by.user.is_active) == ("last-operator", True)
