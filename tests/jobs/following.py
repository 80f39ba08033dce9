"""A reader of a log's event stream, which holds every event to the place that its id promises."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Callable
from typing import Any

import httpx

PATIENCE_S = 20


class Reader:
    """Of one connection. `data` is all that came by `log` events, from the offset of the first."""

    def __init__(self, url: str, token: str, *, last_id: str = "", **options: Any) -> None:
        headers = {"Authorization": f"Bearer {token}", "Accept": "text/event-stream"}
        if last_id:
            headers["Last-Event-ID"] = last_id
        self._client = httpx.Client(timeout=PATIENCE_S, **options)
        self._streaming = self._client.stream("GET", url, headers=headers)
        self.answer = self._streaming.__enter__()
        self._parts = self.answer.iter_raw()
        self._rest = b""
        self.events: list[tuple[str, dict[str, Any]]] = []
        self.data = b""
        self.last_id = last_id

    def __enter__(self) -> Reader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._streaming.__exit__(None, None, None)
        self._client.close()

    def hear(self) -> tuple[str, dict[str, Any]] | None:
        """The next event; None at the end. Comments do not make it wait for longer."""
        deadline = time.monotonic() + PATIENCE_S
        while (fields := self._block(deadline)) is not None:
            if "event" not in fields:
                continue
            event = (fields["event"], json.loads(fields["data"]))
            if event[0] == "log":
                self._take(event[1], fields["id"])
            else:
                assert "id" not in fields
            self.events.append(event)
            return event
        return None

    def hear_comments(self, count: int) -> None:
        """Nothing but so many comments."""
        for _ in range(count):
            assert self._block(time.monotonic() + PATIENCE_S) == {}

    def _block(self, deadline: float) -> dict[str, str] | None:
        while b"\n\n" not in self._rest:
            assert time.monotonic() < deadline, f"nothing came after {self.events[-3:]}"
            try:
                self._rest += next(self._parts)
            except StopIteration:
                assert not self._rest, self._rest
                return None
        block, _, self._rest = self._rest.partition(b"\n\n")
        return dict(line.split(": ", 1) for line in block.decode().split("\n") if not line.startswith(":"))

    def until(self, is_it: Callable[[str, dict[str, Any]], bool]) -> dict[str, Any]:
        while (event := self.hear()) is not None:
            if is_it(*event):
                return event[1]
        raise AssertionError(f"the stream ended: {self.events}")

    def until_bytes(self, count: int) -> bytes:
        while len(self.data) < count:
            assert self.hear() is not None, "the stream ended"
        return self.data

    def rest(self) -> list[tuple[str, dict[str, Any]]]:
        """What comes until the end."""
        known = len(self.events)
        while self.hear() is not None:
            pass
        return self.events[known:]

    def of(self, name: str) -> list[dict[str, Any]]:
        return [data for known, data in self.events if known == name]

    def _take(self, data: dict[str, Any], id: str) -> None:
        piece = base64.b64decode(data["base64"]) if "base64" in data else data["text"].encode()
        if self.last_id:
            assert data["offset"] == int(self.last_id.rpartition(":")[2]), "bytes lost or repeated"
        assert id == f"{data['attempt']}:{data['offset'] + len(piece)}"
        self.data += piece
        self.last_id = id
