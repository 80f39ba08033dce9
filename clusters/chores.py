"""Chores of the panel: wanted in a transaction, published by the scheduler loop, done by the panel's Celery worker.

Written to be lost: a chore that nobody has done is published again, so each is safe twice.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta

from celery import current_app
from django.db.models import F

from clusters.models import Chore
from monitoring.announcements import wake

logger = logging.getLogger(__name__)
TASK = "controlpanel.tasks.do_chore"
BATCH = 100  # a tick
FIRST_RESEND_S, RESEND_CAP_S = 10, 300  # until it is published again: doubled each time
MOST_TIMES = 8  # published so often without an end: given up

Do = Callable[[str], None]


def want(kind: str, target: str, *, now: datetime) -> None:
    """Once while it is open."""
    Chore.objects.get_or_create(kind=kind, target=target, done_at=None, defaults={"created_at": now})
    wake("scheduler")


def publish(*, now: datetime) -> int:
    """Hand the due ones to the queue; returns how many. Stops at the first failure until the next tick, as dispatch does."""
    sent = 0
    for chore in Chore.objects.open().filter(sent_at=None).order_by("created_at", "pk")[:BATCH]:
        try:
            current_app.send_task(TASK, args=[chore.pk], queue="panel", retry=False, ignore_result=True)
        except Exception as error:  # kombu raises what its transports raise
            logger.warning("chore not sent chore=%s error=%r", chore.pk, error)
            break
        Chore.objects.filter(pk=chore.pk, sent_at=None).update(sent_at=now, sent_times=F("sent_times") + 1)
        sent += 1
    return sent


def sweep(*, now: datetime) -> None:
    """What was sent and not done is sent again, later each time, and at last given up."""
    for chore in Chore.objects.open().exclude(sent_at=None):
        assert chore.sent_at
        wait_s = min(FIRST_RESEND_S * 2 ** (chore.sent_times - 1), RESEND_CAP_S)
        if now - chore.sent_at < timedelta(seconds=wait_s):
            continue
        if chore.sent_times >= MOST_TIMES:
            logger.error("chore given up chore=%s kind=%s target=%s", chore.pk, chore.kind, chore.target)
            Chore.objects.filter(pk=chore.pk, done_at=None).update(done_at=now, detail=chore.detail or "never done")
        else:
            Chore.objects.filter(pk=chore.pk, sent_at=chore.sent_at).update(sent_at=None)


def run(chore_id: int, kinds: Mapping[str, Do], *, now: Callable[[], datetime]) -> None:
    """Do one, unless it has been done. What it raises is kept as its detail, and it stays open for the sweep."""
    chore = Chore.objects.open().filter(pk=chore_id).first()
    if chore is None:
        return
    try:
        kinds[chore.kind](chore.target)
    except Exception as error:
        logger.exception("chore failed chore=%s kind=%s target=%s", chore.pk, chore.kind, chore.target)
        Chore.objects.filter(pk=chore.pk).update(detail=repr(error)[:300])
    else:
        Chore.objects.filter(pk=chore.pk, done_at=None).update(done_at=now())


def forget_done(*, before: datetime) -> int:
    """Rows of chores that were done by then; says how many."""
    return Chore.objects.filter(done_at__lt=before).delete()[0]
