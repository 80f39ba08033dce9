"""Logs of one subject on their way to one client: what comes live, joined to what the store has, a frame at a time."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.db import DatabaseError

from monitoring import lines, logs
from monitoring.messages import MAX_LOGS, LogKey, log_fields, log_frame
from monitoring.models import LogGap, Subject
from monitoring.positions import LogPosition
from monitoring.subscriptions import RETRY_S, Socket, in_thread
from projects.errors import PanelError

FRAME_BYTES = 256 * 1024
FRAME_EVERY_S = 0.02  # of one log while it is hot; the first bytes after a quiet time go at once
BEHIND_BYTES = 8 * 1024 * 1024  # who is further behind is told so, and says where to go on
TAIL_LINES = 500

logger = logging.getLogger(__name__)


class LogFollowing:
    """Each log from its position on. `are_named`: the client has said which; else those that come later are followed, too.

    Who `gets_all` is brought everything, however far behind; else who is too far behind is told so.
    """

    def __init__(self, socket: Socket, subject: Subject, named: Mapping[LogKey, int] | None, *, gets_all: bool = False) -> None:
        self.are_named = named is not None
        self._most_behind = None if gets_all else BEHIND_BYTES
        self._socket = socket
        self._subject = subject
        self._positions = {key: LogPosition(offset, socket.room) for key, offset in (named or {}).items()}
        self._unsettled = set(self._positions)  # logs that have something to send, or to look up

    def hear(self, message: Mapping[str, Any]) -> bool:
        """Take a live message. False: of a log that is not followed."""
        key = (message["workload"], message["rank"], message["part"])
        if key not in self._positions:
            return False
        self._positions[key].hear(message.get("offset"), message.get("data"))
        self._unsettled.add(key)
        return True

    def compare(self, heads: Iterable[logs.Head]) -> None:
        """With what the store has: what differs is filled, what is new is followed from its start."""
        for head in heads:
            position = self._positions.get(key_of(head))
            if position is None and not self.are_named:
                self.add(key_of(head), 0)
            elif position is not None and not position.is_paused and _differs(position, head):
                position.must_fill = True
                self._unsettled.add(key_of(head))

    def go_to(self, key: LogKey, offset: int) -> None:
        """The client's own word from where on it wants a log."""
        if key in self._positions:
            self._positions[key].go_to(offset)
            self._unsettled.add(key)
        else:
            self.add(key, offset)

    def tell_gaps_from(self, key: LogKey, offset: int) -> None:
        """Those before the log's position, too: who comes again may have missed the last of them."""
        self._positions[key].gaps_from = offset

    def add(self, key: LogKey, offset: int) -> None:
        if len(self._positions) < MAX_LOGS:
            self._positions[key] = LogPosition(offset, self._socket.room)
            self._unsettled.add(key)

    async def send_due(self) -> float | None:
        """A frame of each log at most; returns in how many seconds there is more."""
        waits = [await self._send(key) for key in list(self._unsettled)]
        return min((wait_s for wait_s in waits if wait_s is not None), default=None)

    async def _send(self, key: LogKey) -> float | None:
        """One frame at most; returns in how many seconds the log has more, None when it is settled."""
        position = self._positions[key]
        wait_s = position.due_at - time.monotonic()
        if wait_s > 0:
            return wait_s
        async with self._socket.turn:
            await self._send_frame(key, position)
        if position.has_more:
            return max(position.due_at - time.monotonic(), 0)
        self._unsettled.discard(key)
        return None

    async def _send_frame(self, key: LogKey, position: LogPosition) -> None:
        """What came live and follows what was sent; else, when something is missing, what the store has."""
        if not position.must_fill and (taken := position.take(FRAME_BYTES)):
            position.due_at = time.monotonic() + FRAME_EVERY_S
            await self._socket.tell_bytes(log_frame(self._subject.address, key, *taken))
            await self._tell_end(key, position, position.final)
        if position.must_fill:
            await self._fill(key, position)

    async def _fill(self, key: LogKey, position: LogPosition) -> None:
        """One frame of what the store has after the position, with its gaps and its end.

        A word that comes live during the read may be of something newer than what is read: it is not forgotten.
        """
        position.must_fill = False
        start = position.offset
        try:
            found = await in_thread(_read)(
                self._subject, key, start, position.gaps_from, position.dropped_bytes, most_behind=self._most_behind
            )
        except PanelError as error:  # lost bytes: other logs go on
            position.pause()
            await self._tell(key, type="error", code=error.code)
            return
        except DatabaseError:
            raise  # it is no matter of this log
        except Exception:  # whatever a storage raises: other logs go on
            logger.exception("not read log=%s", "/".join(map(str, key)))
            position.must_fill, position.due_at = True, time.monotonic() + RETRY_S
            return
        if found is None:  # not there yet
            return
        if position.offset != start:  # the client went elsewhere meanwhile
            position.must_fill = True
            return
        if found.is_behind:
            position.pause()
            await self._tell(key, type="behind", head=found.head.head_offset)
            return
        position.offset = start + len(found.data)
        if position.offset < found.head.head_offset:
            position.must_fill = True
        else:
            position.due_at, position.dropped_bytes = time.monotonic() + FRAME_EVERY_S, found.head.dropped_bytes
        if found.data:
            await self._socket.tell_bytes(log_frame(self._subject.address, key, start, found.data))
        await self._tell_gaps(key, position, found.gaps)
        position.final = found.head.final_offset
        await self._tell_end(key, position, position.final)

    async def _tell_gaps(self, key: LogKey, position: LogPosition, gaps: list[LogGap]) -> None:
        position.gaps_from = position.offset
        for gap in gaps:
            if (gap.offset, gap.from_ms) not in position.told_gaps:
                position.told_gaps.add((gap.offset, gap.from_ms))
                await self._tell(
                    key, type="gap", offset=gap.offset, dropped_bytes=gap.dropped_bytes, from_ms=gap.from_ms, to_ms=gap.to_ms
                )
        position.told_gaps = {(offset, from_ms) for offset, from_ms in position.told_gaps if offset >= position.gaps_from}

    async def _tell_end(self, key: LogKey, position: LogPosition, final: int | None) -> None:
        if final is not None and position.offset >= final and position.told_final != final:
            position.told_final = final
            await self._tell(key, type="complete", final=final)

    async def _tell(self, key: LogKey, **fields: Any) -> None:
        await self._socket.tell({**log_fields(self._subject.address, key), **fields})


@dataclass(frozen=True)
class Found:
    head: logs.Head
    data: bytes
    gaps: list[LogGap]
    is_behind: bool = False


def _read(
    subject: Subject, key: LogKey, offset: int, gaps_from: int, dropped_bytes: int | None, *, most_behind: int | None
) -> Found | None:
    log = logs.find_log(subject, *key)
    if log is None:
        return None
    head = logs.Head(log.workload_id, log.rank, log.part, log.head_offset, log.final_offset, log.dropped_bytes)
    if most_behind is not None and head.head_offset - offset > most_behind:
        return Found(head, b"", [], is_behind=True)
    data = logs.read(log, offset, FRAME_BYTES)
    gaps = [] if dropped_bytes == head.dropped_bytes else logs.gaps(log, gaps_from, offset + len(data))
    return Found(head, data, gaps)


def tail_offset(subject: Subject, head: logs.Head) -> int:
    """Where the last lines of a log begin."""
    log = logs.find_log(subject, head.workload_id, head.rank, head.part)
    return lines.tail_offset(log, TAIL_LINES) if log else 0


def key_of(head: logs.Head) -> LogKey:
    return (str(head.workload_id), head.rank, head.part)


def _differs(position: LogPosition, head: logs.Head) -> bool:
    return (
        head.head_offset > position.offset
        or head.dropped_bytes != (position.dropped_bytes or 0)
        or head.final_offset != position.told_final
    )
