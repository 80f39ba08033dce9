"""Links into a team: made by its admins, shown once, used by people with an account or without, each so many times."""

from __future__ import annotations

import hashlib
import secrets
from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth.models import User
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from projects import audit, members, texts
from projects.access import RIGHTS, ROLES, role_in
from projects.actors import Actor
from projects.errors import Conflict, Gone, Invalid, NotFound
from projects.models import Invitation, Membership, Role, Standing, Team

LONGEST = timedelta(days=30)
MOST_USES = 100
LONGEST_ADDRESS = 254
LONGEST_PASSWORD = 1000
LONGEST_USERNAME = 150


def create(
    *, team: Team, role: str, expires_at: datetime, most_uses: int, by: Actor, now: datetime, address: str = ""
) -> tuple[Invitation, str]:
    """An invitation, and the text of its link, which exists nowhere else. Raises Invalid at the fields that are wrong."""
    _check(role=role, expires_at=expires_at, most_uses=most_uses, address=address, now=now)
    text = secrets.token_urlsafe(24)
    with transaction.atomic():
        invitation = Invitation.objects.create(
            team=team,
            role=role,
            digest=_digest(text),
            address=address,
            most_uses=most_uses,
            created_by=by.user if by.user.is_authenticated else None,
            created_at=now,
            expires_at=expires_at,
        )
        _record("invitation.create", invitation, by, role=role, expires_at=expires_at, most_uses=most_uses, address=address)
    return invitation, text


def revoke(*, invitation: Invitation, by: Actor, now: datetime) -> None:
    """Nobody joins by it from now on. Revoked again nothing changes."""
    with transaction.atomic():
        if Invitation.objects.filter(pk=invitation.pk, revoked_at=None).update(revoked_at=now):
            _record("invitation.revoke", invitation, by)


def get_invitation(team: Team, number: int) -> Invitation:
    """Raises NotFound, also for another team's."""
    found = team.invitations.filter(pk=number).first()
    if found is None:
        raise NotFound("no-such-invitation", _("This team has no such invitation."))
    return found


def find(text: str, now: datetime) -> Invitation:
    """The open invitation of this text, with its team and who made it.

    Raises NotFound for a text that is none, Gone for one that was: only who holds a link learns what has become of it.
    """
    found = Invitation.objects.select_related("team", "created_by").filter(digest=_digest(text)).first()
    if found is None:
        raise NotFound("invitation-unknown", _("This is no invitation of ours. Look whether the whole link was copied."))
    _check_open(found, now)
    return found


def accept(*, text: str, user: User, now: datetime, by: Actor) -> Membership:
    """Someone with an account joins. Of two who take the last use at once one joins, the other is told that it is used up.

    Raises what `find` raises; Conflict("member-already"), which spends no use, and Conflict("other-address").
    """
    with transaction.atomic():
        invitation = _locked(find(text, now), now)
        if Membership.objects.filter(team=invitation.team, user=user).exists():
            raise Conflict("member-already", _("You are in the team %(team)s already.") % {"team": invitation.team.name})
        _take_address(invitation, user)
        return _join(invitation, user, by=by)


def sign_up(*, text: str, username: str, password: str, now: datetime) -> User:
    """Someone without an account gets one, and joins: both or neither.

    Raises what `find` raises, Invalid at "username" or "password".
    """
    with transaction.atomic():
        invitation = _locked(find(text, now), now)
        user = User(username=User.normalize_username(username.strip()), email=invitation.address)
        _check_account(user, password)
        user.set_password(password)
        try:
            with transaction.atomic():
                user.save(force_insert=True)
        except IntegrityError:  # another was quicker
            raise Invalid({"username": _("This name is taken.")}) from None
        by = Actor(user=user)
        audit.record("user.sign-up", by=by, subject=("user", str(user.pk), user.get_username()), of_team=invitation.team)
        _join(invitation, user, by=by)
    return user


def _locked(invitation: Invitation, now: datetime) -> Invitation:
    """As it is when its team's lock is ours: the lock under which people come and go."""
    Team.objects.locked(invitation.team_id)
    invitation.refresh_from_db(fields=["uses", "revoked_at", "created_by"])
    _check_open(invitation, now)
    return invitation


def _join(invitation: Invitation, user: User, *, by: Actor) -> Membership:
    """Within the team's lock."""
    invitation.uses += 1
    invitation.save(update_fields=["uses"])
    membership = members.add(team=invitation.team, user=user, role=invitation.role, by=by)
    _record("invitation.accept", invitation, by, role=invitation.role)
    return membership


def _take_address(invitation: Invitation, user: User) -> None:
    if not invitation.address:
        return
    if user.email and user.email.casefold() != invitation.address.casefold():
        sentence = _("This invitation is for %(address)s, and your account has another address.")
        raise Conflict("other-address", sentence % {"address": invitation.address})
    if not user.email:
        user.email = invitation.address
        user.save(update_fields=["email"])


def _check_open(invitation: Invitation, now: datetime) -> None:
    """Raises Gone, saying what has become of it. Whose maker may no longer invite counts as revoked."""
    standing = invitation.standing(now)
    if standing == Standing.OPEN and not _may_invite(invitation):
        standing = Standing.REVOKED
    sentences = {
        Standing.USED: _("This invitation was used already. Ask for a new one."),
        Standing.EXPIRED: _("This invitation has expired. Ask for a new one."),
        Standing.REVOKED: _("This invitation was taken back. Ask for a new one."),
    }
    if standing != Standing.OPEN:
        raise Gone(f"invitation-{standing}", sentences[standing])


def _may_invite(invitation: Invitation) -> bool:
    maker = invitation.created_by
    if maker is None or not maker.is_active:
        return False
    role = role_in(Actor(user=maker), invitation.team)
    return role is not None and ROLES.index(role) >= ROLES.index(RIGHTS["team.edit"].role)


def _check(*, role: str, expires_at: datetime, most_uses: int, address: str, now: datetime) -> None:
    wrong: dict[str, str] = {}
    if role not in Role.values:
        wrong["role"] = _("There is no such role; there is %(known)s.") % {"known": ", ".join(Role.values)}
    if not now < expires_at <= now + LONGEST:
        wrong["expires_at"] = _("A moment within the next %(days)s days is needed.") % {"days": LONGEST.days}
    if not 1 <= most_uses <= MOST_USES:
        wrong["most_uses"] = _("A number from 1 to %(most)s is needed.") % {"most": MOST_USES}
    if address:
        try:
            if len(address) > LONGEST_ADDRESS:
                raise ValidationError("")
            validate_email(address)
        except ValidationError:
            wrong["address"] = _("This is no mail address.")
        if most_uses != 1 and "most_uses" not in wrong:
            wrong["most_uses"] = _("An invitation for one address is good for one person.")
    if wrong:
        raise Invalid(wrong)


def _check_account(user: User, password: str) -> None:
    wrong: dict[str, str] = {}
    if not 1 <= len(user.username) <= LONGEST_USERNAME:
        wrong["username"] = _("A name of 1 to %(most)s characters is needed.") % {"most": LONGEST_USERNAME}
    elif not texts.is_username(user.username):
        wrong["username"] = _("Letters and digits of any script and @ . + - _ are taken, and no spaces.")
    elif User.objects.filter(username__iexact=user.username).exists():  # none is taken for another by its capitals
        wrong["username"] = _("This name is taken.")
    try:
        if len(password) > LONGEST_PASSWORD:
            raise ValidationError(_("At most %(most)s characters.") % {"most": LONGEST_PASSWORD})
        validate_password(password, user)
    except ValidationError as error:
        wrong["password"] = " ".join(error.messages)
    if wrong:
        raise Invalid(wrong)


def _record(verb: str, invitation: Invitation, by: Actor, **data: Any) -> None:
    audit.record(verb, by=by, subject=("invitation", str(invitation.pk), str(invitation)), of_team=invitation.team, **data)


def _digest(text: str) -> str:
    """A link's text is random 192 bits, so a plain hash is enough."""
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()
