"""The attempts of a job beside one another: why each was made, how long it took, where, how it ended, how far it came."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.utils.translation import gettext as _

from agent.protocol import PROGRESS_STEP
from clusters import hosts
from clusters.models import Rank
from clusters.states import Outcome
from jobs.models import Attempt, Job
from monitoring import metrics
from monitoring.models import MetricSeries


@dataclass(frozen=True)
class AttemptRow:
    """`why`: what made it, in words. `rank` is the one that its reason names, else the first; None: it was not placed.

    `first_step` and `last_step` are of its program's own progress; None: it said none.
    """

    attempt: Attempt
    why: str
    hosts: list[str]
    rank: Rank | None
    first_step: int | None
    last_step: int | None
    resumed: bool = False  # it went on where one before had come to

    @property
    def state(self) -> str:
        """For the glyph: that of a job, where the attempt has one."""
        outcome = self.attempt.workload.outcome
        return outcome if outcome in (Outcome.SUCCEEDED, Outcome.FAILED) else self.attempt.workload.state

    @property
    def log_link(self) -> str:
        """To the end of its log, as the fragment of the job's address (static/js/log_links.js)."""
        return f"#{self.attempt.number}.{self.rank.number}.output:end" if self.rank and self.attempt.workload.running_at else ""


def of_job(job: Job, tries: Sequence[Attempt]) -> list[AttemptRow]:
    """First to last, of attempts read with their workloads. Three queries."""
    workload_ids = [one.workload_id for one in tries]
    ranks: dict[UUID, list[Rank]] = {}
    for rank in Rank.objects.filter(workload__in=workload_ids).select_related("host").order_by("number"):
        ranks.setdefault(rank.workload_id, []).append(rank)
    rows = MetricSeries.objects.filter(subject=job.subject_id, workload_id__in=workload_ids, rank=0, name=PROGRESS_STEP)
    series = {row.workload_id: row for row in rows}
    first_steps = metrics.first_steps(list(series.values()))
    found: list[AttemptRow] = []
    for number, one in enumerate(tries):
        own = ranks.get(one.workload_id, [])
        first, last = _steps(series.get(one.workload_id), first_steps)
        began = found[0].first_step if found else None
        found.append(
            AttemptRow(
                attempt=one,
                why=_why(job, tries[number - 1] if number else None),
                hosts=[rank.host.name for rank in own],
                rank=next((rank for rank in own if rank.number == one.workload.reason_data.get("rank")), own[0] if own else None),
                first_step=first,
                last_step=last,
                resumed=first is not None and began is not None and first > began,
            )
        )
    return found


def _steps(row: MetricSeries | None, first_steps: Mapping[int, int]) -> tuple[int | None, int | None]:
    return (first_steps.get(row.pk), row.last_step) if row else (None, None)


def _why(job: Job, before: Attempt | None) -> str:
    if before is None:
        if job.relaunch_of_id:
            return _("relaunch of #%(number)s") % {"number": job.relaunch_of_id}
        return _("the launch")
    if before.workload.stop_code == hosts.DRAINED and not before.counted:
        return _("the host of the one before was drained")
    if not before.counted:
        return _("no host had taken the one before")
    return _("tried again: %(cause)s") % {"cause": before.get_retried_as_display()} if before.retried_as else _("tried again")
