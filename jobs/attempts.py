"""A job follows the workload of its present attempt. Level-triggered: a crash in between only delays it."""

from __future__ import annotations

import logging
from collections import Counter
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from clusters import hosts, reasons, workloads
from clusters.models import Workload
from clusters.states import Outcome, WorkloadState
from jobs import notices, retries
from jobs.models import Attempt, Job
from jobs.retries import Cause
from jobs.states import ENDED, MOVES, JobState
from monitoring import events

logger = logging.getLogger(__name__)
BATCH = 500
FOLLOWED_A_COMMIT = 20

WHILE_IT_LIVES = {
    WorkloadState.WAITING: JobState.QUEUED,
    WorkloadState.ORDERED: JobState.STARTING,
    WorkloadState.PREPARING: JobState.STARTING,
    WorkloadState.READY: JobState.STARTING,
    WorkloadState.RUNNING: JobState.RUNNING,
    WorkloadState.STOPPING: JobState.STOPPING,
}


def begin(job: Job, *, queued_at: datetime, now: datetime) -> Attempt:
    """A new try: a waiting workload at `queued_at`'s place in the line. The caller holds the job's row."""
    assert job.subject
    number = job.attempts.count() + 1 if job.workload_id else 1
    folder = f"{job.project.slug}/{job.pk}"
    checkpoints = f"{job.project.slug}/{job.checkpoints_of_id or job.pk}/checkpoints"
    spec = replace(job.spec, output=f"{folder}/{number}", checkpoints=checkpoints)
    workload = workloads.create(
        project=job.project, subject=job.subject, request=job.request, spec=spec, queued_at=queued_at, now=now
    )
    job.workload = workload
    job.save(update_fields=["workload", "subject"])
    return Attempt.objects.create(job=job, number=number, workload=workload, created_at=now)


def begin_due(*, now: datetime) -> int:
    """Begin the next attempt of each job whose delay is over; returns how many."""
    due = list(Job.objects.filter(retry_at__lte=now).order_by("retry_at", "pk").values_list("pk", flat=True)[:BATCH])
    for pk in due:
        try:
            _begin_due(pk, now=now)
        except Exception:
            logger.exception("cannot begin the next attempt job=%s", pk)
    return len(due)


def _begin_due(pk: int, *, now: datetime) -> None:
    with transaction.atomic():
        job = Job.objects.locked(pk)
        if job.retry_at is None:  # canceled meanwhile
            return
        last = job.attempts.select_related("workload").last()
        assert last and job.subject
        job.retry_at = None
        job.save(update_fields=["retry_at"])
        # A host's trouble costs nobody their place in the line.
        attempt = begin(job, queued_at=last.workload.queued_at if last.retried_as == Cause.HOST_LOST else now, now=now)
        sentence = _("Attempt %(number)s waits for its chips.") % {"number": attempt.number}
        events.record(job.subject, "attempt.begun", sentence, at=now, attempt=attempt.number)


def follow(*, now: datetime) -> int:
    """One look at all workloads of jobs that have moved since; returns how many were followed.

    One that raises is logged and passed over, so that it delays no other.
    """
    moved = list(Workload.objects.not_followed("job").values_list("pk", flat=True)[:BATCH])
    # A commit for several, as in scheduling.
    for start in range(0, len(moved), FOLLOWED_A_COMMIT):
        with transaction.atomic():
            for workload_id in moved[start : start + FOLLOWED_A_COMMIT]:
                try:
                    _follow(workload_id, now=now)
                except Exception:
                    logger.exception("cannot follow workload=%s", workload_id)
    return len(moved)


def _follow(workload_id: Any, *, now: datetime) -> None:
    with transaction.atomic():
        attempt = Attempt.objects.get(workload_id=workload_id)
        job = Job.objects.locked(attempt.job_id)  # the job's row first, then the workload's, then the subject's: as cancel does
        workload = Workload.objects.locked(workload_id)
        if job.workload_id == workload_id and not job.has_ended:
            _take_news(job, workload, now=now)
        workloads.mark_followed(workload_id, workload.version)


def _take_news(job: Job, workload: Workload, *, now: datetime) -> None:
    if _is_to_go_on(job, workload):
        job.attempts.filter(workload=workload).update(counted=False)  # no try spent, and its old place in the line
        begin(job, queued_at=workload.queued_at, now=now)
        move(job, JobState.QUEUED, code=workload.reason_code, data=workload.reason_data, now=now)
        return
    if workload.spec_json["source"] != job.spec_json["source"]:  # its git ref has become a commit: every try runs the same
        job.spec_json |= {"source": workload.spec_json["source"]}
        job.save(update_fields=["spec_json"])
    if job.started_at is None and workload.running_at is not None:  # also when it has ended since, and "running" was never seen
        job.started_at = workload.running_at
        job.save(update_fields=["started_at"])
    to, code, data = _told_by(job, workload)
    if to == JobState.FAILED and _try_again(job, workload, now=now):
        return
    if to in MOVES[job.state]:
        move(job, to, code=code, data=data, now=now)


def _is_to_go_on(job: Job, workload: Workload) -> bool:
    """It ended through no doing of the job: nothing of it ran, or its host is being drained."""
    if workload.state != WorkloadState.EXITED:
        return False
    if workload.stop_code == hosts.DRAINED:
        is_canceled = job.state == JobState.STOPPING and job.reason_code == "canceled"
        return workload.outcome in (Outcome.STOPPED, Outcome.NOT_STARTED) and not is_canceled
    return workload.outcome == Outcome.NOT_STARTED and job.state != JobState.STOPPING


def _try_again(job: Job, workload: Workload, *, now: datetime) -> bool:
    """failed -> queued until its next attempt, when the budget of the cause allows one and nobody has canceled it."""
    if workload.stop_code not in ("", "rank-ended") or (job.state == JobState.STOPPING and job.reason_code == "canceled"):
        return False  # someone or a deadline wanted its end
    spent = Counter(job.attempts.exclude(retried_as="").values_list("retried_as", flat=True))
    again = retries.decide(job.retries, workload.reason_code, spent)
    if again is None:
        return False
    attempt = job.attempts.get(workload=workload)
    attempt.retried_as = again.cause
    attempt.save(update_fields=["retried_as"])
    if job.state == JobState.QUEUED:  # it was over before anybody saw it begin
        move(job, JobState.STARTING, code="", data={}, now=now)
    why = {"why_code": workload.reason_code, "why_data": workload.reason_data}
    about = {"attempt": attempt.number, "cause": again.cause.value, "delay_s": again.delay_s, "left": again.left}
    move(job, JobState.QUEUED, code="retrying", data=about | why, now=now)
    job.retry_at = now + timedelta(seconds=again.delay_s)
    job.save(update_fields=["retry_at"])
    return True


def _told_by(job: Job, workload: Workload) -> tuple[str, str, dict[str, Any]]:
    """(state, reason code, data) that a job takes from its workload."""
    reason = (workload.reason_code, workload.reason_data)
    if workload.state in WHILE_IT_LIVES:
        return (WHILE_IT_LIVES[WorkloadState(workload.state)], *reason)
    if workload.state == WorkloadState.LOST or workload.outcome == Outcome.FAILED:
        return (JobState.FAILED, *reason)
    if workload.outcome == Outcome.SUCCEEDED:
        return (JobState.SUCCEEDED, *reason)
    if job.state == JobState.STOPPING and job.reason_code == "canceled":
        return (JobState.CANCELED, job.reason_code, job.reason_data)
    if workload.reason_code == "panel-stopped":  # an operator wanted it
        return (JobState.CANCELED, *reason)
    return (JobState.FAILED, *reason)  # stopped for another reason: timed out, a deadline


def move(job: Job, to: str, *, code: str, data: dict[str, Any], now: datetime, by_name: str = "") -> bool:
    """The one function that changes a job's state: conditional on the state it saw, event in the same transaction.

    False when nothing changes (it is there already, or someone else won). Raises ValueError for a move that the
    table does not have.
    """
    if to == job.state:
        return False
    if to not in MOVES[job.state]:
        raise ValueError(f"job={job.pk} cannot move {job.state} -> {to}")
    changes: dict[str, Any] = {"state": to, "reason_code": code, "reason_data": data, "moved_at": now}
    if to in ENDED:
        changes["ended_at"] = now
    if to != JobState.QUEUED:
        changes["retry_at"] = None
    if not Job.objects.filter(pk=job.pk, state=job.state).update(**changes):
        return False
    for name, value in changes.items():
        setattr(job, name, value)
    assert job.subject
    event = events.record(job.subject, f"job.{to}", reasons.written(code, data), at=now, by_name=by_name, reason=code, **data)
    notices.tell(job, event, now=now)
    return True
