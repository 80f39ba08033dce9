"""Metrics: points in as they come, buckets out for the pixels that there are.

A series belongs to (subject, workload, rank, name): each attempt draws its own line. Its points are numbered as they
came; a series' `head` is how many there are, and a listener's position.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import OuterRef, Q, QuerySet, Subquery, Sum

from monitoring import announcements
from monitoring.buckets import Bucket, bucketed, xs_of
from monitoring.metric_chunks import CHUNK_POINTS, EMPTY, Columns, open_bytes, packed_bytes, read_open, read_packed
from monitoring.models import NO_WORKLOAD, MetricChunk, MetricSeries, Subject
from projects import texts

MAX_NAME = 200
MAX_SERIES = 10_000  # of a subject: more is no metric but a mistake, and is not taken
STEP_LIMIT = 2**62


@dataclass(frozen=True)
class Line:
    """One series for the pixels that were asked for."""

    workload_id: UUID
    rank: int
    buckets: list[Bucket]
    origin_ms: int | None = None  # of what is relative


def append(subject: Subject, series: Mapping[str, Columns], *, workload_id: UUID = NO_WORKLOAD, rank: int = 0) -> bool:
    """Store points of several names, each in the order in which they came. Announced after commit.

    Names that are too long or cannot be read, and those over MAX_SERIES of the subject, are left out. Returns whether there
    was room for the others.
    """
    with transaction.atomic():
        wanted = [name for name in series if name and len(name) <= MAX_NAME and texts.is_readable(name)]
        rows = _rows(subject, wanted, workload_id, rank)
        for row in rows:
            _add(row, series[row.name])
        announcements.announce_metrics(subject, [row.name for row in rows])
    return len(rows) == len(wanted)


def page(subject: Subject, q: str = "", *, after: tuple[str, str, int] | None = None, limit: int) -> list[MetricSeries]:
    """The first `limit` series of the subject with their last points, by name, workload and rank; with `q` those whose names
    have each word of it. `after`: those behind this (name, workload id, rank). It reads no further rows."""
    found = MetricSeries.objects.filter(subject=subject).order_by("name", "workload_id", "rank")
    if "\0" in q:  # PostgreSQL takes no such text
        return []
    for word in q.split():
        found = found.filter(name__icontains=word)
    if after:
        name, workload_id, rank = after
        same = Q(name=name, workload_id__gt=workload_id) | Q(name=name, workload_id=workload_id, rank__gt=rank)
        found = found.filter(Q(name__gt=name) | same, name__gte=name)  # the last says where the index begins
    return list(found[:limit])


def heads(subject: Subject) -> dict[str, int]:
    """Name -> how many points there are, over all attempts and ranks."""
    rows = MetricSeries.objects.filter(subject=subject).order_by("name").values_list("name")
    return dict(rows.annotate(Sum("head")))


def read(
    subject: Subject,
    name: str,
    *,
    by: str = "step",
    start: int | None = None,
    end: int | None = None,
    buckets: int = 500,
    origins: Mapping[UUID, int] | None = None,
    is_log: bool = False,
    rank: int | None = None,
) -> list[Line]:
    """The lines of one name, one for each attempt and rank (or of this `rank` alone), between `start` and `end` on the axis `by`:
    "step", "wall", or "relative" to its workload's origin (Unix ms), or to its first point where it has none."""
    lines = []
    rows = _series(subject, name)
    for row in rows if rank is None else rows.filter(rank=rank):
        origin = _origin(row, origins or {}) if by == "relative" else 0
        points = _points(row, by=by, start=_moved(start, origin), end=_moved(end, origin))
        if len(points):
            xs = xs_of(points, by=by, origin=origin)
            low, high = (min(xs) if start is None else start), (max(xs) if end is None else end)
            found = bucketed(points, by=by, start=low, end=high, buckets=buckets, origin=origin, is_log=is_log)
            lines.append(Line(row.workload_id, row.rank, found, origin if by == "relative" else None))
    return lines


def _series(subject: Subject, name: str) -> QuerySet[MetricSeries]:
    """Of one name; PostgreSQL takes none that holds a NUL."""
    found = MetricSeries.objects.filter(subject=subject, name=name).order_by("pk")
    return found.none() if "\0" in name else found


def _origin(row: MetricSeries, origins: Mapping[UUID, int]) -> int:
    if row.workload_id in origins:
        return origins[row.workload_id]
    first = MetricChunk.objects.filter(series=row).order_by("start").values_list("least_ms", flat=True).first()
    return first or 0


def _moved(x: int | None, origin: int) -> int | None:
    return None if x is None else x + origin


def last_points(subject: Subject, workload_id: UUID, names: list[str]) -> dict[str, MetricSeries]:
    """The series of these names of one attempt's first rank."""
    return {
        row.name: row for row in MetricSeries.objects.filter(subject=subject, workload_id=workload_id, rank=0, name__in=names)
    }


def last_values(rows: Sequence[MetricSeries]) -> dict[int, float]:
    """Series' id -> its last value, NaN and infinities as they were measured. One query where there are such, else none."""
    found = {row.pk: row.last_value for row in rows if row.last_value is not None}
    odd = [row.pk for row in rows if row.last_value is None and row.head]
    if odd:
        newest = MetricChunk.objects.filter(series=OuterRef("series")).order_by("-start").values("start")[:1]
        for chunk in MetricChunk.objects.filter(series__in=odd, start=Subquery(newest)):
            found[chunk.series_id] = _read(chunk).values[-1]
    return found


def points(subject: Subject, name: str) -> Iterator[tuple[MetricSeries, Columns]]:
    """Every point of a name, series by series, a chunk at a time: that may take long, and chunks be packed meanwhile."""
    for row in _series(subject, name):
        position = 0
        while chunk := MetricChunk.objects.filter(series=row, start__gte=position).order_by("start").first():
            yield row, _read(chunk)
            position = chunk.start + chunk.count


def first_steps(rows: Sequence[MetricSeries]) -> dict[int, int]:
    """Series' id -> the step of its first point. One query."""
    chunks = MetricChunk.objects.filter(series__in=rows, start=0)
    return {chunk.series_id: _read(chunk).steps[0] for chunk in chunks}


def all_points(row: MetricSeries) -> Columns:
    return _points(row, by="step", start=None, end=None)


def tail(row: MetricSeries, count: int) -> Columns:
    """At least `count` of its last points, where there are so many."""
    points = EMPTY
    for chunk in MetricChunk.objects.filter(series=row).order_by("-start"):
        points = _read(chunk).plus(points)
        if len(points) >= count:
            break
    return points


def _rows(subject: Subject, wanted: list[str], workload_id: UUID, rank: int) -> list[MetricSeries]:
    """The series' rows, locked in the order of their names, made where they are new."""
    mine = MetricSeries.objects.filter(subject=subject, workload_id=workload_id, rank=rank)
    known = set(mine.filter(name__in=wanted).values_list("name", flat=True))
    new = [name for name in wanted if name not in known]
    if new:
        room = max(0, MAX_SERIES - MetricSeries.objects.filter(subject=subject).count())
        made = [MetricSeries(subject=subject, name=name, workload_id=workload_id, rank=rank) for name in sorted(new)[:room]]
        MetricSeries.objects.bulk_create(made, ignore_conflicts=True)
    return list(mine.filter(name__in=wanted).select_for_update().order_by("name"))


def _add(row: MetricSeries, points: Columns) -> None:
    """To the open chunk while it has room; full ones are packed, and a large batch is packed directly."""
    if not len(points):
        return
    tail = MetricChunk.objects.filter(series=row, is_open=True).first()
    start = tail.start if tail else row.head
    grown = _read(tail).plus(points) if tail else points
    row.head += len(points)
    full = len(grown) // CHUNK_POINTS * CHUNK_POINTS
    packed = [_chunk(row, start + cut, grown[cut : cut + CHUNK_POINTS], is_open=False) for cut in range(0, full, CHUNK_POINTS)]
    rest = grown[full:]
    if tail and (packed or not len(rest)):
        tail.delete()
        tail = None
    if packed:
        MetricChunk.objects.bulk_create(packed)
    if len(rest):
        fresh = _chunk(row, start + full, rest, is_open=True)
        fresh.pk = tail.pk if tail else None
        fresh.save(force_update=tail is not None)
    row.last_step, row.last_ms, row.last_value = points.steps[-1], points.walls[-1], _storable(points.values[-1])
    row.save(update_fields=["head", "last_step", "last_ms", "last_value"])


def _chunk(row: MetricSeries, start: int, points: Columns, *, is_open: bool) -> MetricChunk:
    return MetricChunk(
        series=row,
        start=start,
        count=len(points),
        is_open=is_open,
        least_step=min(points.steps),
        greatest_step=max(points.steps),
        least_ms=min(points.walls),
        greatest_ms=max(points.walls),
        data=open_bytes(points) if is_open else packed_bytes(points),
    )


def _points(row: MetricSeries, *, by: str, start: int | None, end: int | None) -> Columns:
    field = "step" if by == "step" else "ms"
    chunks = MetricChunk.objects.filter(series=row)
    if start is not None:
        chunks = chunks.filter(**{f"greatest_{field}__gte": start})
    if end is not None:
        chunks = chunks.filter(**{f"least_{field}__lte": end})
    steps, walls, values = array("q"), array("q"), array("d")
    for chunk in chunks.order_by("start"):
        points = _read(chunk)
        steps.extend(points.steps)
        walls.extend(points.walls)
        values.extend(points.values)
    return Columns(steps, walls, values)


def _read(chunk: MetricChunk) -> Columns:
    data = bytes(chunk.data)
    return read_open(data) if chunk.is_open else read_packed(data)


def _storable(value: float) -> float | None:
    """NaN and infinities are no values to every database; the chunk has them."""
    return value if math.isfinite(value) else None


def as_json(row: MetricSeries) -> dict[str, Any]:
    return {
        "name": row.name,
        "workload": str(row.workload_id) if row.workload_id != NO_WORKLOAD else None,
        "rank": row.rank,
        "points": row.head,
        "last_step": row.last_step,
        "last_ms": row.last_ms,
        "last_value": row.last_value,
    }
