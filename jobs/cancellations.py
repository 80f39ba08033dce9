"""Many jobs canceled at once: those that only wait in sets, the others one by one."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from django.db import transaction
from django.db.models import F, Q

from clusters import reasons, workloads
from jobs import services
from jobs.models import Job
from jobs.selections import Refusal, has_ended
from jobs.states import JobState
from monitoring import events
from projects import audit
from projects.actors import Actor
from projects.errors import Conflict

AT_ONCE = 1000  # jobs in one transaction, so that others have their turn in between


def cancel(numbers: Sequence[int], *, by: Actor, now: datetime, force: bool = False) -> tuple[list[int], list[Refusal]]:
    """Ask for the end of these jobs, for which `by` has the right (selections.plan): (those that stop or are canceled, others).

    One that waits is canceled by the time that this returns; of the others says services.cancel what `force` does.
    """
    waiting: set[int] = set()
    for start in range(0, len(numbers), AT_ONCE):
        waiting |= _cancel_waiting(numbers[start : start + AT_ONCE], by=by, now=now)
    refused = []
    for number in numbers:
        if number not in waiting:
            try:
                services.cancel(job=Job(pk=number), by=by, now=now, force=force)
            except (Conflict, Job.DoesNotExist):
                refused.append(has_ended(number))
    left = {one.number for one in refused}
    return [number for number in numbers if number not in left], refused


class _Queued(NamedTuple):
    """What is read of each: the last four are other rows'."""

    pk: int
    project_id: int
    workload_id: UUID | None
    retry_at: datetime | None
    subject_id: int
    team_id: int
    kind: str
    key: str
    title: str


OTHERS = ("project__team_id", "subject__kind", "subject__key", "subject__title")


def _cancel_waiting(numbers: Sequence[int], *, by: Actor, now: datetime) -> set[int]:
    """queued -> canceled, for those that nobody else is at; returns which.

    The follower has nothing left to do for them: that is why a job whose git ref it has not taken over yet is not among them.
    """
    name = by.user.get_username()
    code, data = "canceled", {"by": name}
    is_seen = Q(workload__followed_version=F("workload__version")) | ~Q(spec_json__source__kind="git")
    with transaction.atomic():
        free = Job.objects.select_for_update(skip_locked=True, of=("self",)).order_by("pk")
        queued = free.filter(is_seen, pk__in=numbers, state=JobState.QUEUED)
        jobs = [_Queued(*row) for row in queued.values_list(*_Queued._fields[: -len(OTHERS)], *OTHERS)]
        in_line = [job.workload_id for job in jobs if job.retry_at is None and job.workload_id]
        stopped = workloads.stop_waiting(in_line, code=code, now=now, **data)
        over = [job for job in jobs if job.retry_at is not None or job.workload_id in stopped]
        changes = {"reason_code": code, "reason_data": data, "moved_at": now, "ended_at": now, "retry_at": None}
        Job.objects.filter(pk__in=[job.pk for job in over]).update(state=JobState.CANCELED, **changes)
        sentence, about = reasons.written(code, data), {"reason": code, **data}
        events.record_many([events.News(job.subject_id, "job.canceled", sentence, about) for job in over], at=now, by_name=name)
        workloads.mark_all_followed(stopped)
        subjects = [((job.kind, job.key, job.title), job.project_id, job.team_id) for job in over]
        audit.record_many("job.cancel", by=by, subjects=subjects, force=False)
    return {job.pk for job in over}
