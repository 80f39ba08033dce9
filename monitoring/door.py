"""Who is at the websocket's door, and what they may listen to. Asked anew at each check: nothing is remembered."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.auth import get_user
from django.http import HttpRequest, parse_cookie
from django.http.request import validate_host
from django.utils import timezone
from rest_framework.request import Request

from monitoring import subjects
from monitoring.models import Subject
from projects import tokens
from projects.actors import Actor
from projects.errors import NotFound, Unauthorized

Scope = dict[str, Any]  # ASGI's


def origin_is_ours(scope: Scope) -> bool:
    """A browser's page must be ours: it brings the person's cookie, whoever wrote the page. A script with a token has none."""
    origin, host = _header(scope, b"origin"), _header(scope, b"host")
    if not origin:
        return bool(_token(scope))
    if origin == settings.PUBLIC_URL:
        return True
    try:
        page = urlsplit(origin)
    except ValueError:
        return False
    return page.scheme in ("http", "https") and page.netloc == host and validate_host(page.hostname or "", settings.ALLOWED_HOSTS)


def identify(scope: Scope) -> Actor:
    """The person behind the token or the session cookie, as of now. Raises Unauthorized."""
    token = _token(scope)
    actor = _token_actor(token) if token else _session_actor(scope)
    if actor is None or not actor.user.is_authenticated or not actor.user.is_active:
        raise Unauthorized("not-signed-in", "Sign in, or bring a token that is valid.")
    return actor


def scope_of(request: HttpRequest | Request) -> Scope:
    """What is asked about again while the answer to an HTTP request lasts."""
    names = [name for name in ("Authorization", "Cookie") if name in request.headers]
    return {"headers": [(name.lower().encode(), request.headers[name].encode("latin-1")) for name in names]}


def admit(scope: Scope, address: str) -> Subject | None:
    """The subject to listen to, or None when the address is a list's. Raises Unauthorized or NotFound."""
    actor = identify(scope)
    if subjects.may_list(actor, address):
        return None
    return subjects.get_subject(actor, address)


def still_admitted(scope: Scope, addresses: Iterable[str]) -> set[str]:
    """Those of the addresses that may be listened to any longer. Raises Unauthorized."""
    actor = identify(scope)
    return {address for address in addresses if _is_admitted(actor, address)}


def _is_admitted(actor: Actor, address: str) -> bool:
    try:
        return subjects.may_list(actor, address) or bool(subjects.get_subject(actor, address))
    except NotFound:
        return False


def _token_actor(text: str) -> Actor | None:
    token = tokens.find(text, timezone.now())
    return Actor(user=token.user, scope=token.scope, token_id=token.pk) if token else None


def _session_actor(scope: Scope) -> Actor | None:
    key = parse_cookie(_header(scope, b"cookie")).get(settings.SESSION_COOKIE_NAME)
    if not key:
        return None
    session = import_module(settings.SESSION_ENGINE).SessionStore(key)
    return Actor(user=get_user(SimpleNamespace(session=session)))  # type: ignore[arg-type]


def _token(scope: Scope) -> str:
    kind, _space, text = _header(scope, b"authorization").partition(" ")
    return text.strip() if kind.lower() == "bearer" else ""


def _header(scope: Scope, name: bytes) -> str:
    return next((value.decode("latin-1") for key, value in scope["headers"] if key.lower() == name), "")
