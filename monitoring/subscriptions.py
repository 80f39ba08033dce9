"""One subscription of one socket: follow live first, then fill from the store, then drop what is below the fill."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Protocol, TypeVar

from channels.db import database_sync_to_async
from django.db import DatabaseError
from django.utils import timezone

from monitoring import events, lines, logs, metrics
from monitoring.messages import MAX_LOGS, LogKey, Subscribe, log_fields, log_frame
from monitoring.models import LogGap, Subject
from monitoring.positions import EventPosition, LogPosition, Room
from projects.errors import PanelError

FRAME_BYTES = 256 * 1024
FRAME_EVERY_S = 0.02  # of one log while it is hot; the first bytes after a quiet time go at once
BEHIND_BYTES = 8 * 1024 * 1024  # who is further behind is told so, and says where to go on
TAIL_LINES = 500
MAX_HINTS = 1_000
NAMES_A_MESSAGE = 500
LOOK_BACK = timedelta(seconds=15)  # a page of a list was drawn at most so long before it listens
RETRY_S = 1.0
T = TypeVar("T")

logger = logging.getLogger(__name__)


class Disconnected(Exception):
    """The client is gone."""


class Socket(Protocol):
    """Where subscriptions send; `tell` and `tell_bytes` wait for a slow client, and raise Disconnected.

    Who reads something large from the store to send it holds `turn` for so long: of one socket, one thing at a time is in memory.
    """

    room: Room
    turn: asyncio.Lock

    async def tell(self, message: dict[str, Any]) -> None: ...

    async def tell_bytes(self, frame: bytes) -> None: ...


class Subscription:
    """What hints, events and logs have in common: hear without waiting, send in a task of its own at the client's pace."""

    def __init__(self, socket: Socket, address: str) -> None:
        self.address = address
        self._socket = socket
        self._work = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def open(self) -> dict[str, Any]:
        """Called once it follows live: take positions from the store; returns the answer to the client."""
        raise NotImplementedError

    async def send_due(self) -> float | None:
        """Send what is due; returns in how many seconds something else will be."""
        raise NotImplementedError

    def hear(self, address: str, message: dict[str, Any]) -> None:
        raise NotImplementedError

    def compare(self) -> None:
        """Compare positions with the store and fill: what was missed for whatever reason."""
        raise NotImplementedError

    def resync(self, address: str) -> None:
        self.compare()

    def start(self) -> None:
        self._work.set()
        self._task = asyncio.create_task(self._run(), name=f"subscription {self.address}")

    def stop(self) -> None:
        """Nothing is sent after this."""
        if self._task is not None:
            self._task.cancel()

    async def _run(self) -> None:
        wait_s: float | None = None
        while True:
            try:
                async with asyncio.timeout(wait_s):
                    await self._work.wait()
            except TimeoutError:
                pass
            self._work.clear()
            try:
                wait_s = await self.send_due()
            except Disconnected:
                return
            except Exception:  # the database is away, say: positions say what is missing
                logger.exception("not sent subject=%s", self.address)
                await asyncio.sleep(RETRY_S)
                self.compare()


class ListSubscription(Subscription):
    """Hints of which subjects of a list have changed, for pages that show many."""

    def __init__(self, socket: Socket, address: str) -> None:
        super().__init__(socket, address)
        self._hints: dict[str, int] = {}
        self._told: dict[str, int] = {}
        self._must_fill = False
        self._after_id = self._next_after_id = 0

    async def open(self) -> dict[str, Any]:
        self._after_id = self._next_after_id = await in_thread(events.newest_id)(timezone.now() - LOOK_BACK)
        self._must_fill = True
        return {"type": "subscribed", "subject": self.address}

    def hear(self, address: str, message: dict[str, Any]) -> None:
        if message["t"] != "hint":
            return
        self._hints[message["subject"]] = message["seq"]
        if len(self._hints) > MAX_HINTS:
            self._hints.clear()
            self._must_fill = True
        self._work.set()

    def compare(self) -> None:
        self._must_fill = True
        self._work.set()

    async def send_due(self) -> None:
        hints, self._hints = self._hints, {}
        if self._must_fill:
            self._must_fill = False
            hints |= await self._missed()
        for subject, seq in hints.items():
            if self._told.get(subject, 0) < seq:
                self._told[subject] = seq
                await self._socket.tell({"type": "hint", "subject": subject, "seq": seq, "via": self.address})

    async def _missed(self) -> dict[str, int]:
        """Looks back to the fill before the last one: an event may be committed after one of a greater id."""
        newest_id = await in_thread(events.newest_id)()
        news = await in_thread(events.news_of_list)(self.address, self._after_id)
        self._after_id, self._next_after_id = self._next_after_id, newest_id
        self._told = {subject: seq for subject, seq in self._told.items() if subject in news}
        return news


class SubjectSubscription(Subscription):
    """Events and logs of one subject, each from the client's position on."""

    def __init__(self, socket: Socket, subject: Subject, wanted: Subscribe) -> None:
        super().__init__(socket, subject.address)
        self._subject = subject
        self._wanted = wanted
        self._events = EventPosition(wanted.events_from or 0)
        self._logs = {key: LogPosition(offset, socket.room) for key, offset in (wanted.logs or {}).items()}
        self._unsettled = set(self._logs)  # logs that have something to send, or to look up
        self._must_look = False
        self._metric_names: set[str] = set()  # that have news
        self._metric_heads: dict[str, int] = {}  # at the last look
        self._changes = self._told_changes = wanted.changes or 0

    async def open(self) -> dict[str, Any]:
        opening = await in_thread(_open)(self._subject, self._wanted)
        if self._wanted.events_from is None:
            self._events.seq = opening.seq
        for key, offset in opening.offsets.items():
            self._add(key, offset)
        self._must_look |= self._wanted.metrics
        self._changes = max(self._changes, opening.changes)
        return {
            "type": "subscribed",
            "subject": self.address,
            "seq": opening.seq,
            "logs": [_head_json(head) for head in opening.heads],
        }

    def hear(self, address: str, message: dict[str, Any]) -> None:
        if message["t"] == "event":
            self._events.hear(message["event"])
        elif message["t"] == "log":
            key = (message["workload"], message["rank"], message["part"])
            if key in self._logs:
                self._logs[key].hear(message.get("offset"), message.get("data"))
                self._unsettled.add(key)
            elif self._wanted.logs is None:
                self._must_look = True  # a log that is new
        elif message["t"] == "metrics" and self._wanted.metrics:
            self._metric_names.update(message["names"])
        elif message["t"] == "changes":
            self._changes = max(self._changes, message["count"])
        self._work.set()

    def compare(self) -> None:
        self._must_look = True
        self._work.set()

    def go_to(self, key: LogKey, offset: int) -> None:
        """The client's own word from where on it wants a log."""
        if key in self._logs:
            self._logs[key].go_to(offset)
            self._unsettled.add(key)
        else:
            self._add(key, offset)
        self._work.set()

    async def send_due(self) -> float | None:
        if self._must_look:
            self._must_look = False
            await self._look()
        async with self._socket.turn:
            await self._send_events()
            await self._send_metrics()
            await self._send_changes()
        waits = [await self._send_log(key) for key in list(self._unsettled)]
        return min((wait_s for wait_s in waits if wait_s is not None), default=None)

    async def _look(self) -> None:
        seq, changes, heads = await in_thread(_heads)(self._subject)
        self._changes = max(self._changes, changes)
        self._events.must_fill |= seq > self._events.seq
        for head in heads:
            position = self._logs.get(_key(head))
            if position is None and self._wanted.logs is None:
                self._add(_key(head), 0)
            elif position is not None and not position.is_paused and _differs(position, head):
                position.must_fill = True
                self._unsettled.add(_key(head))
        if self._wanted.metrics:
            counts = await in_thread(metrics.heads)(self._subject)
            self._metric_names |= {name for name, count in counts.items() if self._metric_heads.get(name) != count}
            self._metric_heads = counts

    async def _send_metrics(self) -> None:
        """Which names have new points; the client reads those that it shows, for the pixels that it has."""
        names, self._metric_names = sorted(self._metric_names), set()
        for cut in range(0, len(names), NAMES_A_MESSAGE):
            await self._socket.tell({"type": "metrics", "subject": self.address, "names": names[cut : cut + NAMES_A_MESSAGE]})

    async def _send_changes(self) -> None:
        """That what is counted has changed; the client draws it again."""
        if self._wanted.changes is not None and self._changes > self._told_changes:
            self._told_changes = self._changes
            await self._socket.tell({"type": "changes", "subject": self.address, "count": self._changes})

    async def _send_events(self) -> None:
        while self._events.must_fill:
            self._events.must_fill = False
            for missed in await in_thread(events.since)(self._subject, self._events.seq, 200):
                await self._send_event(missed.as_json())
                self._events.seq, self._events.must_fill = missed.seq, True
        for event in self._events.take():
            await self._send_event(event)

    async def _send_event(self, event: dict[str, Any]) -> None:
        await self._socket.tell({"type": "event", "subject": self.address, **event})

    async def _send_log(self, key: LogKey) -> float | None:
        """One frame at most; returns in how many seconds the log has more, None when it is settled."""
        position = self._logs[key]
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
            await self._socket.tell_bytes(log_frame(self.address, key, *taken))
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
            found = await in_thread(_read)(self._subject, key, start, position.gaps_from, position.dropped_bytes)
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
            await self._socket.tell_bytes(log_frame(self.address, key, start, found.data))
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
        await self._socket.tell({**log_fields(self.address, key), **fields})

    def _add(self, key: LogKey, offset: int) -> None:
        if len(self._logs) < MAX_LOGS:
            self._logs[key] = LogPosition(offset, self._socket.room)
            self._unsettled.add(key)


@dataclass(frozen=True)
class Found:
    head: logs.Head
    data: bytes
    gaps: list[LogGap]
    is_behind: bool = False


def _read(subject: Subject, key: LogKey, offset: int, gaps_from: int, dropped_bytes: int | None) -> Found | None:
    log = logs.find_log(subject, *key)
    if log is None:
        return None
    head = logs.Head(log.workload_id, log.rank, log.part, log.head_offset, log.final_offset, log.dropped_bytes)
    if head.head_offset - offset > BEHIND_BYTES:
        return Found(head, b"", [], is_behind=True)
    data = logs.read(log, offset, FRAME_BYTES)
    gaps = [] if dropped_bytes == head.dropped_bytes else logs.gaps(log, gaps_from, offset + len(data))
    return Found(head, data, gaps)


@dataclass(frozen=True)
class Opening:
    seq: int
    changes: int
    heads: list[logs.Head]
    offsets: dict[LogKey, int]  # where the logs begin that the client did not name


def _open(subject: Subject, wanted: Subscribe) -> Opening:
    seq, changes, heads = _heads(subject)
    followed = heads[-MAX_LOGS:] if wanted.logs is None else []
    return Opening(
        seq, changes, heads, {_key(head): _tail(subject, head) if wanted.log_from == "tail" else 0 for head in followed}
    )


def _tail(subject: Subject, head: logs.Head) -> int:
    log = logs.find_log(subject, head.workload_id, head.rank, head.part)
    return lines.tail_offset(log, TAIL_LINES) if log else 0


def _heads(subject: Subject) -> tuple[int, int, list[logs.Head]]:
    seq, changes = Subject.objects.values_list("seq", "changes").get(pk=subject.pk)
    return seq, changes, logs.heads(subject)


def _key(head: logs.Head) -> LogKey:
    return (str(head.workload_id), head.rank, head.part)


def _head_json(head: logs.Head) -> dict[str, Any]:
    workload, rank, part = _key(head)
    return {"workload": workload, "rank": rank, "part": part, "head": head.head_offset, "final": head.final_offset}


def _differs(position: LogPosition, head: logs.Head) -> bool:
    return (
        head.head_offset > position.offset
        or head.dropped_bytes != (position.dropped_bytes or 0)
        or head.final_offset != position.told_final
    )


def in_thread(function: Callable[..., T]) -> Callable[..., Awaitable[T]]:
    """The database from a thread of the pool: one slow read holds up no other socket."""
    return database_sync_to_async(function, thread_sensitive=False)
