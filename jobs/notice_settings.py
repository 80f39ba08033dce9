"""A person's own settings of what they are told: read, changed, and the secret that their webhook is signed with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import transaction
from django.db.models import DurationField, ExpressionWrapper, F, Value
from django.utils.translation import gettext as _

from jobs import notice_wishes, webhooks
from jobs.models import Job, NoticeKind, NoticeSettings
from jobs.states import JobState
from projects import audit, secrets
from projects.actors import SCOPES, Actor
from projects.errors import Conflict, Forbidden, Invalid

OLD_SECRET_SIGNS = timedelta(hours=24)  # too, after a new one was made
FIELDS = ("events", "waits_longer_than_min", "by_mail", "mail_address", "by_webhook", "webhook_url")


def of(user: User) -> NoticeSettings:
    """The person's, or those of who has changed nothing: the account's mail address, and nothing wanted."""
    return NoticeSettings.objects.filter(user=user).first() or NoticeSettings(user=user, mail_address=user.email)


def change(*, user: User, wanted: Mapping[str, Any], by: Actor, now: datetime) -> tuple[NoticeSettings, str]:
    """Set those of FIELDS that `wanted` has: (settings, the webhook's new secret or ""). With a first webhook it gets a secret.

    Jobs that wait already count. Raises Invalid with the path of each field, Forbidden for a token of a smaller scope.
    """
    _check_scope(by)
    with transaction.atomic():
        found = _locked(user)
        for name in FIELDS:
            if name in wanted:
                setattr(found, name, wanted[name])
        if wrong := _unfit(found):
            raise Invalid(wrong)
        found.events = [name for name in notice_wishes.EVENTS if name in found.events]  # once each, in one order
        secret = _give_secret(found, now=now) if found.webhook_url and not found.webhook_secret else ""
        found.save()
        _tell_of_waiting(found)
        host = webhooks.host_of(found.webhook_url)
        audit.record(
            "notices.change", by=by, subject=_subject(user), by_mail=found.by_mail, webhook=host if found.by_webhook else ""
        )
    return found, secret


def rotate_secret(*, user: User, by: Actor, now: datetime) -> tuple[NoticeSettings, str]:
    """Another secret for the webhook: (settings, the secret, this once). What was before it signs too, for a day.

    Raises Conflict("no-webhook"), Forbidden as `change` does.
    """
    _check_scope(by)
    with transaction.atomic():
        found = _locked(user)
        if not found.webhook_url:
            raise Conflict("no-webhook", _("There is no webhook to sign for: say its address first."))
        found.old_webhook_secret, found.old_secret_until = found.webhook_secret, now + OLD_SECRET_SIGNS
        secret = _give_secret(found, now=now)
        found.save()
        audit.record("notices.rotate-secret", by=by, subject=_subject(user))
    return found, secret


def webhook_secrets(found: NoticeSettings, *, now: datetime) -> Sequence[str]:
    """In clear, the newest first: what is sent is signed with each. Raises Conflict("secret-unreadable")."""
    sealed = [bytes(found.webhook_secret)]
    if found.old_webhook_secret and found.old_secret_until and now < found.old_secret_until:
        sealed.append(bytes(found.old_webhook_secret))
    return [secrets.unseal(one) for one in sealed]


def _locked(user: User) -> NoticeSettings:
    NoticeSettings.objects.get_or_create(user=user, defaults={"mail_address": user.email})
    return NoticeSettings.objects.select_for_update().get(user=user)


def _give_secret(found: NoticeSettings, *, now: datetime) -> str:
    secret = webhooks.new_secret()
    found.webhook_secret, found.webhook_secret_at = secrets.seal(secret), now
    return secret


def _unfit(found: NoticeSettings) -> dict[str, str]:
    wrong = notice_wishes.unfit({"events": found.events, "waits_longer_than_min": found.waits_longer_than_min})
    if found.mail_address and not _is_mail_address(found.mail_address):
        wrong["mail_address"] = _("This is no mail address.")
    if found.by_mail and not found.mail_address:
        wrong["mail_address"] = _("Mail needs an address to go to.")
    if found.webhook_url and (fault := webhooks.fault_of(found.webhook_url)):
        wrong["webhook_url"] = fault
    if found.by_webhook and not found.webhook_url:
        wrong["webhook_url"] = _("A webhook needs an address to go to.")
    return wrong


def _is_mail_address(text: str) -> bool:
    try:
        validate_email(text)
    except ValidationError:
        return False
    return len(text) <= 254


def _tell_of_waiting(found: NoticeSettings) -> None:
    """Those of the person's jobs that wait and have not been told of, as if they had been launched with these settings."""
    waiting = Job.objects.filter(created_by=found.user_id, state=JobState.QUEUED, retry_at=None, ended_at=None)
    waiting = waiting.exclude(notify_json__has_key="waits_longer_than_min").exclude(notices__kind=NoticeKind.WAITS)
    if found.waits_longer_than_min is None:
        waiting.exclude(wait_told_at=None).update(wait_told_at=None)
        return
    wait = Value(timedelta(minutes=found.waits_longer_than_min), output_field=DurationField())
    waiting.update(wait_told_at=ExpressionWrapper(F("created_at") + wait, output_field=Job._meta.get_field("created_at")))


def _check_scope(by: Actor) -> None:
    if by.scope != SCOPES[-1]:
        sentence = _("This token may only %(has)s; this needs a token of scope %(needs)s.")
        raise Forbidden("token-scope", sentence % {"has": by.scope, "needs": SCOPES[-1]})


def _subject(user: User) -> tuple[str, str, str]:
    return "user", str(user.pk), user.get_username()
