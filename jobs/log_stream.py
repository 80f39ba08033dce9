"""The log of a job as it grows, for one reader: server-sent events, with a word on the job itself whenever that has news.

Woken by the live stream as the websocket is, with the store as the truth. Events: `attempt` (whose log it is), `job`, `log`,
`gap`; then one that is the last: `complete`, `incomplete`, `failure` or `refused`.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.utils.translation import override

from agent.protocol import PROGRESS_STEP, PROGRESS_TOTAL
from clusters.models import Workload
from jobs import progress
from jobs.log_outlet import Outlet, Wanted
from jobs.models import Job
from jobs.shapes import JobAnswer
from monitoring import door, live, logs, server_sent
from monitoring.log_following import LogFollowing
from monitoring.long_answers import ended_with_process, release_thread
from monitoring.subscriptions import Subscription, in_thread
from projects.errors import Unauthorized

logger = logging.getLogger(__name__)

NEWS = ["number", "state", "reason", "progress"]  # fields of the API's job
NEWS_EVERY_S = 2.0  # of its progress at most so often
LAST_BYTES = timedelta(seconds=10)  # of an attempt that has ended: what did not come by then is not waited for
LOOK_AGAIN_S = 1.0  # while it is
GONE = _("There is no such job, or you are not in its team any more.")
NO_LOG = _("The attempt has ended and printed nothing.")
NO_END = _("The attempt has ended, and the end of its log did not come.")


async def events(scope: door.Scope, wanted: Wanted) -> AsyncIterator[bytes]:
    """Until the log's end, or its reader's. `scope` has the headers by which it is asked anew who reads."""
    await release_thread()
    outlet = Outlet(wanted)
    stream = LogStream(outlet)
    checks = asyncio.create_task(_check_always(scope, stream, outlet), name="checks of a log stream")
    try:
        with ended_with_process(outlet.close):
            await live.reader().follow(stream.address, stream)
            yield outlet.opening()
            stream.start()
            while (event := await outlet.next()) is not None:
                yield event
    finally:
        checks.cancel()
        stream.leave()


async def _check_always(scope: door.Scope, stream: LogStream, outlet: Outlet) -> None:
    """Who may no longer see the job hears nothing more; what was missed, for whatever reason, is filled."""
    while True:
        await asyncio.sleep(settings.STREAM_CHECK_S)
        try:
            refusal = await in_thread(_refusal)(scope, outlet.wanted)
        except Exception:  # who cannot be checked hears nothing more, and comes again
            logger.exception("log stream not checked, ended subject=%s", stream.address)
            refusal = b""
        if refusal is not None or outlet.is_stuck:
            stream.leave()
            outlet.close(refusal or b"")
            return
        stream.compare()


def _refusal(scope: door.Scope, wanted: Wanted) -> bytes | None:
    with override(wanted.language):
        try:
            if door.still_admitted(scope, [wanted.subject.address]):
                return None
            return server_sent.event("refused", {"code": "no-such-job", "message": str(GONE)})
        except Unauthorized as error:
            return server_sent.event("refused", {"code": error.code, "message": error.sentence})


class LogStream(Subscription):
    """What an Outlet is told: the log from the reader's place on, news of the job, and the end."""

    def __init__(self, outlet: Outlet) -> None:
        self._wanted = outlet.wanted
        super().__init__(outlet, self._wanted.subject.address)
        self._outlet = outlet
        self._logs = LogFollowing(outlet, self._wanted.subject, {self._wanted.key: self._wanted.offset}, gets_all=True)
        if self._wanted.is_resumed:
            self._logs.tell_gaps_from(self._wanted.key, 0)
        self._look_at: float | None = 0.0  # monotonic; None: when it is told to
        self._news_at: float | None = 0.0  # the same, for news of the job
        self._told_at = 0.0
        self._told: Mapping[str, Any] = {}

    def hear(self, address: str, message: dict[str, Any]) -> None:
        match message["t"]:
            case "log":
                self._logs.hear(message)
            case "event":
                self._look_at = self._news_at = 0.0
            case "metrics":
                if self._news_at is None and not {PROGRESS_STEP, PROGRESS_TOTAL}.isdisjoint(message["names"]):
                    self._news_at = self._told_at + NEWS_EVERY_S
        self._work.set()

    def compare(self) -> None:
        self._look_at = self._news_at = 0.0
        self._work.set()

    def leave(self) -> None:
        self.stop()
        live.reader().leave(self.address, self)

    async def send_due(self) -> float | None:
        waits = [await self._send_news(), await self._look(), await self._logs.send_due()]
        return min((wait_s for wait_s in waits if wait_s is not None), default=None)

    async def _send_news(self) -> float | None:
        if self._news_at is None:
            return None
        wait_s = self._news_at - time.monotonic()
        if wait_s > 0:
            return wait_s
        self._news_at, self._told_at = None, time.monotonic()
        news = await in_thread(_news)(self._wanted)
        if news != self._told:
            self._told = news
            await self._outlet.tell_news(news)
        return None

    async def _look(self) -> float | None:
        """Compare with the store. Of an attempt that has ended it is seen to that the stream ends, too."""
        if self._look_at is None:
            return None
        wait_s = self._look_at - time.monotonic()
        if wait_s > 0:
            return wait_s
        self._look_at = None
        standing = await in_thread(_standing)(self._wanted)
        self._logs.compare([standing.head] if standing.head else [])
        if not standing.is_over or standing.is_complete:
            return None
        if standing.is_awaited or (standing.head and self._outlet.reached < standing.head.head_offset):
            self._look_at = time.monotonic() + LOOK_AGAIN_S
            return LOOK_AGAIN_S
        await self._outlet.end("incomplete", *(("no-end", NO_END) if standing.head else ("no-log", NO_LOG)))
        return None


def _news(wanted: Wanted) -> Mapping[str, Any]:
    job = Job.objects.for_display().get(pk=wanted.job_id)
    found = progress.of_job(job)
    with override(wanted.language):
        return JobAnswer(job, context={"fields": NEWS, "progress": {job.pk: found} if found else {}}).data


@dataclass(frozen=True)
class Standing:
    """How far a log is stored, whether its attempt has ended, and whether more may be on its way all the same."""

    head: logs.Head | None
    is_over: bool
    is_awaited: bool

    @property
    def is_complete(self) -> bool:
        return self.head is not None and self.head.final_offset is not None and self.head.head_offset >= self.head.final_offset


def _standing(wanted: Wanted) -> Standing:
    workload = Workload.objects.only("ended_at").get(pk=wanted.workload_id)  # before the log: its end may be stored in between
    log = logs.find_log(wanted.subject, *wanted.key)
    head = logs.Head(log.workload_id, log.rank, log.part, log.head_offset, log.final_offset, log.dropped_bytes) if log else None
    if workload.ended_at is None:
        return Standing(head, is_over=False, is_awaited=True)
    was_taken = workload.ranks.filter(number=wanted.rank).exclude(claimed_at=None).exists()
    last_at = max(workload.ended_at, log.last_at) if log and log.last_at else workload.ended_at
    return Standing(head, is_over=True, is_awaited=was_taken and timezone.now() - last_at < LAST_BYTES)
