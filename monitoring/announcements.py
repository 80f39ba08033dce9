"""What a transaction has to tell those who listen right now, sent once it is committed.

Announcements may fail: who listens compares positions with the store each ten seconds, and loops look each second.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import cast

import redis
from django.db import transaction

from monitoring import streams
from monitoring.models import Event, Log, Subject, list_address

logger = logging.getLogger(__name__)

MAX_DATA_BYTES = 32 * 1024  # more is not sent live but read from the store: LIVE_LENGTH x this bounds a stream's memory

Entry = dict[str, str | bytes | int]


@dataclass(frozen=True)
class Announcement:
    """An entry for the live stream of `address`, or without one for the stream `wake`."""

    address: str | None
    entry: Entry | Callable[[], Entry]  # made only where somebody watches


def announce_event(subject: Subject, event: Event) -> None:
    tell(Announcement(subject.address, {"t": "event", "e": json.dumps(event.as_json())}))
    tell(Announcement(subject.list_address, {"t": "hint", "s": subject.address, "n": event.seq}))


def announce_events(events: Iterable[tuple[str, str, int | None, Callable[[], Event], int]]) -> None:
    """Of many subjects: (kind, key, project's id, how the event is made, its seq). Each to those who watch it, and one hint
    to each list that shows some of them.
    """
    found, lists = [], {}
    for kind, key, project, make, seq in events:
        address = f"{kind}:{key}"
        found.append(Announcement(address, partial(_event_entry, make)))
        lists[list_address(project)] = (address, seq)
    tell_all([*found, *(Announcement(name, {"t": "hint", "s": address, "n": seq}) for name, (address, seq) in lists.items())])


def _event_entry(make: Callable[[], Event]) -> Entry:
    return {"t": "event", "e": json.dumps(make().as_json())}


def announce_log(log: Log, offset: int, data: bytes) -> None:
    """Bytes that now stand in the store at `offset`; too many are announced without being sent."""
    entry: Entry = {"t": "log", "w": str(log.workload_id), "r": log.rank, "p": log.part, "o": offset}
    if len(data) <= MAX_DATA_BYTES:
        entry["d"] = data
    tell(Announcement(log.subject.address, entry))


def announce_change(log: Log) -> None:
    """Something beside bytes is new, a gap or the end: to be read from the store."""
    tell(Announcement(log.subject.address, {"t": "log", "w": str(log.workload_id), "r": log.rank, "p": log.part}))


def announce_metrics(subject: Subject, names: Sequence[str]) -> None:
    """These metrics have new points: to be read from the store, for the pixels that are shown."""
    if names:
        tell(Announcement(subject.address, {"t": "metrics", "m": json.dumps(names)}))


def announce_changes(subject: Subject) -> None:
    """What else is shown of the subject has changed: to be drawn again."""
    tell(Announcement(subject.address, {"t": "changes", "n": subject.changes}))


def wake(loop_name: str) -> None:
    """A word to a loop that it has something to do."""
    tell(Announcement(None, {"loop": loop_name}))


def tell(announcement: Announcement) -> None:
    """Send it with all others of the transaction when that is committed; at once outside of one.

    A first hook keeps what was said, and goes with the savepoint in which it was said. A second one, outside all
    savepoints, sends: only the last of them does, so that one transaction makes one pipeline.
    """
    tell_all([announcement])


def tell_all(announcements: Sequence[Announcement]) -> None:
    """The same for many at once."""
    connection = transaction.get_connection()
    if not connection.in_atomic_block:
        _send(list(announcements))
        return
    batch = _batch(connection)
    transaction.on_commit(partial(batch.committed.extend, announcements))
    connection.run_on_commit.append((set(), batch.plan(), True))  # (savepoints, hook, robust), as on_commit writes it


@dataclass
class _Batch:
    committed: list[Announcement] = field(default_factory=list)
    planned: int = 0

    def plan(self) -> Callable[[], None]:
        self.planned += 1
        return partial(self.send_if_last, self.planned)

    def send_if_last(self, number: int) -> None:
        if number == self.planned:
            announcements, self.committed = self.committed, []
            _send(announcements)


def _batch(connection) -> _Batch:
    """The connection's, and so the thread's. Rolled-back transactions leave nothing in it."""
    if not hasattr(connection, "monitoring_batch"):
        connection.monitoring_batch = _Batch()
    return connection.monitoring_batch


def _send(announcements: list[Announcement]) -> None:
    if not announcements:
        return
    try:
        _publish(announcements)
    except redis.exceptions.RedisError as error:
        logger.warning("not announced count=%d error=%r", len(announcements), error)


def _publish(announcements: list[Announcement]) -> None:
    """Two round trips at most: whom nobody watches is asked first and told nothing."""
    client = streams.client()
    addresses = sorted({a.address for a in announcements if a.address is not None})
    watched = set()
    if addresses:
        answers = cast("list[bytes | None]", client.mget([streams.watched_key(address) for address in addresses]))
        watched = {address for address, answer in zip(addresses, answers, strict=True) if answer is not None}
    loops = dict.fromkeys(str(_made(a)["loop"]) for a in announcements if a.address is None)
    if not watched and not loops:
        return
    pipeline = client.pipeline(transaction=False)
    for loop_name in loops:
        pipeline.xadd(streams.WAKE, {"loop": loop_name}, maxlen=1000, approximate=True)
    for a in announcements:
        if a.address in watched:
            pipeline.xadd(streams.live_key(str(a.address)), _made(a), maxlen=streams.LIVE_LENGTH, approximate=True)  # type: ignore[arg-type]
    for address in watched:
        pipeline.expire(streams.live_key(address), streams.LIVE_TTL_S)
    pipeline.execute()


def _made(announcement: Announcement) -> Entry:
    return announcement.entry() if callable(announcement.entry) else announcement.entry
