"""Logs: bytes in by offset, bytes out by offset. Places in a log (lines, times, its tail) are lines.py's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from django.db import transaction

from agent.protocol import Gap
from monitoring import announcements, stretches
from monitoring.models import Log, LogGap, LogPiece, Subject

MAX_PIECE_BYTES = 1024 * 1024


@dataclass(frozen=True)
class Chunk:
    """Bytes as a host shipped them. `times` are (offset in the log, host's Unix ms) marks within them."""

    offset: int
    data: bytes
    times: Sequence[tuple[int, int]] = ()
    gaps: Sequence[Gap] = ()


@dataclass(frozen=True)
class Head:
    """How far a log is stored."""

    workload_id: UUID
    rank: int
    part: str
    head_offset: int
    final_offset: int | None
    dropped_bytes: int


def open_log(*, subject: Subject, workload_id: UUID | str, rank: int, part: str) -> Log:
    """The log of this part of this rank, made when it is new."""
    log, _is_new = Log.objects.select_related("subject").get_or_create(
        workload_id=workload_id, rank=rank, part=part, defaults={"subject": subject}
    )
    return log


def append(
    log: Log, *, offset: int, data: bytes, times: Sequence[tuple[int, int]] = (), gaps: Sequence[Gap] = (), now: datetime
) -> int:
    """Store bytes that stand at `offset`; returns the next offset wanted. See `append_many`."""
    return append_many(log, [Chunk(offset, data, times, gaps)], now=now)


def append_many(log: Log, chunks: Sequence[Chunk], *, now: datetime) -> int:
    """Store chunks of one log, in order, as one piece; returns the next offset wanted.

    Bytes that are stored already are cut off; a chunk beyond the head, and what follows it, is not taken: its sender goes
    back to the offset returned. Safe twice. Announced after commit.
    """
    with transaction.atomic():
        stored = Log.objects.select_for_update().get(pk=log.pk)
        taken = _Taken(stored.head_offset)
        for chunk in chunks:
            if not taken.take(chunk):
                break
        stored.dropped_bytes += _add_gaps(log, taken.gaps)
        _add_pieces(log, stored.head_offset, taken)
        if taken.data:
            stored.last_at = now
        if taken.data or taken.gaps:
            stored.head_offset = taken.end
            stored.save(update_fields=["head_offset", "dropped_bytes", "last_at"])
    return taken.end


def finish(log: Log, final_offset: int) -> None:
    """Note where the host says that the log ends; it is complete once the store has reached that."""
    with transaction.atomic():
        Log.objects.filter(pk=log.pk).update(final_offset=final_offset)
        announcements.announce_change(log)


def read(log: Log, offset: int, limit: int) -> bytes:
    """At most `limit` bytes from `offset` on; b"" at the head. Raises Gone when the store has lost them, or the whole log."""
    end = offset + limit
    parts = [_cut(stretch, offset, end) for stretch in stretches.covering(log, offset, end, without_times=True)]
    return b"".join(parts)


def iterate(log: Log, offset: int = 0, chunk: int = 256 * 1024) -> Iterator[bytes]:
    """All bytes from `offset` to the head, at most `chunk` at a time."""
    while data := read(log, offset, chunk):
        yield data
        offset += len(data)


def gaps(log: Log, start: int, end: int) -> list[LogGap]:
    """What the host dropped from offset `start` to `end`, both included."""
    return list(LogGap.objects.filter(log=log, offset__gte=start, offset__lte=end).order_by("offset", "from_ms"))


def marks(log: Log, start: int, end: int) -> list[tuple[int, int]]:
    """(offset, host's Unix ms) marks in [start, end)."""
    return [(o, ms) for stretch in stretches.covering(log, start, end) for o, ms in stretch.times if start <= o < end]


def heads(subject: Subject) -> list[Head]:
    """How far each log of the subject is stored."""
    fields = ("workload_id", "rank", "part", "head_offset", "final_offset", "dropped_bytes")
    return [Head(*row) for row in Log.objects.filter(subject=subject).order_by("pk").values_list(*fields)]


def find_log(subject: Subject, workload_id: UUID | str, rank: int, part: str) -> Log | None:
    """Of this subject only: whoever may see it may see the log."""
    return Log.objects.select_related("subject").filter(subject=subject, workload_id=workload_id, rank=rank, part=part).first()


@dataclass
class _Taken:
    """What is new in chunks that come in order, from the offset `end` on."""

    end: int
    data: bytearray = field(default_factory=bytearray)
    times: list[tuple[int, int]] = field(default_factory=list)
    gaps: list[Gap] = field(default_factory=list)

    def take(self, chunk: Chunk) -> bool:
        """False: it stands beyond the end."""
        if chunk.offset > self.end:
            return False
        new = chunk.data[self.end - chunk.offset :]
        if new:
            self.times += _cut_times(chunk.times, self.end, self.end + len(new))
            self.data += new
            self.end += len(new)
        self.gaps += chunk.gaps
        return True


def _cut_times(times: Sequence[tuple[int, int]], start: int, end: int) -> list[tuple[int, int]]:
    """Marks of [start, end); what was cut off before it leaves its last time to the first byte."""
    before = [ms for offset, ms in times if offset < start]
    within = [(offset, ms) for offset, ms in times if start <= offset < end]
    if before and (not within or within[0][0] > start):
        return [(start, before[-1]), *within]
    return within


def _add_gaps(log: Log, found: Sequence[Gap]) -> int:
    """Returns the dropped bytes of those that were not known. The log's row is locked, so nobody adds the same meanwhile."""
    if not found:
        return 0
    known = set(LogGap.objects.filter(log=log, offset__in={gap.offset for gap in found}).values_list("offset", "from_ms"))
    new = {(gap.offset, gap.from_ms): gap for gap in reversed(found) if (gap.offset, gap.from_ms) not in known}.values()
    if new:
        LogGap.objects.bulk_create([LogGap(log=log, **vars(gap)) for gap in new])
        announcements.announce_change(log)
    return sum(gap.dropped_bytes for gap in new)


def _add_pieces(log: Log, start: int, taken: _Taken) -> None:
    """One piece; more only where it would be over MAX_PIECE_BYTES."""
    for cut in range(0, len(taken.data), MAX_PIECE_BYTES):
        data = bytes(taken.data[cut : cut + MAX_PIECE_BYTES])
        offset = start + cut
        LogPiece.objects.create(
            log=log,
            offset=offset,
            data=data,
            size_bytes=len(data),
            line_count=data.count(b"\n"),
            times=_cut_times(taken.times, offset, offset + len(data)),
        )
        announcements.announce_log(log, offset, data)


def _cut(stretch: stretches.Stretch, start: int, end: int) -> bytes:
    data = stretch.load()
    if start <= stretch.offset and stretch.end <= end:
        return data
    return data[max(start - stretch.offset, 0) : end - stretch.offset]
