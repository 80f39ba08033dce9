"""Pieces and segments of a log as one sequence of stretches, whatever the sealer does meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from django.db.models import Max, OuterRef, Subquery
from django.db.models.functions import Coalesce
from django.utils.translation import gettext as _

from monitoring import objects
from monitoring.models import Log, LogPiece, LogSegment
from projects.errors import Gone

Mark = tuple[int, int]  # (offset in the log, host's Unix ms)


@dataclass(frozen=True)
class Stretch:
    """Stored bytes of a log without a hole. `load` fetches them; `line_count` counts their line ends."""

    offset: int
    size_bytes: int
    line_count: int
    times: list[Mark]
    load: Callable[[], bytes]
    first_line: int | None = None  # known of segments only

    @property
    def end(self) -> int:
        return self.offset + self.size_bytes


def covering(log: Log, start: int, end: int, *, without_times: bool = False) -> list[Stretch]:
    """What is stored of [start, end), in order and without a hole; the first may begin before `start`, the last end after `end`.

    Each statement sees a moment of its own, so their order decides: the head, then pieces with their bytes, then segments.
    What is below the head was a piece or in a segment by then, and goes one way only: what is sealed between two of the
    reads shows in both, and never in neither. The segment wins. Raises Gone("log-hole") for what is in neither.
    Of what is only read the times are better left in the database: they may be half of what comes from there.
    """
    head = head_of(log)
    left = ("times",) if without_times else ()
    pieces = [piece_stretch(row) for row in _overlapping(LogPiece.objects.filter(log=log).defer(*left), start, end)]
    segments = [segment_stretch(row) for row in _overlapping(LogSegment.objects.filter(log=log).defer(*left), start, end)]
    joined = _joined(segments, pieces, start)
    check_reaches(log, joined[-1].end if joined else start, min(head, end))
    return joined


def head_of(log: Log) -> int:
    """How many bytes are stored by now; read before the rows that hold them. Raises Gone when the log was deleted."""
    head = Log.objects.filter(pk=log.pk).values_list("head_offset", flat=True).first()
    if head is None:
        raise Gone("log-deleted", _("This log was deleted."), log=str(log))
    return head


def check_reaches(log: Log, reached: int, wanted: int) -> None:
    """Rows that were read after the head, and end below it: the store has lost some. Never taken for the log's end."""
    if reached < wanted:
        raise Gone(
            "log-hole", _("This log has a hole: what follows byte %(offset)d is lost.") % {"offset": reached}, log=str(log)
        )


def piece_stretch(row: LogPiece) -> Stretch:
    data = bytes(row.data)  # PostgreSQL gives a memoryview
    return Stretch(row.offset, row.size_bytes, row.line_count, _times(row), lambda: data)


def segment_stretch(row: LogSegment) -> Stretch:
    return Stretch(
        row.offset, row.size_bytes, row.line_count, _times(row), lambda: objects.load(row.name, row.size_bytes), row.first_line
    )


def _times(row: LogPiece | LogSegment) -> list[Mark]:
    return [] if "times" in row.get_deferred_fields() else [(offset, ms) for offset, ms in row.times]


def _overlapping(rows, start: int, end: int):
    """Rows of one log from the one that holds `start` to the one before `end`; one statement, by the index on (log, offset)."""
    upto_start = rows.model.objects.filter(log=OuterRef("log"), offset__lte=start).order_by().values("log")
    first = Coalesce(Subquery(upto_start.annotate(last=Max("offset")).values("last")), 0)
    return rows.filter(offset__gte=first, offset__lt=end).order_by("offset")


def _joined(segments: list[Stretch], pieces: list[Stretch], start: int) -> list[Stretch]:
    joined: list[Stretch] = []
    for stretch in segments + pieces:
        position = joined[-1].end if joined else start
        if stretch.end <= position:
            continue
        if stretch.offset != position and (joined or stretch.offset > position):
            break
        joined.append(stretch)
    return joined
