"""Who asks twice gets one thing and the same answer: a script by the header Idempotency-Key, a form by its hidden key."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.http import HttpRequest
from django.http.request import RawPostDataException
from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request
from rest_framework.utils.encoders import JSONEncoder

from projects.actors import Actor
from projects.errors import Conflict, Invalid
from projects.models import IdempotencyKey

HEADER = "Idempotency-Key"
KEPT_FOR = timedelta(hours=24)
MOST_CHARACTERS = 200

PARAMETER = OpenApiParameter(
    HEADER,
    str,
    OpenApiParameter.HEADER,
    description="Of your making, up to 200 characters: the same request with the same key makes one thing, for a day.",
)

Answer = tuple[int, dict[str, Any]]  # HTTP status and JSON


def once(request: HttpRequest | Request, by: Actor, make: Callable[[], Answer]) -> tuple[int, dict[str, Any], bool]:
    """What `make` answers, and whether that is replayed: a key that was seen before gets the stored answer.

    Raises Invalid for a key that is empty or too long, Conflict("idempotency-key-reused") when it came with another request.
    """
    key = request.headers.get(HEADER)
    if key is None:
        return *_as_sent(*make()), False
    if not 1 <= len(key) <= MOST_CHARACTERS:
        raise Invalid({HEADER: _("A key has 1 to 200 characters.")})
    return _once(by, key, _fingerprint(request), make)


def once_a_form(key: str, content: Any, by: Actor, make: Callable[[], Answer]) -> tuple[int, dict[str, Any], bool]:
    """The same for a page's form, whose hidden `key` is made when it is drawn: two clicks are one request.

    Sent again with another content (JSON) it is another request: someone went back and changed it.
    """
    fingerprint = hashlib.sha256(json.dumps(content, sort_keys=True, cls=JSONEncoder).encode()).hexdigest()
    return _once(by, hashlib.sha256(f"form {key} {fingerprint}".encode()).hexdigest(), fingerprint, make)


def _once(by: Actor, key: str, fingerprint: str, make: Callable[[], Answer]) -> tuple[int, dict[str, Any], bool]:
    """`make` and the key stand in one transaction, so an error that it raises leaves neither. Of two requests at once
    the second waits at the key's constraint: it replays when the first commits, makes when the first fails.
    """
    assert by.user.is_authenticated  # keys are a person's own
    with transaction.atomic():
        row = _claim(by.user, key, fingerprint)
        if row is None:
            return *_stored(by.user, key, fingerprint), True
        row.status, row.body = _as_sent(*make())
        row.save(update_fields=["status", "body"])
        return row.status, row.body, False


def forget_old(now: datetime) -> int:
    """Deletes the answers that are older than a day; says how many."""
    return IdempotencyKey.objects.filter(created_at__lt=now - KEPT_FOR).delete()[0]


def _claim(user: User, key: str, fingerprint: str) -> IdempotencyKey | None:
    try:
        with transaction.atomic():
            return IdempotencyKey.objects.create(user=user, key=key, fingerprint=fingerprint)
    except IntegrityError:
        return None


def _stored(user: User, key: str, fingerprint: str) -> Answer:
    row = IdempotencyKey.objects.get(user=user, key=key)
    if row.fingerprint != fingerprint:
        raise Conflict("idempotency-key-reused", _("This key came before with another request. Use a new one."))
    assert row.status is not None
    return row.status, row.body


def _fingerprint(request: HttpRequest | Request) -> str:
    try:
        body = request.body
    except RawPostDataException:  # DRF has parsed it, so its bytes are gone
        body = json.dumps(request.data, sort_keys=True).encode()  # type: ignore[union-attr]
    return hashlib.sha256(b"\0".join([str(request.method).encode(), request.get_full_path().encode(), body])).hexdigest()


def _as_sent(status: int, body: dict[str, Any]) -> Answer:
    """As JSON carries it, so that the first answer and the stored one are equal."""
    return status, json.loads(json.dumps(body, cls=JSONEncoder))
