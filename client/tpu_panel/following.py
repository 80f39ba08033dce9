"""Follows a job's log: every byte once, over lost connections, restarts of the panel, and from one attempt to the next."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tpu_panel import sse
from tpu_panel.backoff import Backoff
from tpu_panel.connection import Connection
from tpu_panel.errors import Forbidden, NotFound, NotSignedIn, PanelError, Unreachable

LOOK_S = 5  # for the next attempt, or for the end of the job
REFUSALS = (NotSignedIn, Forbidden, NotFound)


@dataclass(frozen=True)
class Begun:
    """The log of an attempt begins."""

    attempt: int


@dataclass(frozen=True)
class Piece:
    """Bytes of the log as they were printed, from `offset` on."""

    attempt: int
    offset: int
    data: bytes


@dataclass(frozen=True)
class Gap:
    """The host had to drop bytes: they would stand at `offset`, and are not counted."""

    attempt: int
    offset: int
    dropped_bytes: int
    from_ms: int
    to_ms: int


@dataclass(frozen=True)
class News:
    """The job has changed: its `state`, `reason` and `progress`, as the API has them."""

    job: dict[str, Any]


@dataclass(frozen=True)
class Ended:
    """The log of an attempt has ended; the sentence says what is missing of it, "": nothing."""

    attempt: int
    sentence: str


@dataclass(frozen=True)
class Away:
    """The panel does not answer; it is asked again until it does."""

    sentence: str


@dataclass(frozen=True)
class Back:
    """It does again."""


Item = Begun | Piece | Gap | News | Ended | Away | Back


@dataclass(frozen=True)
class Which:
    rank: int = 0
    part: str = "output"
    tail: int | None = None  # last lines, of the first attempt that is followed


def follow_job(connection: Connection, number: int, which: Which, *, attempt: int | None = None) -> Iterator[Item]:
    """An attempt's log and those of the attempts after it, until the job has ended; None: from its present attempt on.

    Raises PanelError when the panel refuses; while it is away it is waited for.
    """
    tail = which.tail
    while True:
        for item in follow_attempt(connection, number, Which(which.rank, which.part, tail), attempt=attempt):
            attempt = item.attempt if isinstance(item, Begun) else attempt
            yield item
        assert attempt is not None
        following = _next_attempt(connection, number, attempt)
        if following is None:
            return
        attempt, tail = following, None


def follow_attempt(connection: Connection, number: int, which: Which, *, attempt: int | None = None) -> Iterator[Item]:
    """The log of one attempt, to its end."""
    reader, backoff = _Reader(attempt=attempt), Backoff()
    query = {"rank": which.rank, "part": which.part, "tail_lines": which.tail}
    is_away = False
    while not reader.has_ended:
        known = reader.last_id
        try:
            headers = {"Accept": "text/event-stream"} | ({"Last-Event-ID": known} if known else {})
            with connection.stream(f"jobs/{number}/log/stream", query | {"attempt": reader.attempt}, headers) as answer:
                if is_away:
                    is_away = False
                    yield Back()
                for event in sse.events(answer.iter_bytes()):
                    backoff.reset()
                    if event is not None:
                        yield from reader.take(event)
            trouble = f"The panel at {connection.url} has ended the connection."
        except REFUSALS:
            raise
        except PanelError as error:
            if not isinstance(error, Unreachable) and error.status not in (429, 500):
                raise
            trouble = error.message
        if not reader.has_ended:
            if backoff.failures and not is_away:
                is_away = True
                yield Away(trouble)
            connection.sleep(backoff.next_s())


@dataclass
class _Reader:
    """What one attempt's stream has told, over all its connections."""

    attempt: int | None
    last_id: str = ""
    has_ended: bool = False
    _offset: int | None = None  # of the byte that comes next
    _gaps: set[tuple[int, int]] = field(default_factory=set)  # each is told again after a resume

    def take(self, event: sse.Event) -> Iterator[Item]:
        data = json.loads(event.data)
        match event.name:
            case "attempt":
                if self._offset is None:
                    self.attempt, self._offset = int(data["attempt"]), int(data["offset"])
                    # Should the connection be lost before the first byte, the next goes on from here, whatever tail is asked for.
                    self.last_id = f"{self.attempt}:{self._offset}"
                    yield Begun(self.attempt)
            case "log":
                yield from self._piece(event, data)
            case "gap":
                gap = Gap(**{name: int(data[name]) for name in Gap.__dataclass_fields__})
                if (gap.offset, gap.from_ms) not in self._gaps:
                    self._gaps.add((gap.offset, gap.from_ms))
                    yield gap
            case "job":
                yield News(data)
            case "complete" | "incomplete" | "failure":
                self.has_ended = True
                yield Ended(int(data["attempt"]), str(data.get("message", "")))
            case "refused":
                kind = NotFound if data["code"] == "no-such-job" else NotSignedIn
                raise kind(str(data["code"]), str(data["message"]))

    def _piece(self, event: sse.Event, data: dict[str, Any]) -> Iterator[Item]:
        """What was had already is cut off: nothing is told twice, whatever the panel does."""
        content = base64.b64decode(data["base64"]) if "base64" in data else data["text"].encode()
        start = int(data["offset"])
        known = start if self._offset is None else self._offset
        if start > known:
            raise PanelError("log-hole", f"The panel went on at byte {start} of the log, after byte {known}.")
        content = content[known - start :]
        self._offset, self.last_id = known + len(content), event.id
        if content:
            yield Piece(int(data["attempt"]), known, content)


def _next_attempt(connection: Connection, number: int, attempt: int) -> int | None:
    """The attempt after this one, once there is one; None when the job has ended without."""
    while True:
        job = wait_once(connection, number, LOOK_S)
        rows = connection.get(f"jobs/{number}/attempts", patience_s=math.inf)["results"]
        later = [row["number"] for row in rows if row["number"] > attempt]
        if later:
            return int(min(later))
        if has_ended(job):
            return None


def wait_once(connection: Connection, number: int, timeout_s: float, *, patience_s: float = math.inf) -> dict[str, Any]:
    """The job when it has ended, or as it is after that time. Raises PanelError."""
    backoff = Backoff()
    while True:
        query = {"timeout_s": max(0, math.ceil(timeout_s))}
        answer = connection.get_bytes(f"jobs/{number}/wait", query, patience_s=patience_s, read_s=timeout_s + 30)
        if answer.content.strip():
            return dict(answer.json())
        connection.sleep(backoff.next_s())  # it says nothing when it is restarted, and when the job may not be seen any more


def has_ended(job: dict[str, Any]) -> bool:
    return job["state"] in ("succeeded", "failed", "canceled")
