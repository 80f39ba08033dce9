"""A job, as it was when it was last looked at, and what can be done with it."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping
from typing import Any

from tpu_panel import following
from tpu_panel.connection import Connection
from tpu_panel.errors import WaitTimeout
from tpu_panel.following import Piece, Which

LONGEST_WAIT_S = 60  # of one request
PIECE_BYTES = 4 * 1024 * 1024
BEYOND = 10**15  # no job has so many events: asks for how many there are


class Job:
    """`data` is the API's answer, and the rest is read from it. `refresh` looks again; nothing else does by itself."""

    def __init__(self, connection: Connection, data: Mapping[str, Any]) -> None:
        self._connection = connection
        self.data = dict(data)

    def __repr__(self) -> str:
        return f"<Job {self.number} {self.name} {self.state}>"

    @property
    def number(self) -> int:
        return int(self.data["number"])

    @property
    def name(self) -> str:
        return str(self.data["name"])

    @property
    def project(self) -> str:
        return str(self.data["project"])

    @property
    def state(self) -> str:
        """queued, starting, running, stopping, succeeded, failed or canceled."""
        return str(self.data["state"])

    @property
    def reason(self) -> str:
        """Why it is in its state, as a sentence; "": there is nothing to say."""
        return str(self.data["reason"]["sentence"])

    @property
    def reason_code(self) -> str:
        return str(self.data["reason"]["code"])

    @property
    def progress(self) -> dict[str, Any] | None:
        """step, total, percent and left_s, as far as its program says."""
        found = self.data["progress"]
        return None if found is None else dict(found)

    @property
    def has_ended(self) -> bool:
        return following.has_ended(self.data)

    @property
    def url(self) -> str:
        """Its page."""
        return f"{self._connection.url}{self.data['link']}"

    def refresh(self) -> Job:
        self.data = dict(self._connection.get(self._path()))
        return self

    def wait(self, timeout: float | None = None) -> Job:
        """Until it has ended, for `timeout` seconds at most. Raises WaitTimeout; the job goes on.

        A panel that is away meanwhile is waited for.
        """
        deadline = math.inf if timeout is None else time.monotonic() + timeout
        while True:
            left_s = max(0.0, deadline - time.monotonic())
            wait_s = min(left_s, LONGEST_WAIT_S)
            self.data = following.wait_once(self._connection, self.number, wait_s, patience_s=left_s)
            if self.has_ended:
                return self
            if time.monotonic() >= deadline:
                sentence = f"Job {self.number} is {self.state} after {timeout:g} s, and goes on."
                raise WaitTimeout("wait-timeout", sentence, details={"job": self.number, "state": self.state})

    def cancel(self, *, force: bool = False) -> Job:
        """Ask for its end: it is `stopping` until it has ended; `force` leaves it no time to stop by itself.

        Raises Conflict when it has ended.
        """
        self.data = dict(self._connection.post(self._path("cancellation"), {"force": force}))
        return self

    def relaunch(self, *, with_checkpoints: bool = False, key: str = "") -> Job:
        """The same once more, to the commit and the packages, as a new job.

        `with_checkpoints`: it goes on in the folder of checkpoints that this one wrote.
        """
        body = {"with_checkpoints": True} if with_checkpoints else {}
        return Job(self._connection, self._connection.post(self._path("relaunch"), body, key=key))

    # -- What it says ----------------------------------------------------------------------------------------

    def logs(
        self,
        *,
        follow: bool = True,
        rank: int = 0,
        attempt: int | None = None,
        part: str = "output",
        tail: int | None = None,
    ) -> Iterator[str]:
        """The lines of its log as text, as they come, without their ends; `follow=False`: those that are there now.

        Who follows gets the attempts after this one, too, and the iterator ends with the job, over restarts of the panel.
        `tail`: of what is there the last lines, so many.
        """
        yield from _lines(self.log_bytes(follow=follow, rank=rank, attempt=attempt, part=part, tail=tail))

    def log_bytes(
        self,
        *,
        follow: bool = True,
        rank: int = 0,
        attempt: int | None = None,
        part: str = "output",
        tail: int | None = None,
    ) -> Iterator[bytes]:
        """The same as it was printed, to the byte, in pieces."""
        which = Which(rank, part, tail)
        if not follow:
            yield from self._stored(which, attempt)
            return
        for item in self.follow(rank=rank, attempt=attempt, part=part, tail=tail):
            if isinstance(item, Piece):
                yield item.data

    def follow(
        self, *, rank: int = 0, attempt: int | None = None, part: str = "output", tail: int | None = None
    ) -> Iterator[following.Item]:
        """The same with all that happens to it between: gaps, other attempts, news of the job, outages of the panel."""
        which = Which(rank, part, tail)
        if attempt is None:
            return following.follow_job(self._connection, self.number, which)
        return following.follow_attempt(self._connection, self.number, which, attempt=attempt)

    def follow_all(self, *, rank: int = 0) -> Iterator[following.Item]:
        """From its first attempt on."""
        return following.follow_job(self._connection, self.number, Which(rank), attempt=1)

    def _stored(self, which: Which, attempt: int | None) -> Iterator[bytes]:
        """What is there when it is begun with, piece by piece."""
        query: dict[str, Any] = {"rank": which.rank, "part": which.part, "attempt": attempt}
        place: dict[str, Any] = {} if which.tail is None else {"tail_lines": which.tail}
        end = None
        while True:
            limit = PIECE_BYTES if end is None else min(PIECE_BYTES, end - place["offset"])
            answer = self._connection.get_bytes(self._path("log"), query | place | {"limit": limit})
            if answer.content:
                yield answer.content
            end = int(answer.headers["X-Log-Head"]) if end is None else end
            place = {"offset": int(answer.headers["X-Log-Next"])}
            query = {"rank": which.rank, "part": which.part, "workload": answer.headers["X-Log-Workload"]}
            if place["offset"] >= end or not answer.content:
                return

    def events(self, since: int = 0) -> Iterator[dict[str, Any]]:
        """What has happened to it, in order, from the event after number `since` on."""
        while True:
            found = self._connection.get(self._path("events"), {"since": since})
            yield from found["results"]
            if not found["results"] or found["results"][-1]["seq"] >= found["head"]:
                return
            since = int(found["results"][-1]["seq"])

    def attempts(self) -> list[dict[str, Any]]:
        return list(self._connection.get(self._path("attempts"))["results"])

    @property
    def exit_code(self) -> int | None:
        """Of its command: 0 when it has succeeded, 128 + n when it was ended by signal n; None when it has none."""
        if self.state == "succeeded":
            return 0
        if self.state != "failed":
            return None
        head = int(self._connection.get(self._path("events"), {"since": BEYOND})["head"])
        last = [event["data"] for event in self.events(max(0, head - 20)) if event["code"] == "job.failed"]
        data = last[-1] if last else {}
        if isinstance(data.get("exit_code"), int):
            return int(data["exit_code"])
        return 128 + int(data["signal"]) if isinstance(data.get("signal"), int) else None

    # -- What it measures --------------------------------------------------------------------------------------

    def metrics(self) -> list[dict[str, Any]]:
        """Each series with its last point, read page by page."""
        found, cursor = list[dict[str, Any]](), ""
        while True:
            page = self._connection.get(self._path("metrics"), {"cursor": cursor})
            found += page["metrics"]
            cursor = page.get("next_cursor") or ""
            if not cursor:
                return found

    def metric(
        self, name: str, *, by: str = "step", start: int | None = None, end: int | None = None, buckets: int = 500
    ) -> list[dict[str, Any]]:
        """One metric as `buckets` (x, count, nan_count, least, greatest, mean, last), for each attempt and rank.

        `by` is "step", or "wall" for Unix milliseconds. With no more points than buckets, each has one of its own.
        """
        query = {"name": name, "by": by, "start": start, "end": end, "buckets": buckets}
        return list(self._connection.get(self._path("metrics/lines"), query)["lines"])

    def _path(self, more: str = "") -> str:
        return f"jobs/{self.number}/{more}".rstrip("/")


def _lines(parts: Iterator[bytes]) -> Iterator[str]:
    waiting = b""
    for part in parts:
        *lines, waiting = (waiting + part).split(b"\n")
        yield from (line.decode(errors="replace") for line in lines)
    if waiting:
        yield waiting.decode(errors="replace")
