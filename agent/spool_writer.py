"""The log of one part on the host's disk, as its one writer sees it (agent/spool.py reads it).

A spool is a folder of contiguous data files, each named by the offset of its first byte, and a file `index` of
40-byte records in the order of their offsets:
    T  offset, wall ms, monotonic ms, 0                   the bytes from `offset` on came at that time
    G  offset, dropped bytes, from wall ms, to wall ms    they would stand at `offset`, which does not count them
"""
# No pathlib, as the supervisor imports this: it would cost each rank 8 ms and 0.7 MB.
# ruff: noqa: PTH103, PTH116, PTH118, PTH208

from __future__ import annotations

import os
import struct
import time
from collections.abc import Callable

SPOOL_FILE_BYTES = 4 * 1024 * 1024
MARK_EVERY_MS = 50
RECORD = struct.Struct("<c7xQqqq")
TIME, GAP = b"T", b"G"


def now_ms() -> tuple[int, int]:
    """(Unix milliseconds, milliseconds of a clock that only goes forward)"""
    return time.time_ns() // 1_000_000, time.monotonic_ns() // 1_000_000


def data_file(folder: str | os.PathLike[str], start: int) -> str:
    return os.path.join(folder, f"{start:016d}.log")


def data_starts(folder: str | os.PathLike[str]) -> list[int]:
    """First offsets of the data files, in order; empty when there is no spool yet."""
    try:
        names = os.listdir(folder)
    except FileNotFoundError:
        return []
    return sorted(int(name[:-4]) for name in names if name.endswith(".log"))


class SpoolWriter:
    """Appends to a spool, and goes on where an earlier writer ended.

    What the disk does not take, or what would put more than `cap_bytes` of data on it, is dropped: the newest
    bytes, counted in one gap that lasts until writing works again. Raises OSError only when it is made.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        *,
        cap_bytes: int,
        clock: Callable[[], tuple[int, int]] = now_ms,
        file_bytes: int = SPOOL_FILE_BYTES,
    ) -> None:
        os.makedirs(folder, exist_ok=True)
        self._folder = os.fspath(folder)
        self._cap_bytes = cap_bytes
        self._clock = clock
        self._file_bytes = file_bytes
        starts = data_starts(folder)
        self._kept_from = starts[0] if starts else 0  # a reader may have dropped more since
        self._file_start = starts[-1] if starts else 0
        self._offset = self._file_start + (os.stat(data_file(folder, starts[-1])).st_size if starts else 0)
        self._data = -1  # opened by the first write
        self._index = _open_index(os.path.join(folder, "index"), self._offset)
        self._index_bytes = os.fstat(self._index).st_size
        self._marked_ms: int | None = None  # monotonic
        self._gap: tuple[int, int, int] | None = None  # dropped bytes, from ms, to ms; at the present offset

    @property
    def offset(self) -> int:
        """Where the next byte will stand."""
        return self._offset

    def write(self, data: bytes) -> None:
        wall_ms, monotonic_ms = self._clock()
        taken = self._take(data[: self._room(len(data))], wall_ms, monotonic_ms)
        if taken < len(data):
            dropped, from_ms, _ = self._gap or (0, wall_ms, 0)
            self._gap = (dropped + len(data) - taken, from_ms, wall_ms)

    def close(self) -> bool:
        """Note a last gap. False when the disk did not take even that: call again."""
        if not self._record_gap():
            return False
        self._gap = None
        for descriptor in (self._data, self._index):
            if descriptor >= 0:
                os.close(descriptor)
        self._data = self._index = -1
        return True

    def _room(self, wanted: int) -> int:
        if self._offset + wanted - self._kept_from > self._cap_bytes:
            self._kept_from = next(iter(data_starts(self._folder)), self._offset)
        return max(0, min(wanted, self._kept_from + self._cap_bytes - self._offset))

    def _take(self, data: bytes, wall_ms: int, monotonic_ms: int) -> int:
        """Records first, so that no reader sees bytes before the gap in front of them; bytes taken."""
        index_bytes = self._index_bytes
        if not data or not self._record_gap():
            return 0
        due = self._marked_ms is None or monotonic_ms - self._marked_ms >= MARK_EVERY_MS
        marked = due and self._record(TIME, wall_ms, monotonic_ms, 0)
        taken = self._append(data)
        if not taken:  # the gap goes on: a full disk can have room for records still
            self._cut_index(index_bytes)
            return 0
        self._gap = None
        if marked:
            self._marked_ms = monotonic_ms
        return taken

    def _append(self, data: bytes) -> int:
        taken, rest = 0, memoryview(data)
        try:
            while taken < len(data):
                if self._offset - self._file_start >= self._file_bytes or self._data < 0:
                    self._open_file()
                room = self._file_start + self._file_bytes - self._offset
                written = os.write(self._data, rest[taken : taken + room])
                taken += written
                self._offset += written
        except OSError:
            pass  # whatever ails the disk, the command goes on: the caller counts what is missing
        return taken

    def _open_file(self) -> None:
        full = self._offset - self._file_start >= self._file_bytes
        start = self._offset if full else self._file_start
        opened = os.open(data_file(self._folder, start), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        if self._data >= 0:
            os.close(self._data)
        self._data, self._file_start = opened, start

    def _record_gap(self) -> bool:
        """True when no gap is left to record. It stays `self._gap` until data follows it."""
        return self._gap is None or self._record(GAP, *self._gap)

    def _record(self, kind: bytes, first: int, second: int, third: int) -> bool:
        try:
            written = os.write(self._index, RECORD.pack(kind, self._offset, first, second, third))
        except OSError:
            return False
        if written < RECORD.size:
            self._cut_index(self._index_bytes)
            return False
        self._index_bytes += written
        return True

    def _cut_index(self, size_bytes: int) -> None:
        os.ftruncate(self._index, size_bytes)
        self._index_bytes = size_bytes


def _open_index(path: str, end: int) -> int:
    """Without what a crash left: half a record, and records of bytes that never reached the disk."""
    index = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
    size = os.fstat(index).st_size // RECORD.size * RECORD.size
    while size and RECORD.unpack(os.pread(index, RECORD.size, size - RECORD.size))[1] > end:
        size -= RECORD.size
    os.ftruncate(index, size)
    return index
