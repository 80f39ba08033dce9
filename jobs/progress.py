"""How far a running job is: what its program said by `::progress`, and when it will be through if it goes on like that."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from agent.protocol import PROGRESS_STEP, PROGRESS_TOTAL
from jobs.models import Job
from monitoring import metrics
from monitoring.models import MetricSeries

RECENT_POINTS = 20  # the time left goes by the speed of these: compiling at the start says nothing of it


@dataclass(frozen=True)
class Progress:
    """Of the present attempt's first rank. `total` None: the program did not say."""

    step: int
    total: int | None
    left_s: int | None = None

    @property
    def percent(self) -> int | None:
        """Whole, and 100 only at the end."""
        if not self.total:
            return None
        return max(0, min(100, self.step * 100 // self.total))


def of_jobs(jobs: Iterable[Job]) -> dict[int, Progress]:
    """Job number -> progress, for those that have said any; one query. Without the time left."""
    started = [job for job in jobs if job.started_at]
    by_workload = {job.workload_id: job.pk for job in started if job.workload_id}
    subjects = [job.subject_id for job in started]  # with which the index begins
    rows = MetricSeries.objects.filter(subject__in=subjects, workload_id__in=by_workload.keys(), rank=0)
    rows = rows.filter(name__in=[PROGRESS_STEP, PROGRESS_TOTAL])
    found: dict[int, dict[str, MetricSeries]] = {}
    for row in rows:
        found.setdefault(by_workload[row.workload_id], {})[row.name] = row
    return {number: progress for number, series in found.items() if (progress := _of(series))}


def of_job(job: Job) -> Progress | None:
    """With the time left, while it runs."""
    if job.workload_id is None or job.subject is None:
        return None
    series = metrics.last_points(job.subject, job.workload_id, [PROGRESS_STEP, PROGRESS_TOTAL])
    progress = _of(series)
    if progress is None or progress.total is None or job.has_ended:
        return progress
    recent = metrics.tail(series[PROGRESS_STEP], RECENT_POINTS)[-RECENT_POINTS:]
    steps, ms = recent.steps[-1] - recent.steps[0], recent.walls[-1] - recent.walls[0]
    if steps <= 0 or ms <= 0:
        return progress
    return Progress(progress.step, progress.total, left_s=round(max(0, progress.total - progress.step) * ms / steps / 1000))


def _of(series: dict[str, MetricSeries]) -> Progress | None:
    step, total = series.get(PROGRESS_STEP), series.get(PROGRESS_TOTAL)
    if step is None or step.last_value is None:
        return None
    return Progress(int(step.last_value), int(total.last_value) if total and total.last_value else None)
