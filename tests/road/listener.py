"""A script that follows the output of a job over the panel's websocket, and puts it together by offsets alone."""

from __future__ import annotations

import json
import time
from contextlib import suppress
from typing import Any

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from agent.protocol import PART_OUTPUT
from tests.road.world import World


class LogListener:
    """Holds every frame to the promise: its first byte follows the last one that came before."""

    def __init__(self, world: World, number: int, *, token: str = "") -> None:
        self.subject = f"job:{number}"
        self._address = world.url.replace("http", "ws", 1) + "/ws/v1"
        self._token = token or world.client.headers["Authorization"].removeprefix("Bearer ")
        self._log: dict[str, Any] | None = None  # workload, rank and part, once known
        self._socket: ClientConnection | None = None
        self.data = bytearray()
        self.came: list[tuple[float, int]] = []  # (Unix seconds, bytes held then), a frame each
        self.messages: list[dict[str, Any]] = []
        self.gaps: list[dict[str, Any]] = []
        self.final: int | None = None

    def __enter__(self) -> LogListener:
        return self.connect()

    def __exit__(self, *_: object) -> None:
        self.drop()

    def connect(self) -> LogListener:
        """Listens from what it has on."""
        headers = {"Authorization": f"Bearer {self._token}"}
        self._connecting = connect(self._address, additional_headers=headers, max_size=None, compression=None)
        self._socket = self._connecting.__enter__()
        known = [self._log | {"from": len(self.data)}] if self._log else "all"
        self.say(type="subscribe", subject=self.subject, logs=known, log_from="start", events_from=0)
        return self

    def drop(self, *, rudely: bool = False) -> None:
        """The connection ends, `rudely` without a word."""
        if self._socket is not None:
            if rudely:
                self._socket.socket.close()
            with suppress(OSError, ConnectionClosed):
                self._connecting.__exit__(None, None, None)
            self._socket = None

    def say(self, **message: Any) -> None:
        assert self._socket
        self._socket.send(json.dumps(message))

    def hear(self, timeout: float = 10) -> dict[str, Any] | None:
        """The next message, None for bytes. Raises TimeoutError, ConnectionClosed."""
        assert self._socket
        frame = self._socket.recv(timeout)
        if isinstance(frame, str):
            message = json.loads(frame)
            if message.get("part", PART_OUTPUT) == PART_OUTPUT:
                self._take(message)
            return message
        size = int.from_bytes(frame[:4], "big")
        header = json.loads(frame[4 : 4 + size])
        if header["part"] == PART_OUTPUT:
            self._take_bytes(header, frame[4 + size :])
        return None

    def hear_until(self, size: int, within_s: float = 30) -> None:
        """Until it has so many bytes."""
        deadline = time.monotonic() + within_s
        while len(self.data) < size:
            self.hear(max(deadline - time.monotonic(), 0.001))

    def hear_all(self, within_s: float = 60) -> bytes:
        """To the end of the log, by the panel's own word."""
        deadline = time.monotonic() + within_s
        while self.final is None or len(self.data) < self.final:
            self.hear(max(deadline - time.monotonic(), 0.001))
        return bytes(self.data)

    def hear_for(self, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        with suppress(TimeoutError):
            while (left := deadline - time.monotonic()) > 0:
                self.hear(left)

    def _take(self, message: dict[str, Any]) -> None:
        self.messages.append(message)
        if message["type"] == "complete":
            self.final = message["final"]
        elif message["type"] == "gap":
            self.gaps.append(message)

    def _take_bytes(self, header: dict[str, Any], data: bytes) -> None:
        log = {name: header[name] for name in ("workload", "rank", "part")}
        assert log == (self._log or log), "bytes of another log"
        self._log = log
        assert header["offset"] == len(self.data), f"bytes lost or repeated at {len(self.data)}: {header['offset']}"
        self.data += data
        self.came.append((time.time(), len(self.data)))
