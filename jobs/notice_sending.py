"""The chore that sends what is due to one person, in the order in which it happened.

A webhook arrives at least once, each time with the same `webhook-id`, by which its receiver drops what it has had. A mail is
claimed before it is sent and goes out at most once: when its outcome is unknown it is not sent again.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from datetime import datetime

from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.db.models.functions import Greatest
from django.utils import timezone
from django.utils.translation import gettext as _

from jobs import notice_mail, notice_moves, notice_settings, webhooks
from jobs.models import Channel, Job, Notice, NoticeSettings
from jobs.notice_messages import Message
from jobs.states import NoticeState
from jobs.undelivered import Undelivered
from projects.errors import Conflict

logger = logging.getLogger(__name__)
BEGUN_WITHIN_S = 5  # of a run; what is left goes with the next, so that one person's notices do not hold up another's
MAILED_AT_ONCE = 50  # in one mail


def send_due(user_id: str, *, clock: Callable[[], datetime] = timezone.now) -> None:
    """Safe twice: of two runs at once one goes on."""
    user = User.objects.filter(pk=int(user_id)).first()
    if user is None or Notice.objects.filter(user=user, state=NoticeState.SENDING, due_at__gt=clock()).exists():
        return
    began = time.monotonic()
    found = notice_settings.of(user)
    _mail(user, found, clock=clock)
    for notice in _due(user, Channel.WEBHOOK, clock()):
        if time.monotonic() - began > BEGUN_WITHIN_S or not _call(notice, user, found, clock=clock):
            break


def _due(user: User, channel: Channel, now: datetime) -> QuerySet[Notice]:
    due = Notice.objects.filter(user=user, channel=channel, state=NoticeState.PENDING, due_at__lte=now)
    return due.select_related("event", "job__project").order_by("pk")[:MAILED_AT_ONCE]


def _mail(user: User, found: NoticeSettings, *, clock: Callable[[], datetime]) -> None:
    """All that is due in one mail."""
    now = clock()
    claimed = [notice for notice in _due(user, Channel.MAIL, now) if notice_moves.claim(notice, now=now)]
    going = _still_wanted(claimed, user, found.mail_address, now=now)
    if not going:
        return
    try:
        notice_mail.send(going, to=found.mail_address, user=user)
    except Undelivered as error:
        for notice in going:
            _note_failure(notice, error, now=clock())
    else:
        for notice in going:
            notice_moves.move(notice, NoticeState.SENT, now=clock())


def _call(notice: Notice, user: User, found: NoticeSettings, *, clock: Callable[[], datetime]) -> bool:
    """False: the receiver is not there, and the others that are for it wait as this one does."""
    now = clock()
    if not notice_moves.claim(notice, now=now) or not _still_wanted([notice], user, found.webhook_url, now=now):
        return True
    try:
        _post(notice, found, now=now)
    except Undelivered as error:
        due_at = _note_failure(notice, error, now=clock())
        if due_at and not error.is_answer:
            others = Notice.objects.open().filter(user=user, channel=Channel.WEBHOOK, state=NoticeState.PENDING)
            others.update(due_at=Greatest("due_at", due_at))
        return error.is_answer or not error.again
    notice_moves.move(notice, NoticeState.SENT, now=clock())
    return True


def _post(notice: Notice, found: NoticeSettings, *, now: datetime) -> None:
    """Raises Undelivered."""
    try:
        signed_with = notice_settings.webhook_secrets(found, now=now)
    except Conflict as error:  # the panel's key file is not there
        raise Undelivered(error.sentence) from None
    body = Message.of(notice).as_json()
    webhooks.post(found.webhook_url, message_id=notice.message_id, body=body, signed_with=signed_with, now=now)


def _still_wanted(notices: list[Notice], user: User, address: str, *, now: datetime) -> list[Notice]:
    """Those of jobs that the person may see; the others are dropped: who has left a team hears nothing more of it."""
    seen = set(Job.objects.visible_to(user).filter(pk__in=[one.job_id for one in notices]).values_list("pk", flat=True))
    going = []
    for notice in notices:
        if not user.is_active or notice.job_id not in seen:
            notice_moves.move(notice, NoticeState.DROPPED, detail=_("You may not see this job any more."), now=now)
        elif not address:
            notice_moves.move(notice, NoticeState.DROPPED, detail=_("There is no address any more."), now=now)
        else:
            going.append(notice)
    return going


def _note_failure(notice: Notice, error: Undelivered, *, now: datetime) -> datetime | None:
    logger.warning("notice not sent notice=%s channel=%s why=%s", notice.pk, notice.channel, error.sentence)
    if error.again:
        return notice_moves.try_again(notice, detail=error.sentence, now=now)
    notice_moves.move(notice, NoticeState.FAILED, detail=error.sentence, now=now)
    return None
