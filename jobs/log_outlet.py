"""Where the events of a log stream go: one at a time, at the pace of its reader."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.utils.translation import override

from monitoring import server_sent
from monitoring.messages import LogKey, read_log_frame
from monitoring.models import Subject
from monitoring.positions import ByteRoom

KEEP_ALIVE_S = 15.0
GIVE_UP_S = 60.0  # a reader that takes nothing for so long is let go; when it does, it comes again


@dataclass(frozen=True)
class Wanted:
    """Which log, from where on. `is_resumed`: the reader was here before."""

    job_id: int
    subject: Subject
    attempt: int
    workload_id: UUID
    rank: int
    part: str
    offset: int
    is_resumed: bool
    language: str  # of the sentences

    @property
    def key(self) -> LogKey:
        return str(self.workload_id), self.rank, self.part


class Outlet:
    """The `Socket` of a log stream: who tells it something waits until a slow reader has taken what was before."""

    def __init__(self, wanted: Wanted) -> None:
        self.wanted = wanted
        self.room = ByteRoom()
        self.turn = asyncio.Lock()
        self._characters = server_sent.Characters()
        self._offset = wanted.offset  # after the last byte that was handed on
        self._queue: asyncio.Queue[tuple[bytes, bool]] = asyncio.Queue(maxsize=1)  # (event, whether it is the last)
        self._has_ended = False
        self._is_asked = False
        self._taken_at = time.monotonic()

    def opening(self) -> bytes:
        more = {"workload": str(self.wanted.workload_id), "part": self.wanted.part, "offset": self.wanted.offset}
        return server_sent.RETRY + self._event("attempt", more)

    async def next(self) -> bytes | None:
        """The next event, or a comment when there was none for a while; None at the end."""
        if self._has_ended:
            return None
        self._is_asked = True
        try:
            async with asyncio.timeout(KEEP_ALIVE_S):
                item, self._has_ended = await self._queue.get()
        except TimeoutError:
            return server_sent.COMMENT
        finally:
            self._is_asked, self._taken_at = False, time.monotonic()
        return item or None

    @property
    def is_stuck(self) -> bool:
        return not self._is_asked and time.monotonic() - self._taken_at > GIVE_UP_S

    @property
    def reached(self) -> int:
        """Every byte below was told."""
        return self._offset + len(self._characters.held)

    def close(self, last: bytes = b"") -> None:
        """The end, in place of what still waits to be handed on."""
        while not self._queue.empty():
            self._queue.get_nowait()
        self._queue.put_nowait((last, True))

    async def tell(self, message: dict[str, Any]) -> None:
        match message["type"]:
            case "gap":
                await self._hand_on(self._characters.rest())
                fields = ("offset", "dropped_bytes", "from_ms", "to_ms")
                await self._queue.put((self._event("gap", {name: message[name] for name in fields}), False))
            case "complete":
                await self.end("complete")
            case "error":
                await self.end("failure", message["code"], _("The panel has lost a part of this log."))

    async def tell_bytes(self, frame: bytes) -> None:
        _header, data = read_log_frame(frame)
        await self._hand_on(self._characters.take(data))

    async def tell_news(self, news: Mapping[str, Any]) -> None:
        await self._queue.put((server_sent.event("job", news), False))

    async def end(self, name: str, code: str = "", sentence: str | Promise = "") -> None:
        await self._hand_on(self._characters.rest())
        with override(self.wanted.language):
            why = {"code": code, "message": str(sentence)} if code else {}
        await self._queue.put((self._event(name, {"offset": self._offset} | why), True))

    async def _hand_on(self, data: bytes) -> None:
        if data:
            start, self._offset = self._offset, self._offset + len(data)
            place = f"{self.wanted.attempt}:{self._offset}"
            await self._queue.put((self._event("log", {"offset": start} | server_sent.text_of(data), id=place), False))

    def _event(self, name: str, data: Mapping[str, Any], *, id: str = "") -> bytes:  # noqa: A002  the format's word
        return server_sent.event(name, {"attempt": self.wanted.attempt, "rank": self.wanted.rank, **data}, id=id)
