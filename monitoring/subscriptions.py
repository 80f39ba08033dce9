"""Subscriptions of one socket: follow live first, then fill from the store, then drop what is below the fill."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any, Protocol, TypeVar

from channels.db import database_sync_to_async
from django.utils import timezone

from monitoring import events
from monitoring.positions import ByteRoom

MAX_HINTS = 1_000
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

    room: ByteRoom
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


def in_thread(function: Callable[..., T]) -> Callable[..., Awaitable[T]]:
    """The database from a thread of the pool: one slow read holds up no other socket."""
    return database_sync_to_async(function, thread_sensitive=False)
