"""Tokens: issued once in clear, found again by their digest, revoked; and how DRF asks for them."""

from __future__ import annotations

import hashlib
import secrets
from datetime import datetime, timedelta

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _
from rest_framework.authentication import BaseAuthentication
from rest_framework.request import Request

from projects import audit
from projects.actors import SCOPES, Actor
from projects.errors import Forbidden, Invalid, NotFound, Unauthorized
from projects.models import ApiToken, Membership, Role, Team

START = "tpu_"  # by which people and scanners of leaked secrets know a token
ROLES_OF_SCOPES: tuple[list[str], ...] = (Role.values, [Role.MEMBER, Role.ADMIN], [Role.ADMIN])  # in the order of SCOPES
NOTED_EVERY = timedelta(minutes=1)  # last_used_at is no finer: not every request writes


def issue(*, user: User, name: str, scope: str, expires_at: datetime | None, by: Actor) -> tuple[ApiToken, str]:
    """A token of `user`, and its text, which exists nowhere else. Whose tokens `by` may issue is the door's to check.

    One that is issued by a token does not outlive it: it expires no later, without a word as late, and is revoked with it.
    Raises Forbidden("token-scope") when `by` comes with a token of a smaller scope, Invalid for a wrong field.
    """
    _check(name=name, scope=scope, expires_at=expires_at)
    _check_reach(scope, by)
    text = START + secrets.token_urlsafe(32)
    with transaction.atomic():
        parent = _parent(by)
        if parent and parent.expires_at:
            expires_at = expires_at or parent.expires_at
            if expires_at > parent.expires_at:
                moment = parent.expires_at.isoformat()
                raise Invalid(
                    {"expires_at": _("It may not outlive the token that issues it, which expires %(at)s.") % {"at": moment}}
                )
        token = ApiToken.objects.create(
            user=user,
            name=name,
            prefix=text[len(START) :][:8],
            digest=_digest(text),
            scope=scope,
            expires_at=expires_at,
            parent=parent,
        )
        audit.record("token.issue", by=by, subject=_subject(token), of=user.get_username(), scope=scope, expires_at=expires_at)
    return token, text


def revoke(*, token: ApiToken, by: Actor) -> None:
    """It opens nothing from now on, nor do those that it issued. Revoked again nothing changes.

    Raises Forbidden("token-scope") as issue does.
    """
    _check_reach(token.scope, by)
    with transaction.atomic():
        _revoke(token, by)


def revoke_all(user: User, *, by: Actor) -> None:
    """Every token of a person who has left."""
    with transaction.atomic():
        for token in ApiToken.objects.filter(user=user, revoked_at=None).select_related("user").order_by("pk"):
            _revoke(token, by)


def scopes_of(user: User) -> list[str]:
    """Those that are of use to the person: no role of theirs allows more."""
    if user.is_superuser:
        return list(SCOPES)
    roles: set[str] = set(Membership.objects.filter(user=user).values_list("role", flat=True))
    return [scope for scope, needed in zip(SCOPES, ROLES_OF_SCOPES, strict=True) if scope == SCOPES[0] or roles & set(needed)]


def check_use(user: User, scope: str, by: Actor) -> None:
    """Raises Invalid for a scope that is of no use to the person: it would wait for them to become more.

    Raises Forbidden("token-scope") as issue does.
    """
    _check_reach(scope, by)
    useful = scopes_of(user)
    if scope not in useful:
        sentence = _("No role of yours has a use for this scope; those that have are %(known)s.")
        raise Invalid({"scope": sentence % {"known": ", ".join(useful)}})


def of_team(team: Team) -> QuerySet[ApiToken]:
    """Those of its members that open something still, newest first: what may reach the team's projects."""
    return ApiToken.objects.filter(_alive(timezone.now()), user__memberships__team=team).select_related("user").order_by("-pk")


def get_token_of_team(team: Team, token_id: int) -> ApiToken:
    """Raises NotFound, also for one of nobody in the team."""
    token = of_team(team).filter(pk=token_id).first()
    if token is None:
        raise NotFound("no-such-token", _("No member of this team has such a token."))
    return token


def revoke_of_team(*, team: Team, token: ApiToken, by: Actor) -> None:
    """A member's token, by an admin of the team: it opens nothing any more, in other teams neither.

    Raises Forbidden for an operator's, which another operator's word ends.
    """
    if token.user.is_superuser and not by.user.is_superuser:
        raise Forbidden("operators-token", _("This is an operator's token: an operator alone can revoke it."))
    _check_reach(token.scope, by)
    with transaction.atomic():
        _revoke(token, by, team)


def of(user: User) -> QuerySet[ApiToken]:
    """The person's own, newest first, the revoked ones too."""
    return ApiToken.objects.filter(user=user).order_by("-pk")


def get_token(user: User, token_id: int) -> ApiToken:
    """One's own token. Raises NotFound, also for another person's."""
    token = of(user).select_related("user").filter(pk=token_id).first()
    if token is None:
        raise NotFound("no-such-token", _("You have no such token."))
    return token


def find(text: str, now: datetime) -> ApiToken | None:
    """The token of this text, with its user; None when it is unknown, revoked or expired, or its user no longer active."""
    token = ApiToken.objects.select_related("user").filter(_alive(now), digest=_digest(text)).first()
    if token is not None:
        _note_use(token, now)
    return token


class TokenAuthentication(BaseAuthentication):
    """`Authorization: Bearer tpu_...`; without such a header DRF asks the next authentication, the session's."""

    def authenticate(self, request: Request) -> tuple[User, ApiToken] | None:
        """Raises Unauthorized with code token-unknown or token-expired."""
        kind, _space, text = request.headers.get("Authorization", "").partition(" ")
        if kind.lower() != "bearer":
            return None
        now = timezone.now()
        token = find(text.strip(), now)
        if token is None:
            raise _refusal(text.strip(), now)
        return token.user, token

    def authenticate_header(self, request: Request) -> str:
        return "Bearer"


def _check(*, name: str, scope: str, expires_at: datetime | None) -> None:
    wrong: dict[str, str] = {}
    if not 1 <= len(name.strip()) <= 100:
        wrong["name"] = _("A name of 1 to 100 characters is needed.")
    if scope not in SCOPES:
        wrong["scope"] = _("There is no such scope; there is %(known)s.") % {"known": ", ".join(SCOPES)}
    if expires_at is not None and expires_at <= timezone.now():
        wrong["expires_at"] = _("This moment has passed.")
    if wrong:
        raise Invalid(wrong)


def _parent(by: Actor) -> ApiToken | None:
    """The token that `by` comes with, held so that it is not revoked meanwhile."""
    if by.token_id is None:
        return None
    parent = ApiToken.objects.select_for_update().filter(pk=by.token_id).first()
    if parent and parent.revoked_at:
        raise Unauthorized("token-unknown", _("This token is unknown here, or was revoked."))
    return parent


def _revoke(token: ApiToken, by: Actor, team: Team | None = None) -> None:
    """The parent first: who issues by it holds its row, and is seen among its children or refused."""
    revoked_at = timezone.now()
    if not ApiToken.objects.filter(pk=token.pk, revoked_at=None).update(revoked_at=revoked_at):
        return
    token.revoked_at = revoked_at
    audit.record("token.revoke", by=by, subject=_subject(token), of_team=team, of=token.user.get_username())
    for child in token.children.filter(revoked_at=None).select_related("user").order_by("pk"):
        _revoke(child, by, team)


def _check_reach(scope: str, by: Actor) -> None:
    """A token that got out must not make itself a greater one, nor end those that could end it."""
    if SCOPES.index(scope) > SCOPES.index(by.scope):
        raise Forbidden(
            "token-scope",
            _("This token may only %(has)s; this needs a token of scope %(needs)s.") % {"has": by.scope, "needs": scope},
        )


def _alive(now: datetime) -> Q:
    return Q(revoked_at=None, user__is_active=True) & (Q(expires_at=None) | Q(expires_at__gt=now))


def _note_use(token: ApiToken, now: datetime) -> None:
    if token.last_used_at is not None and now - token.last_used_at < NOTED_EVERY:
        return
    stale = Q(last_used_at=None) | Q(last_used_at__lte=now - NOTED_EVERY)
    if ApiToken.objects.filter(stale, pk=token.pk).update(last_used_at=now):
        token.last_used_at = now


def _refusal(text: str, now: datetime) -> Unauthorized:
    """Only who holds the text of a token learns that it has expired."""
    if ApiToken.objects.filter(digest=_digest(text), revoked_at=None, user__is_active=True, expires_at__lte=now).exists():
        return Unauthorized("token-expired", _("This token has expired. Issue a new one."))
    return Unauthorized("token-unknown", _("This token is unknown here, or was revoked."))


def _digest(text: str) -> str:
    """A token is random 256 bits, so a plain hash is enough."""
    return hashlib.sha256(text.encode()).hexdigest()


def _subject(token: ApiToken) -> tuple[str, str, str]:
    return "token", str(token.pk), token.name
