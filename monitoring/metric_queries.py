"""What the API is asked of a subject's metrics, and its answers: the same shape for jobs and for hosts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any
from uuid import UUID

from django.utils.translation import gettext as _

from monitoring import metric_charts, metrics
from monitoring.models import Subject
from projects.errors import Invalid
from projects.paging import MOST_A_PAGE, Cursor, limit_of
from projects.queries import whole

MOST_BUCKETS = 2000


AXES = ("step", "wall", "relative")


@dataclass(frozen=True)
class LinesQuery:
    """One metric as buckets: `by` one of AXES, `start` and `end` on that axis, at most `buckets` a line; of all ranks or one."""

    name: str
    by: str
    start: int | None
    end: int | None
    buckets: int
    is_log: bool = False
    rank: int | None = None

    @classmethod
    def from_query(cls, query: Mapping[str, str]) -> LinesQuery:
        """Raises Invalid."""
        by, spacing = query.get("by", "step"), query.get("spacing", "linear")
        if by not in AXES:
            raise Invalid({"by": _("known are %(known)s") % {"known": ", ".join(AXES)}})
        if spacing not in ("linear", "log"):
            raise Invalid({"spacing": _("known are %(known)s") % {"known": "linear, log"}})
        start, end = (whole(query, side, 0) if side in query else None for side in ("start", "end"))
        rank = whole(query, "rank", 0) if "rank" in query else None
        buckets = max(1, min(whole(query, "buckets", 500), MOST_BUCKETS))
        return cls(query.get("name", ""), by, start, end, buckets, is_log=spacing == "log", rank=rank)


@dataclass(frozen=True)
class Owner:
    """Whose metrics: a job with its attempts, or a host, which has none. Workload -> number, and Unix ms when it began to run."""

    subject: Subject
    attempts: Mapping[UUID, int] = field(default_factory=dict)
    origins: Mapping[UUID, int] = field(default_factory=dict)


def series(owner: Owner, query: Mapping[str, str]) -> dict[str, Any]:
    """A page of its series, each with its last point: q, whose words the names must have, limit, cursor. Raises Invalid."""
    q, limit = query.get("q", ""), limit_of(query, usual=MOST_A_PAGE)
    of = f"series {owner.subject.pk} {q}"
    cursor = Cursor.read(query.get("cursor", ""), query=of)
    rows = metrics.page(owner.subject, q, after=cursor.place if cursor else None, limit=limit + 1)  # type: ignore[arg-type]
    shown = rows[:limit]
    more = Cursor((shown[-1].name, str(shown[-1].workload_id), shown[-1].rank), of) if len(rows) > limit else None
    return {
        "metrics": [metrics.as_json(row) | {"attempt": owner.attempts.get(row.workload_id)} for row in shown],
        "next_cursor": str(more) if more else None,
    }


def charts(owner: Owner, query: Mapping[str, str]) -> dict[str, Any]:
    """A page of the charts that its names make, with all of its attempts that have measured something. Raises Invalid."""
    found = metric_charts.find(owner.subject, query)
    attempts = sorted(number for workload_id in found.workload_ids if (number := owner.attempts.get(workload_id)))
    return {
        "results": [asdict(chart) for chart in found.charts],
        "next_cursor": str(found.cursor) if found.cursor else None,
        "count": found.count,
        "attempts": attempts,
        "last_ms": found.last_ms,
    }


def lines(owner: Owner, query: LinesQuery) -> dict[str, Any]:
    found = metrics.read(
        owner.subject,
        query.name,
        by=query.by,
        start=query.start,
        end=query.end,
        buckets=query.buckets,
        origins=owner.origins,
        is_log=query.is_log,
        rank=query.rank,
    )
    return {
        "name": query.name,
        "by": query.by,
        "lines": [
            {
                "attempt": owner.attempts.get(line.workload_id),
                "rank": line.rank,
                "origin_ms": line.origin_ms,
                "buckets": [bucket.as_json() for bucket in line.buckets],
            }
            for line in found
        ],
    }
