"""What charts mark on their x-axis: where attempts began to run, and the checkpoints that are there."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar
from uuid import UUID

from django.db.models import TextChoices
from django.utils.translation import gettext_lazy as _
from rest_framework import serializers

from agent.protocol import AREA_CHECKPOINTS, PROGRESS_STEP
from jobs import files
from jobs.models import Attempt, Job
from monitoring import metrics
from monitoring.metric_chunks import Columns
from monitoring.models import MetricSeries
from projects import shapes

MOST_CHECKPOINTS = 200  # the newest
MOST_FILES = 2_000  # looked at for them


class Kind(TextChoices):
    ATTEMPT = "attempt", _("attempt")
    CHECKPOINT = "checkpoint", _("checkpoint")


@dataclass(frozen=True)
class Mark:
    """`step`: that of the last point before; None: there is none. `name` is a checkpoint's."""

    kind: Kind
    attempt: int
    at: datetime
    step: int | None
    name: str = ""


class MarkAnswer(shapes.Answer):
    example: ClassVar = {"kind": "checkpoint", "attempt": 1, "at": "2026-03-01T12:00:20Z", "step": 500, "name": "step-500"}
    kind = serializers.ChoiceField(Kind.choices)
    attempt = serializers.IntegerField()
    at = serializers.DateTimeField()
    step = serializers.IntegerField(allow_null=True, help_text="At which its attempt was then; of an attempt its first one.")
    name = serializers.CharField(help_text="Of a checkpoint: its file, or the folder that holds it.")


def of_job(job: Job) -> list[Mark]:
    """In the order of time."""
    tries = list(job.attempts.select_related("workload"))
    clocks = {one.workload_id: _Clock.of(job, one) for one in tries}
    found = [
        Mark(Kind.ATTEMPT, one.number, one.workload.running_at, clocks[one.workload_id].first_step)
        for one in tries
        if one.workload.running_at
    ]
    return sorted([*found, *_checkpoints(job, tries, clocks)], key=lambda mark: mark.at)


@dataclass(frozen=True)
class _Clock:
    """Which step an attempt was at, and when: by its program's progress, else by what it measured most."""

    points: Columns

    @classmethod
    def of(cls, job: Job, attempt: Attempt) -> _Clock:
        rows = MetricSeries.objects.filter(subject=job.subject, workload_id=attempt.workload_id, rank=0)
        row = rows.filter(name=PROGRESS_STEP).first()
        row = row or rows.exclude(name__startswith="system.").order_by("-head", "name").first()
        return cls(metrics.all_points(row) if row else Columns((), (), ()))

    @property
    def first_step(self) -> int | None:
        return self.points.steps[0] if len(self.points) else None

    def step_at(self, at: datetime) -> int | None:
        place = bisect_right(self.points.walls, at.timestamp() * 1000)
        return self.points.steps[place - 1] if place else None


def _checkpoints(job: Job, tries: Sequence[Attempt], clocks: dict[UUID, _Clock]) -> list[Mark]:
    """One for each file or folder that stands right in the folder for checkpoints, at the moment of its newest file.

    Checkpoints are the job's, and each attempt's host tells of all of them: the attempt that ran at that moment wrote it.
    """
    newest: dict[str, datetime] = {}
    rows = files.of_job(job).filter(area=AREA_CHECKPOINTS).order_by("-modified_at")[:MOST_FILES]
    for path, modified_at in rows.values_list("path", "modified_at"):
        newest.setdefault(path.partition("/")[0], modified_at)
    found = []
    for name, at in list(newest.items())[:MOST_CHECKPOINTS]:
        began = [one for one in tries if one.workload.running_at and one.workload.running_at <= at]
        if began:
            found.append(Mark(Kind.CHECKPOINT, began[-1].number, at, clocks[began[-1].workload_id].step_at(at), name))
    return found
