"""The log of one part on the host's disk: written by one process, read by another while it grows.

The writer is a module of its own, so that the supervisor loads no more than it needs; it also says the format.
"""

from __future__ import annotations

import os
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from agent.protocol import Gap
from agent.spool_writer import GAP, RECORD, SPOOL_FILE_BYTES, TIME, SpoolWriter, data_file, data_starts

__all__ = ["SPOOL_FILE_BYTES", "SpoolReader", "SpoolWriter"]

RECORDS_AT_ONCE = 256
TAKEN_BACK = (b"", 2**64, 0, 0, 0)  # a writer on a full disk cuts records off again whose data did not fit


class SpoolReader:
    """Reads a spool that may not exist yet, grows, and is cut at its front by `drop_before` alone."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self._folder = Path(folder)

    def start(self) -> int:
        """The lowest offset still kept."""
        return next(iter(data_starts(self._folder)), 0)

    def end(self) -> int:
        """Where the next byte will stand."""
        starts = data_starts(self._folder)
        return starts[-1] + self._file(starts[-1]).stat().st_size if starts else 0

    def read(self, offset: int, limit: int) -> bytes:
        """At most `limit` bytes from `offset` on; b"" at the end. Raises LookupError below `start`."""
        starts = data_starts(self._folder)
        first = bisect_right(starts, offset) - 1
        if first < 0 and starts:
            raise LookupError(f"offset {offset} was dropped: the spool starts at {starts[0]}")
        pieces: list[bytes] = []
        for start in starts[max(first, 0) :]:
            if limit <= 0 or offset < start:
                break
            with self._file(start).open("rb", buffering=0) as file:
                piece = os.pread(file.fileno(), limit, offset - start)
            pieces.append(piece)
            offset += len(piece)
            limit -= len(piece)
        return b"".join(pieces)

    def times(self, from_offset: int, to_offset: int) -> tuple[tuple[int, int], ...]:
        """(offset, wall ms) marks in [from, to), led by the time at which the byte at `from` came."""
        with _Index(self._folder / "index") as index:
            first = index.first_at(from_offset)
            marks = {}
            if (before := index.time_before(first)) is not None:
                marks[from_offset] = before
            for kind, offset, wall_ms, _, _ in index.records(first):
                if offset >= to_offset:
                    break
                if kind == TIME:
                    marks[offset] = wall_ms
        return tuple(marks.items()) if from_offset < to_offset else ()

    def gaps(self, after_offset: int, to_offset: int) -> tuple[Gap, ...]:
        """The gaps that stand at `after_offset` to `to_offset`, both included."""
        found = []
        with _Index(self._folder / "index") as index:
            for kind, offset, dropped_bytes, from_ms, to_ms in index.records(index.first_at(after_offset)):
                if offset > to_offset:
                    break
                if kind == GAP:
                    found.append(Gap(offset, dropped_bytes, from_ms, to_ms))
        return tuple(found)

    def drop_before(self, offset: int) -> None:
        """Delete the data files that end at or before `offset`; the last one stays, it says where the end is."""
        for start, following in pairwise(data_starts(self._folder)):
            if following <= offset:
                self._file(start).unlink(missing_ok=True)

    def _file(self, start: int) -> Path:
        return Path(data_file(self._folder, start))


class _Index:
    """The index file as a sequence that is read where it is asked: it can hold millions of records."""

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_RDONLY) if path.exists() else os.open(os.devnull, os.O_RDONLY)
        self._count = os.fstat(self._descriptor).st_size // RECORD.size

    def __enter__(self) -> _Index:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._descriptor)

    def first_at(self, offset: int) -> int:
        """Number of the first record at or after `offset`."""
        return bisect_left(range(self._count), offset, key=lambda number: self._record(number)[1])

    def time_before(self, number: int) -> int | None:
        """Wall ms of the last time mark before record `number`."""
        for earlier in range(number - 1, -1, -1):
            kind, _, wall_ms, _, _ = self._record(earlier)
            if kind == TIME:
                return wall_ms
        return None

    def records(self, number: int) -> Iterator[tuple[bytes, int, int, int, int]]:
        for first in range(number, self._count, RECORDS_AT_ONCE):
            wanted = min(RECORDS_AT_ONCE, self._count - first) * RECORD.size
            yield from RECORD.iter_unpack(os.pread(self._descriptor, wanted, first * RECORD.size))

    def _record(self, number: int) -> tuple[bytes, int, int, int, int]:
        record = os.pread(self._descriptor, RECORD.size, number * RECORD.size)
        return RECORD.unpack(record) if len(record) == RECORD.size else TAKEN_BACK
