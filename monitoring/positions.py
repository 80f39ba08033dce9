"""How far one listener has got: what came live is kept while the store is read, and joined to it without loss or repeat.

Plain data, no database and no socket. Bounded: what does not fit is dropped, and read from the store later.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

MAX_EVENTS = 256  # kept of a subject


@dataclass
class ByteRoom:
    """Live log bytes that one socket may hold, over all its logs."""

    limit_bytes: int = 1024 * 1024
    used_bytes: int = 0

    def take(self, size: int) -> bool:
        if self.used_bytes + size > self.limit_bytes:
            return False
        self.used_bytes += size
        return True


@dataclass
class LogPosition:
    """One log for one listener: every byte below `offset` was sent, none above."""

    offset: int
    room: ByteRoom
    must_fill: bool = True  # the store may have bytes, gaps or an end that were not sent
    is_paused: bool = False  # too far behind: nothing more until the client says where it wants to go on
    due_at: float = 0.0  # monotonic; what comes earlier is gathered
    dropped_bytes: int | None = None  # of the log when its gaps were last looked up
    gaps_from: int = 0
    told_gaps: set[tuple[int, int]] = field(default_factory=set)
    final: int | None = None  # where the log ends, when it was last looked up: its last bytes may come after that is known
    told_final: int | None = None
    _start: int = 0
    _held: bytearray = field(default_factory=bytearray)

    def __post_init__(self) -> None:
        self.gaps_from = self.offset

    def hear(self, offset: int | None, data: bytes | None) -> None:
        """Take a live message: bytes at `offset`, or only the word that the store has something new."""
        if self.is_paused:
            return
        if offset is None or data is None:
            self.must_fill = True
            return
        end = self._start + len(self._held)
        if not self._held or offset > end:
            self.drop()
            self._start = end = offset
        new = data[end - offset :] if offset <= end else b""
        if self.room.take(len(new)):
            self._held += new
        else:
            self.drop()
            self.must_fill = True

    def take(self, limit: int) -> tuple[int, bytes] | None:
        """(offset, bytes) that came live and follow what was sent; counts them as sent."""
        self._forget(self.offset - self._start)
        if not self._held:
            return None
        if self._start > self.offset:
            self.must_fill = True
            return None
        offset, data = self.offset, bytes(self._held[:limit])
        self._forget(len(data))
        self.offset += len(data)
        return offset, data

    @property
    def has_more(self) -> bool:
        return self.must_fill or bool(self._held)

    def go_to(self, offset: int) -> None:
        """The client's own word: go on from here."""
        self.drop()
        self.offset = self.gaps_from = offset
        self.must_fill, self.is_paused, self.due_at = True, False, 0.0
        self.dropped_bytes, self.told_final = None, None
        self.told_gaps.clear()

    def pause(self) -> None:
        self.drop()
        self.must_fill, self.is_paused = False, True

    def drop(self) -> None:
        self._forget(len(self._held))

    def _forget(self, count: int) -> None:
        count = min(max(count, 0), len(self._held))
        del self._held[:count]
        self._start += count
        self.room.used_bytes -= count


@dataclass
class EventPosition:
    """The events of one subject for one listener: every one up to `seq` was sent, none after."""

    seq: int
    must_fill: bool = True
    _held: list[dict[str, Any]] = field(default_factory=list)

    def hear(self, event: dict[str, Any]) -> None:
        if self._held and event["seq"] <= self._held[-1]["seq"]:
            return
        if len(self._held) >= MAX_EVENTS or (self._held and event["seq"] != self._held[-1]["seq"] + 1):
            self._held.clear()
            self.must_fill = True
        self._held.append(event)

    def take(self) -> list[dict[str, Any]]:
        """Events that came live and follow what was sent; counts them as sent."""
        held, self._held = [event for event in self._held if event["seq"] > self.seq], []
        if not held:
            return []
        if held[0]["seq"] != self.seq + 1:
            self._held, self.must_fill = held, True
            return []
        self.seq = held[-1]["seq"]
        return held
