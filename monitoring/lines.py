"""Places in a log: which offset has this line, this time, the last lines. Lines are numbered from 0 and end with \\n."""

from __future__ import annotations

from django.db.models import Q, Subquery

from monitoring import logs, stretches
from monitoring.models import Log, LogPiece, LogSegment
from monitoring.stretches import Stretch

MAX_TAIL_LINES = 5_000
MAX_TAIL_BYTES = 8 * 1024 * 1024


def tail_offset(log: Log, lines: int) -> int:
    """Where the last `lines` lines begin, as far as 8 MiB reach back from the head (then in the middle of a line)."""
    wanted = min(lines, MAX_TAIL_LINES)
    head = stretches.head_of(log)
    floor = max(head - MAX_TAIL_BYTES, 0)
    found = stretches.covering(log, floor, head)
    if not found or wanted <= 0:
        return head
    if found[-1].load().endswith(b"\n"):
        wanted += 1  # the line end at the very end begins no line
    for stretch in reversed(found):
        if stretch.line_count >= wanted:
            return max(stretch.offset + _after_line_end(stretch, stretch.line_count - wanted + 1), floor)
        wanted -= stretch.line_count
    return floor


def offset_of_line(log: Log, number: int) -> int:
    """Where line `number` begins; the head when the log has fewer lines."""
    if number <= 0:
        return 0
    end = 0
    for stretch, first_line in _around(log, Q(first_line__lt=number)):
        if number <= first_line + stretch.line_count:
            return stretch.offset + _after_line_end(stretch, number - first_line)
        end = stretch.end
    return end


def line_at(log: Log, offset: int) -> int:
    """Number of the line that the byte at `offset` belongs to; beyond the head, of the next byte to come."""
    line = 0
    for stretch, first_line in _around(log, Q(offset__lte=offset)):
        if stretch.offset > offset:
            break
        inside = stretch.line_count if stretch.end <= offset else stretch.load().count(b"\n", 0, offset - stretch.offset)
        line = first_line + inside
    return line


def line_count(log: Log) -> int:
    """Lines, the last one even without its line end."""
    line, last = 0, None
    for last, first_line in _around(log, Q()):
        line = first_line + last.line_count
    return line if last is None or last.load().endswith(b"\n") else line + 1


def offset_at_time(log: Log, ms: int) -> int:
    """Where the log stood at the host's Unix ms: the last mark at or before it, 0 when there is none."""
    place = 0
    for stretch, _first_line in _around(log, Q(first_ms__lte=ms)):
        place = max([place, *(offset for offset, at in stretch.times if at <= ms)])
    return place


def _around(log: Log, segments: Q) -> list[tuple[Stretch, int]]:
    """The last of these segments, the last of all, and all pieces, in order, each with the number of its first line.

    Read in the order that stretches.covering explains, and the segments in one statement: what is sealed between the reads
    is left out as a piece, and a segment that came in between could hide others. Raises Gone for a hole.
    """
    head = stretches.head_of(log)
    pieces = [_piece(log, row) for row in LogPiece.objects.filter(log=log).defer("data").order_by("offset")]
    rows = LogSegment.objects.filter(log=log)
    # By line and then by offset: the same order, and each has its index.
    last = rows.order_by("-offset").values("offset")[:1]
    wanted = rows.filter(segments).order_by("-first_line", "-offset").values("offset")[:1]
    chosen = rows.filter(Q(offset=Subquery(last)) | Q(offset=Subquery(wanted))).order_by("offset")
    found = [(stretches.segment_stretch(row), row.first_line) for row in chosen]
    position, line = (found[-1][0].end, found[-1][1] + found[-1][0].line_count) if found else (0, 0)
    for piece in pieces:
        if piece.offset == position:
            found.append((piece, line))
            position, line = piece.end, line + piece.line_count
    stretches.check_reaches(log, position, head)
    return found


def _piece(log: Log, row: LogPiece) -> Stretch:
    """Its bytes are fetched when asked for, from wherever they stand by then."""
    return Stretch(
        row.offset,
        row.size_bytes,
        row.line_count,
        [(o, ms) for o, ms in row.times],
        lambda: logs.read(log, row.offset, row.size_bytes),
    )


def _after_line_end(stretch: Stretch, count: int) -> int:
    """Place in the stretch after its `count`-th line end."""
    data, place = stretch.load(), 0
    for _ in range(count):
        place = data.index(b"\n", place) + 1
    return place
