"""The API's wait for the end of a job."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

from django.http import StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.utils.translation import get_language, override
from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from jobs import progress, services
from jobs.models import Job
from jobs.shapes import JobAnswer
from jobs.states import ENDED
from monitoring import door, live
from monitoring.long_answers import ended_with_process, release_thread
from monitoring.subscriptions import in_thread
from projects import shapes
from projects.actors import Actor
from projects.errors import Forbidden, Invalid, NotFound, Unauthorized
from projects.queries import whole

LONGEST_S = 60
USUAL_S = 30
LOOK_EVERY_S = 10.0  # behind a lost word of the job's end
LOOK_AGAIN_S = 1.0  # at most so often, whatever else is heard
END_CODES = {f"job.{state}" for state in ENDED}


class Wait(APIView):
    @extend_schema(
        operation_id="wait_for_job",
        parameters=[
            OpenApiParameter("timeout_s", {"type": "integer", "minimum": 0, "maximum": LONGEST_S, "default": USUAL_S}),
            shapes.FIELDS,
        ],
        responses=JobAnswer,
    )
    def get(self, request: Request, number: int) -> HttpResponseBase:
        """The job as soon as it has ended, or as it is after that time.

        Its state says which of the two. An answer without a body (the panel is restarted, or the job may not be seen any more)
        says neither: ask again.
        """
        job = services.get_job(Actor.of(request), number, may="jobs.view")
        timeout_s = whole(request.query_params, "timeout_s", USUAL_S)
        if timeout_s > LONGEST_S:
            raise Invalid({"timeout_s": _("at most %(most)s") % {"most": LONGEST_S}})
        answer = _shown(request, job)  # what is wrong with the query is told before anything is waited for
        if job.has_ended or timeout_s == 0:
            return answer
        return StreamingHttpResponse(
            _wait(request, job, timeout_s, get_language() or "en"),
            content_type="application/json",
            headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
        )


async def _wait(request: Request, job: Job, timeout_s: float, language: str) -> AsyncIterator[bytes]:
    """Spaces while it lasts, which JSON ignores and which keep the connection, then the job."""
    await release_thread()
    assert job.subject
    address, waiter, deadline = job.subject.address, Waiter(), time.monotonic() + timeout_s
    try:
        with ended_with_process(waiter.stop):
            await live.reader().follow(address, waiter)
            while await in_thread(_is_to_wait)(request, job.pk, address) and (left_s := deadline - time.monotonic()) > 0:
                await waiter.wait(min(left_s, LOOK_EVERY_S))
                if waiter.is_stopped:
                    return
                yield b" "
        yield await in_thread(_answer)(request, job.pk, language)
    finally:
        live.reader().leave(address, waiter)


class Waiter:
    """Hears a job's live stream for the word that it has ended."""

    def __init__(self) -> None:
        self.is_stopped = False
        self._news = asyncio.Event()
        self._end = asyncio.Event()

    def hear(self, address: str, message: dict[str, Any]) -> None:
        if message["t"] == "event" and message["event"]["code"] in END_CODES:
            self._end.set()
            self._news.set()

    def resync(self, address: str) -> None:
        self._news.set()

    def stop(self) -> None:
        self.is_stopped = True
        self._end.set()
        self._news.set()

    async def wait(self, timeout_s: float) -> None:
        """Until there is something to look for; for anything but the end, no sooner than in a second."""
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                await self._news.wait()
                self._news.clear()
                async with asyncio.timeout(LOOK_AGAIN_S):
                    await self._end.wait()


def _is_to_wait(request: Request, job_id: int, address: str) -> bool:
    """It has not ended, and who waits may still hear of it: whose access ends holds the connection no longer."""
    if Job.objects.filter(pk=job_id, state__in=ENDED).exists():
        return False
    try:
        return bool(door.still_admitted(door.scope_of(request), [address]))
    except Unauthorized:
        return False


def _answer(request: Request, number: int, language: str) -> bytes:
    """The job, when who asked may see it still."""
    try:
        job = services.get_job(door.identify(door.scope_of(request)), number, may="jobs.view")
    except (Unauthorized, Forbidden, NotFound):
        return b""
    with override(language):
        return JSONRenderer().render(_shown(request, job).data)


def _shown(request: Request, job: Job) -> Response:
    known = progress.of_job(job)
    return shapes.one(JobAnswer, request, job, progress={job.pk: known} if known else {})
