"""Who is told of what: a notice for each event that a job's launcher wants to hear of, written in the event's transaction.

A notice is sent by a chore (notice_sending.py). One chore a person, so that who does not answer holds up nobody else, and few at
once, so that notices never take all of the worker from chores that jobs wait for.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Min
from django.utils.translation import gettext as _

from clusters import chores, reasons
from clusters.models import Chore
from clusters.models.chores import ChoreKind
from jobs import notice_moves, notice_wishes
from jobs.models import Channel, Job, Notice, NoticeKind, NoticeSettings
from jobs.states import JobState, NoticeState
from monitoring import events
from monitoring.announcements import wake
from monitoring.models import Event
from projects.actors import Actor

logger = logging.getLogger(__name__)
GIVEN_UP_AFTER = timedelta(hours=24)
PERSONS_AT_ONCE = 2  # of the worker's four threads (controlpanel/up.py)
BATCH = 200
TOLD_OF = ("pk", "subject", "created_by", "notify_json")  # of a job, to tell of it


# -- Made with their event -------------------------------------------------------------------------------------


def tell(job: Job, event: Event, *, now: datetime) -> None:
    tell_many([(job, event)], now=now)


def tell_many(news: Sequence[tuple[Job, Event]], *, now: datetime) -> None:
    """A notice of each event, to the job's launcher, by each channel that they want it by; for the caller's transaction.

    What people do themselves they are not told of.
    """
    of_note = [(job, event) for job, event in news if event.code in notice_wishes.KIND_OF and job.created_by_id]
    if not of_note:
        return
    people = NoticeSettings.objects.select_related("user").in_bulk({job.created_by_id for job, _event in of_note})
    made = []
    for job, event in of_note:
        found = people.get(job.created_by_id)
        if found is None or _did(found, event):
            continue
        wish = notice_wishes.of(found, job.notify_json)
        kind = wish.kind_of(event.code) if wish.channels else None
        if kind is None or (kind == NoticeKind.STARTS and _has_run_before(event)):
            continue
        made += [_notice(job, event, kind, channel, found.user, now=now) for channel in wish.channels]
    if made:
        Notice.objects.bulk_create(made)
        wake("follow")


def tell_launchers(numbers: Sequence[int], code: str, *, now: datetime, but: Actor | None = None) -> None:
    """The same of many jobs to which the event `code` has just happened, each once in its life. Launchers but `but`."""
    wanted = Job.objects.filter(pk__in=numbers, created_by__in=NoticeSettings.objects.values("user"))
    jobs = {job.subject_id: job for job in wanted.exclude(created_by=but.user.pk if but else None).only(*TOLD_OF)}
    if jobs:
        happened = Event.objects.filter(subject__in=jobs, code=code).order_by("pk")
        tell_many([(jobs[event.subject_id], event) for event in happened], now=now)


def _did(found: NoticeSettings, event: Event) -> bool:
    return event.code == "job.canceled" and event.data.get("by") == found.user.get_username()


def _has_run_before(event: Event) -> bool:
    """It is another try: a job starts once."""
    return Event.objects.filter(subject_id=event.subject_id, code=event.code, seq__lt=event.seq).exists()


def _notice(job: Job, event: Event, kind: NoticeKind, channel: Channel, user: User, *, now: datetime) -> Notice:
    return Notice(
        user=user,
        event=event,
        job=job,
        kind=kind,
        channel=channel,
        due_at=now,
        give_up_at=now + GIVEN_UP_AFTER,
        created_at=now,
        moved_at=now,
    )


# -- Of jobs that wait -------------------------------------------------------------------------------------------


def wait_told_at(found: NoticeSettings | None, said: Mapping[str, Any], *, created_at: datetime) -> datetime | None:
    """When its launcher is to be told that a job still waits; None: never."""
    minutes = notice_wishes.of(found, said).waits_longer_than_min
    return None if minutes is None else created_at + timedelta(minutes=minutes)


def tell_waiting(*, now: datetime) -> int:
    """An event and its notices for each job that has waited for so long; returns how many were looked at.

    Once a job: who waits again after a try is not told again. One that somebody else holds is looked at the next time.
    """
    due = list(Job.objects.filter(wait_told_at__lte=now).order_by("wait_told_at").values_list("pk", flat=True)[:BATCH])
    if not due:
        return 0
    with transaction.atomic():
        free = Job.objects.select_for_update(skip_locked=True, of=("self",)).filter(pk__in=due, wait_told_at__lte=now)
        jobs = list(free.select_related("workload", "subject").order_by("pk"))
        waiting = [job for job in jobs if job.state == JobState.QUEUED and job.retry_at is None]
        events.record_many([_waits(job, now=now) for job in waiting], at=now)
        Job.objects.filter(pk__in=[job.pk for job in jobs]).update(wait_told_at=None)
        tell_launchers([job.pk for job in waiting], "job.waits", now=now)
    return len(jobs)


def _waits(job: Job, *, now: datetime) -> events.News:
    assert job.subject_id and job.workload
    data = {
        "reason": "waits-long",
        "minutes": int((now - job.created_at).total_seconds() // 60),
        "why_code": job.workload.reason_code,
        "why_data": job.workload.reason_data,
    }
    return events.News(job.subject_id, "job.waits", reasons.sentence("waits-long", data), data)


# -- Seen to in each tick ------------------------------------------------------------------------------------------


def tick(*, now: datetime) -> None:
    """Tell of who waits, rescue what nobody moves on, and have a chore for each person whose notices are due."""
    tell_waiting(now=now)
    rescue(now=now)
    publish(now=now)


def rescue(*, now: datetime) -> None:
    """sending -> pending or failed, when its worker is taken for dead; pending -> failed, when its time is over.

    A webhook goes again, with its id; a mail that may have gone out does not.
    """
    overdue = Notice.objects.filter(due_at__lte=now)
    for notice in overdue.filter(state=NoticeState.SENDING)[:BATCH]:
        logger.warning("worker gone while it sent notice=%s channel=%s tries=%d", notice.pk, notice.channel, notice.tries)
        sentence = _("The panel was cut off while it sent it.")
        if notice.channel == Channel.MAIL:
            sentence = _("The panel was cut off while it sent it; it may have gone out, so it is not sent again.")
            notice_moves.move(notice, NoticeState.FAILED, detail=sentence, now=now)
        else:
            notice_moves.try_again(notice, detail=sentence, now=now)
    for notice in overdue.filter(state=NoticeState.PENDING, give_up_at__lte=now)[:BATCH]:
        notice_moves.move(notice, NoticeState.FAILED, detail=notice.detail or _("It could not be sent for a day."), now=now)


def publish(*, now: datetime) -> int:
    """A chore for each person whose notices are due, the longest due first, as many as may be at once; returns how many."""
    due = Notice.objects.filter(state=NoticeState.PENDING, due_at__lte=now)
    if not due.exists():
        return 0
    busy = set(Chore.objects.open().filter(kind=ChoreKind.SEND_NOTICES).values_list("target", flat=True))
    sending = Notice.objects.filter(state=NoticeState.SENDING, due_at__gt=now)
    busy |= {str(pk) for pk in sending.values_list("user_id", flat=True)}
    wanted = 0
    if len(busy) < PERSONS_AT_ONCE:
        for user_id in due.values_list("user_id", flat=True).annotate(first=Min("due_at")).order_by("first", "user_id"):
            if str(user_id) not in busy and len(busy) < PERSONS_AT_ONCE:
                chores.want(ChoreKind.SEND_NOTICES, str(user_id), now=now)
                busy.add(str(user_id))
                wanted += 1
    return wanted


def forget_old(*, before: datetime) -> int:
    """Those that were over by then; says how many."""
    return Notice.objects.filter(due_at=None, moved_at__lt=before).delete()[0]
