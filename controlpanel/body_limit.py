"""No request's body is larger than the largest that anything here takes: Django would write all of it to the disk first."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

Scope = dict[str, Any]
Message = Mapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]


class TooLarge(Exception):
    """The body went past the limit while it was read."""


class BodyLimit:
    """An ASGI application in front of another: 413 for what says that it is too large, and for what turns out to be."""

    def __init__(self, app: App, *, most_bytes: int) -> None:
        self._app = app
        self._most_bytes = most_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and _told_length(scope) > self._most_bytes:
            await self._refuse(send)
            return
        read_bytes, has_begun = 0, False

        async def counted() -> Message:
            nonlocal read_bytes
            message = await receive()
            read_bytes += len(message.get("body", b""))
            if read_bytes > self._most_bytes:
                raise TooLarge
            return message

        async def noted(message: Message) -> None:
            nonlocal has_begun
            has_begun = True
            await send(message)

        try:
            await self._app(scope, counted, noted)
        except TooLarge:
            if not has_begun:
                await self._refuse(send)

    async def _refuse(self, send: Send) -> None:
        sentence = f"The request is larger than {self._most_bytes // 1024**2} MiB, which is the most that is taken here."
        body = json.dumps({"code": "request-too-large", "message": sentence, "details": {}}).encode()
        headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body)), (b"connection", b"close")]
        await send({"type": "http.response.start", "status": 413, "headers": headers})
        await send({"type": "http.response.body", "body": body})


def _told_length(scope: Scope) -> int:
    """0: it says nothing, and is counted while it comes."""
    told = dict(scope["headers"]).get(b"content-length", b"")
    return int(told) if told.isdigit() and len(told) < 20 else 0
