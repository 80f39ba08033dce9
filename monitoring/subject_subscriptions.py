"""A subscription of one subject: its events, logs, metrics and changes, each from the client's position on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from monitoring import events, logs, metrics
from monitoring.log_following import LogFollowing, key_of, tail_offset
from monitoring.messages import MAX_LOGS, LogKey, Subscribe
from monitoring.models import Subject
from monitoring.positions import EventPosition
from monitoring.subscriptions import Socket, Subscription, in_thread

NAMES_A_MESSAGE = 500


class SubjectSubscription(Subscription):
    """Events and logs of one subject, each from the client's position on."""

    def __init__(self, socket: Socket, subject: Subject, wanted: Subscribe) -> None:
        super().__init__(socket, subject.address)
        self._subject = subject
        self._wanted = wanted
        self._events = EventPosition(wanted.events_from or 0)
        self._logs = LogFollowing(socket, subject, wanted.logs)
        self._must_look = False
        self._metric_names: set[str] = set()  # that have news
        self._metric_heads: dict[str, int] = {}  # at the last look
        self._changes = self._told_changes = wanted.changes or 0

    async def open(self) -> dict[str, Any]:
        opening = await in_thread(_open)(self._subject, self._wanted)
        if self._wanted.events_from is None:
            self._events.seq = opening.seq
        for key, offset in opening.offsets.items():
            self._logs.add(key, offset)
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
            is_known = self._logs.hear(message)
            self._must_look |= not is_known and not self._logs.are_named  # a log that is new
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
        self._logs.go_to(key, offset)
        self._work.set()

    async def send_due(self) -> float | None:
        if self._must_look:
            self._must_look = False
            await self._look()
        async with self._socket.turn:
            await self._send_events()
            await self._send_metrics()
            await self._send_changes()
        return await self._logs.send_due()

    async def _look(self) -> None:
        seq, changes, heads = await in_thread(_heads)(self._subject)
        self._changes = max(self._changes, changes)
        self._events.must_fill |= seq > self._events.seq
        self._logs.compare(heads)
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


@dataclass(frozen=True)
class Opening:
    seq: int
    changes: int
    heads: list[logs.Head]
    offsets: dict[LogKey, int]  # where the logs begin that the client did not name


def _open(subject: Subject, wanted: Subscribe) -> Opening:
    seq, changes, heads = _heads(subject)
    followed = heads[-MAX_LOGS:] if wanted.logs is None else []
    tails = wanted.log_from == "tail"
    offsets = {key_of(head): tail_offset(subject, head) if tails else 0 for head in followed}
    return Opening(seq, changes, heads, offsets)


def _heads(subject: Subject) -> tuple[int, int, list[logs.Head]]:
    seq, changes = Subject.objects.values_list("seq", "changes").get(pk=subject.pk)
    return seq, changes, logs.heads(subject)


def _head_json(head: logs.Head) -> dict[str, Any]:
    workload, rank, part = key_of(head)
    return {"workload": workload, "rank": rank, "part": part, "head": head.head_offset, "final": head.final_offset}
