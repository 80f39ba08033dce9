"""The orders of a list of jobs: each is made of parts that an index finds, and a cursor says in which of them a page ended."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import F, Q
from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiParameter

from jobs import durations
from jobs.models import Job
from jobs.states import JobState
from projects.errors import Invalid

ORDERS = ("number", "name", "state", "owner", "started", "ended", "run", "wait")  # by which a list is sorted
SORT = OpenApiParameter(
    "sort",
    str,
    enum=[sign + name for name in ORDERS for sign in ("", "-")],
    description="`-` puts the greatest first, or the last letter. `run` and `wait` are how long; those that still run, or wait,"
    " count as the longest. States come as they want to be looked at, those that wait first. Jobs that are equal come newest"
    " first, those that have no such moment last.",
    default="-number",
)
STATES = (
    JobState.QUEUED,
    JobState.STARTING,
    JobState.RUNNING,
    JobState.STOPPING,
    JobState.FAILED,
    JobState.CANCELED,
    JobState.SUCCEEDED,
)


@dataclass(frozen=True)
class Part:
    """Jobs that stand together in a list, sorted by `value` and then newest first; without a value by their numbers alone."""

    where: Q = Q()
    value: Any = None  # an expression
    is_down: bool = True

    def of(self, jobs: Any) -> Any:
        """Those of `jobs`, in order, with their `place_value`."""
        found = jobs.filter(self.where)
        if self.value is None:
            return found.order_by("-pk" if self.is_down else "pk")
        return found.annotate(place_value=self.value).order_by("-place_value" if self.is_down else "place_value", "-pk")

    def place(self, job: Any) -> list[Any]:
        """What a cursor after `job` holds, in JSON."""
        if self.value is None:
            return [job.pk]
        value = job.place_value
        return [{"moment": value.isoformat()} if isinstance(value, datetime) else value, job.pk]

    def after(self, place: Iterable[Any]) -> Q:
        """The jobs of the part behind that place."""
        *values, number = place
        if not values:
            return Q(pk__lt=number) if self.is_down else Q(pk__gt=number)
        value = datetime.fromisoformat(values[0]["moment"]) if isinstance(values[0], dict) else values[0]
        sign = "lt" if self.is_down else "gt"
        # The first condition is what an index begins at; one OR alone would be looked at row by row from the first page on.
        return Q(**{f"place_value__{sign}e": value}) & (Q(**{f"place_value__{sign}": value}) | Q(pk__lt=number))


@dataclass(frozen=True)
class Order:
    name: str = "number"
    is_down: bool = True

    @classmethod
    def read(cls, text: str) -> Order:
        """Of "-started". Raises Invalid."""
        name = text.removeprefix("-")
        if not text:
            return cls()
        if name not in ORDERS:
            raise Invalid({"sort": _("there is no such order; known are %(known)s") % {"known": ", ".join(ORDERS)}})
        return cls(name, text.startswith("-"))

    def __str__(self) -> str:
        return f"-{self.name}" if self.is_down else self.name

    @property
    def turned(self) -> Order:
        return Order(self.name, not self.is_down)

    @property
    def parts(self) -> list[Part]:
        """One after the other."""
        down = self.is_down
        if self.name == "state":
            return [Part(Q(state=state)) for state in (reversed(STATES) if down else STATES)]
        if self.name == "run":
            known = [Part(durations.HAS_RUN, durations.run_ms(), down), Part(durations.RUNS, F("started_at"), not down)]
            return [*(reversed(known) if down else known), Part(durations.NEVER_RAN)]
        if self.name == "wait":
            known = [Part(durations.HAS_WAITED, durations.wait_ms(), down), Part(durations.WAITS, is_down=not down)]
            return [*(reversed(known) if down else known)]
        column = {"owner": "created_by__username", "started": "started_at", "ended": "ended_at"}.get(self.name)
        if column is None:
            return [Part(value=None if self.name == "number" else F(self.name), is_down=down)]
        return [Part(Q(**{f"{column}__isnull": False}), F(column), down), Part(Q(**{f"{column}__isnull": True}))]


def page_of(jobs: Any, order: Order, place: tuple[Any, ...] | None, limit: int) -> tuple[list[Job], tuple[Any, ...] | None]:
    """At most `limit` jobs behind `place`, for display, and the place of the last where there are more."""
    first, *behind = place or (0,)
    found: list[tuple[int, Job]] = []
    for number, part in enumerate(order.parts):
        if number < first or len(found) > limit:
            continue
        some = part.of(jobs)
        if behind and number == first:
            some = some.filter(part.after(behind))
        # Found by their table alone: with the others joined to it, a planner may begin at one of those and sort all jobs.
        shown_of = some.values("pk")[: limit + 1 - len(found)]
        found += [(number, job) for job in part.of(Job.objects.filter(pk__in=shown_of).for_display())]
    shown = found[:limit]
    if len(found) <= limit:
        return [job for _number, job in shown], None
    number, last = shown[-1]
    return [job for _number, job in shown], (number, *order.parts[number].place(last))
