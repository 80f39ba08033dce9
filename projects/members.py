"""Who is in a team, and as what; and what ends with a person's place in it. Who may is the door's to check (access.py).

Whoever is open to someone who has left is asked about again while it is open (monitoring/door.py): sockets and log streams end by
themselves within STREAM_CHECK_S, answers at the next request. What would outlive that is ended here: links that they made, and
the tokens of who is in no team any more.
"""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from projects import audit, texts, tokens
from projects.actors import Actor
from projects.errors import Conflict, Invalid, NotFound
from projects.models import Invitation, Membership, Role, Team


def add(*, team: Team, user: User, role: str, by: Actor) -> Membership:
    """Take a person into the team, or give a member another role. Raises Invalid at "role", Conflict("last-admin")."""
    _check_role(role)
    with transaction.atomic():
        Team.objects.locked(team.pk)
        membership = Membership.objects.filter(team=team, user=user).first()
        if membership is None:
            membership = Membership.objects.create(team=team, user=user, role=role)
            audit.record("member.add", by=by, subject=subject_of(team), of_team=team, user=user.get_username(), role=role, was="")
        else:
            _give(membership, role, by=by)
    return membership


def change_role(*, team: Team, username: str, role: str, by: Actor) -> Membership:
    """Give a member another role. Raises NotFound, Invalid at "role", Conflict("last-admin") for who is the only admin."""
    _check_role(role)
    with transaction.atomic():
        Team.objects.locked(team.pk)
        membership = get_member(team, username)
        _give(membership, role, by=by)
    return membership


def remove(*, team: Team, username: str, by: Actor) -> None:
    """Take a person out of the team, or let them leave it; their jobs stay.

    Their invitations into it end, and, when it was their last team, their tokens. Raises NotFound, Conflict("last-admin").
    """
    with transaction.atomic():
        Team.objects.locked(team.pk)
        membership = get_member(team, username)
        _keep_an_admin(membership)
        membership.delete()
        user = membership.user
        audit.record(
            "member.remove", by=by, subject=subject_of(team), of_team=team, user=user.get_username(), was=membership.role
        )
        end_invitations(user, by=by, team=team)
        if not user.is_superuser and not Membership.objects.filter(user=user).exists():
            tokens.revoke_all(user, by=by)


def deactivate(*, user: User, by: Actor) -> None:
    """They cannot sign in any more, and nothing that is open to them stays so; their memberships and jobs stay.

    Raises Conflict("last-operator") for the last superuser.
    """
    with transaction.atomic():
        operators = list(User.objects.select_for_update().filter(is_superuser=True, is_active=True).order_by("pk"))
        if operators == [user]:
            raise Conflict("last-operator", _("%(name)s is the only operator.") % {"name": user.get_username()})
        if User.objects.filter(pk=user.pk, is_active=True).update(is_active=False):
            user.is_active = False
            audit.record("user.deactivate", by=by, subject=("user", str(user.pk), user.get_username()))
            end_invitations(user, by=by)
            tokens.revoke_all(user, by=by)


def get_member(team: Team, username: str) -> Membership:
    """Raises NotFound: the same whether there is such a person or not."""
    rows = Membership.objects.select_related("user", "team").filter(team=team, user__username=username)
    found = rows.first() if texts.is_readable(username) else None
    if found is None:
        raise NotFound("no-such-member", _("%(name)s is not in this team.") % {"name": username})
    return found


def end_invitations(user: User, *, by: Actor, team: Team | None = None) -> None:
    """Of what they may invite to no longer nobody joins by their word."""
    now = timezone.now()
    found = Invitation.objects.select_for_update().open(now).filter(created_by=user).select_related("team").order_by("pk")
    for invitation in found.filter(team=team) if team else found:
        invitation.revoked_at = now
        invitation.save(update_fields=["revoked_at"])
        subject = ("invitation", str(invitation.pk), str(invitation))
        audit.record("invitation.revoke", by=by, subject=subject, of_team=invitation.team, of=user.get_username())


def subject_of(team: Team) -> tuple[str, str, str]:
    return "team", str(team.pk), team.slug


def _give(membership: Membership, role: str, *, by: Actor) -> None:
    """Within the team's lock."""
    was, team = membership.role, membership.team
    if was == role:
        return
    _keep_an_admin(membership)
    membership.role = role
    membership.save(update_fields=["role"])
    name = membership.user.get_username()
    audit.record("member.add", by=by, subject=subject_of(team), of_team=team, user=name, role=role, was=was)
    if was == Role.ADMIN:
        end_invitations(membership.user, by=by, team=team)


def _keep_an_admin(membership: Membership) -> None:
    """Raises Conflict for the only active admin of a team, who is about to be one no longer. Within the team's lock."""
    if membership.role != Role.ADMIN:
        return
    others = Membership.objects.filter(team=membership.team_id, role=Role.ADMIN, user__is_active=True).exclude(pk=membership.pk)
    if not others.exists():
        sentence = _("%(name)s is the only admin of this team. Make someone else an admin first.")
        raise Conflict("last-admin", sentence % {"name": membership.user.get_username()})


def _check_role(role: str) -> None:
    if role not in Role.values:
        raise Invalid({"role": _("There is no such role; there is %(known)s.") % {"known": ", ".join(Role.values)}})
