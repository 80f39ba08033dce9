"""The one reader of live streams in a process: hands each message to those who follow its address."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import time
import uuid
from dataclasses import dataclass, field
from typing import Any, Protocol
from weakref import WeakKeyDictionary

import redis

from monitoring import streams

logger = logging.getLogger(__name__)

BLOCK_S = 5.0  # one XREAD at most; then watched keys are renewed
ANSWER_S = 3.0  # a Redis that answers nothing for so long is given up and connected to anew
RENEW_S = 10.0
READY_S = 1.0  # who begins to follow waits so long for the stream's position, then goes on without (and is resynced)
AWAY = (TimeoutError, OSError, redis.exceptions.RedisError)
BACKOFF_S = (0.1, 0.5, 1, 2, 5)
GATHER_S_A_STREAM = 0.00004  # pause after a read, so that many streams are not read message by message
GATHER_MAX_S = 0.04
AT_ONCE = 20  # followers told before others have a turn: some 3 ms of the event loop, with what they send
WAKING = 8  # words to the own control stream under way at once: each takes a connection


class Follower(Protocol):
    def hear(self, address: str, message: dict[str, Any]) -> None:
        """Take a message, without waiting: {"t": "event" | "hint" | "log", ...} (announcements.py)."""

    def resync(self, address: str) -> None:
        """Messages may have been missed: fill from the store."""


@dataclass
class _Stream:
    last_id: bytes | None = None  # None: its position is to be found
    ready: asyncio.Event = field(default_factory=asyncio.Event)
    followers: dict[Follower, None] = field(default_factory=dict)  # in their order


class LiveReader:
    """One XREAD over all followed streams and a control stream that wakes it for new ones.

    A follower hears everything announced after `follow` has returned, or gets `resync`. Streams may be wiped, trimmed or
    gone with their server at any time: a reader that is back, or finds as many messages as a stream keeps, says `resync`.
    """

    def __init__(self) -> None:
        self._control = streams.live_key(f"control:{uuid.uuid4()}")
        self._control_id = b"0-0"
        self._streams: dict[str, _Stream] = {}
        self._task: asyncio.Task[None] | None = None
        self._redis = streams.async_reader()
        self._waking = asyncio.Semaphore(WAKING)
        self._renewed_at = 0.0
        self._is_away = False

    async def follow(self, address: str, follower: Follower) -> None:
        """From now on. Returns within READY_S even while Redis is away."""
        stream = self._streams.setdefault(address, _Stream())
        stream.followers[follower] = None
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._run(), name="live reader")
        if stream.ready.is_set() or self._is_away:
            return
        try:
            async with asyncio.timeout(READY_S):
                async with self._waking:
                    if not stream.ready.is_set():
                        await self._redis.xadd(self._control, {"add": address}, maxlen=1, approximate=False)
                await stream.ready.wait()
        except AWAY:
            logger.warning("follows without live stream address=%s", address)

    def leave(self, address: str, follower: Follower) -> None:
        stream = self._streams.get(address)
        if stream is None or follower not in stream.followers:
            return
        del stream.followers[follower]
        if not stream.followers:
            del self._streams[address]  # its watched key runs out by itself

    async def _run(self) -> None:
        """Until the event loop ends; without followers it waits on the control stream alone."""
        failures = 0
        while True:
            try:
                await self._step()
                failures = 0
                continue
            except AWAY as error:
                logger.warning("live streams away failures=%d error=%r", failures + 1, error)
            except Exception:  # whatever it is, it must not end the only reader
                logger.exception("live streams not read failures=%d", failures + 1)
            failures, self._is_away = failures + 1, True
            self._forget_positions()
            with contextlib.suppress(*AWAY):
                await self._redis.connection_pool.disconnect()
            await asyncio.sleep(BACKOFF_S[min(failures, len(BACKOFF_S)) - 1])

    async def _step(self) -> None:
        await self._prepare()
        self._is_away = False
        positions = {
            streams.live_key(address): stream.last_id for address, stream in self._streams.items() if stream.last_id is not None
        }
        positions[self._control] = self._control_id
        async with asyncio.timeout(BLOCK_S + ANSWER_S):
            found = await self._redis.xread(positions, block=int(BLOCK_S * 1000))  # type: ignore[arg-type]
        for key, entries in found or []:
            await self._deliver(key.decode(), entries)
        await asyncio.sleep(min(len(self._streams) * GATHER_S_A_STREAM, GATHER_MAX_S))

    async def _prepare(self) -> None:
        """Say that the streams are watched, and find the positions of new ones, in this order and before anyone fills."""
        new = [address for address, stream in self._streams.items() if stream.last_id is None]
        is_due = time.monotonic() - self._renewed_at >= RENEW_S
        if not new and not is_due:
            return
        pipeline = self._redis.pipeline(transaction=False)
        for address in self._streams if is_due else new:
            pipeline.set(streams.watched_key(address), 1, ex=streams.WATCHED_TTL_S)
        for address in new:
            pipeline.xrevrange(streams.live_key(address), count=1)
        pipeline.expire(self._control, streams.LIVE_TTL_S)
        async with asyncio.timeout(ANSWER_S):
            answers = await pipeline.execute()
        if is_due:
            self._renewed_at = time.monotonic()
        for address, newest in zip(new, answers[-1 - len(new) : -1], strict=True):
            self._begin(address, newest[0][0] if newest else b"0-0")

    def _begin(self, address: str, last_id: bytes) -> None:
        stream = self._streams.get(address)
        if stream is None:
            return  # left meanwhile
        stream.last_id = last_id
        stream.ready.set()
        for follower in list(stream.followers):
            follower.resync(address)

    async def _deliver(self, key: str, entries: list[tuple[bytes, dict[bytes, bytes]]]) -> None:
        """A few followers at a time: all woken at once would hold up every request until the last one has sent."""
        if key == self._control:
            self._control_id = entries[-1][0]
            return
        address = key.removeprefix(streams.live_key(""))
        stream = self._streams.get(address)
        if stream is None or stream.last_id is None or not entries:
            return  # left meanwhile; or followed anew, and its position is yet to be found
        stream.last_id = entries[-1][0]
        messages = [message for _id, fields in entries if (message := decode(fields)) is not None]
        for place, follower in enumerate(list(stream.followers), 1):
            if follower not in stream.followers:  # left while others were told
                continue
            if len(entries) >= streams.LIVE_LENGTH:  # a trimmed stream keeps at least so many: some may be gone
                follower.resync(address)
            for message in messages:
                follower.hear(address, message)
            if place % AT_ONCE == 0:
                await asyncio.sleep(0)

    def _forget_positions(self) -> None:
        self._renewed_at = 0.0
        self._control_id = b"0-0"
        for stream in self._streams.values():
            stream.last_id = None
            stream.ready.clear()


def decode(fields: dict[bytes, bytes]) -> dict[str, Any] | None:
    """A stream's entry as announcements.py wrote it; None for anything else."""
    try:
        kind = fields[b"t"].decode()
        if kind == "event":
            return {"t": kind, "event": json.loads(fields[b"e"])}
        if kind == "hint":
            return {"t": kind, "subject": fields[b"s"].decode(), "seq": int(fields[b"n"])}
        if kind == "metrics":
            return {"t": kind, "names": json.loads(fields[b"m"])}
        if kind == "changes":
            return {"t": kind, "count": int(fields[b"n"])}
        log = {"t": kind, "workload": fields[b"w"].decode(), "rank": int(fields[b"r"]), "part": fields[b"p"].decode()}
        if b"o" in fields:
            log |= {"offset": int(fields[b"o"]), "data": fields.get(b"d")}
        return log
    except (KeyError, ValueError):
        logger.warning("not an announcement fields=%s", list(fields))
        return None


_readers: WeakKeyDictionary[asyncio.AbstractEventLoop, LiveReader] = WeakKeyDictionary()


def reader() -> LiveReader:
    """The running event loop's, one in a web process."""
    loop = asyncio.get_running_loop()
    if loop not in _readers:
        _readers[loop] = LiveReader()
    return _readers[loop]
