"""When a log's bytes were printed: marks of (offset, host's Unix ms), at most each 50 ms, and fewer in what is sealed."""

from __future__ import annotations

from itertools import chain

from django.db.models import QuerySet

from monitoring.models import Log, LogPiece, LogSegment
from monitoring.stretches import Mark

MOST_MARKS = 4_000  # of one answer


def marks_around(log: Log, start: int, end: int) -> list[Mark]:
    """Marks of [start, end), and the last one before, which says when the byte at `start` was there at the earliest.

    When there are more than MOST_MARKS, evenly thinned.
    """
    kinds: tuple[QuerySet, ...] = (LogPiece.objects.filter(log=log), LogSegment.objects.filter(log=log))  # in this order: sealing
    found = dict(chain.from_iterable(map(_marks, chain.from_iterable(_rows(rows, start, end) for rows in kinds))))
    before = max((offset for offset in found if offset <= start), default=start)
    marks = sorted((offset, ms) for offset, ms in found.items() if before <= offset < end)
    step = -(-len(marks) // MOST_MARKS) or 1
    return marks[::step]


def first_ms(log: Log) -> int | None:
    """When the log began."""
    segment = LogSegment.objects.filter(log=log).order_by("offset").values_list("times", flat=True).first()
    times = segment or LogPiece.objects.filter(log=log).order_by("offset").values_list("times", flat=True).first()
    return times[0][1] if times else None


def _rows(rows: QuerySet, start: int, end: int) -> list[list[list[int]]]:
    """Times of what overlaps [start, end), and of one row more: the row that holds `start` may have no mark before it."""
    before = list(rows.filter(offset__lte=start).order_by("-offset").values_list("offset", flat=True)[:2])
    first = before[-1] if before else 0
    return list(rows.filter(offset__gte=first, offset__lt=end).order_by("offset").values_list("times", flat=True))


def _marks(times: list[list[int]]) -> list[Mark]:
    return [(offset, ms) for offset, ms in times]
