"""What the API is asked of a subject's metrics, and its answers: the same shape for jobs and for hosts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from monitoring import metrics
from monitoring.models import Subject
from projects.errors import Invalid
from projects.queries import whole

MOST_BUCKETS = 2000


@dataclass(frozen=True)
class LinesQuery:
    """One metric as buckets: `by` step or wall, `start` and `end` on that axis, at most `buckets` a line."""

    name: str
    by: str
    start: int | None
    end: int | None
    buckets: int

    @classmethod
    def from_query(cls, query: Mapping[str, str]) -> LinesQuery:
        """Raises Invalid."""
        by = query.get("by", "step")
        if by not in ("step", "wall"):
            raise Invalid({"by": "step or wall is needed."})
        start, end = (whole(query, side, 0) if side in query else None for side in ("start", "end"))
        buckets = max(1, min(whole(query, "buckets", 500), MOST_BUCKETS))
        return cls(query.get("name", ""), by, start, end, buckets)


def all_series(subject: Subject, attempts: Mapping[UUID, int]) -> dict[str, Any]:
    """Every series with its last point. `attempts`: workload -> number of the attempt; a host has none."""
    return {
        "metrics": [metrics.as_json(row) | {"attempt": attempts.get(row.workload_id)} for row in metrics.names(subject)],
    }


def lines(subject: Subject, query: LinesQuery, attempts: Mapping[UUID, int]) -> dict[str, Any]:
    found = metrics.read(subject, query.name, by=query.by, start=query.start, end=query.end, buckets=query.buckets)
    return {
        "name": query.name,
        "by": query.by,
        "lines": [
            {
                "attempt": attempts.get(line.workload_id),
                "rank": line.rank,
                "buckets": [bucket.as_json() for bucket in line.buckets],
            }
            for line in found
        ],
    }
