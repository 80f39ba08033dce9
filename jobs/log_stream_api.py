"""The API that follows a job's log: bytes as they come, as server-sent events."""

from __future__ import annotations

import re

from django.http import StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.utils.translation import get_language
from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.renderers import BaseRenderer, JSONRenderer
from rest_framework.request import Request
from rest_framework.views import APIView

from jobs import log_stream, services
from jobs.log_api import START, start_of
from jobs.log_choice import WHICH, part_of, workload_of
from jobs.log_outlet import Wanted
from jobs.models import Job
from monitoring import door, logs, server_sent
from projects.actors import Actor
from projects.errors import Invalid
from projects.queries import whole

LAST_ID = "Last-Event-ID"
EXAMPLE = (
    'event: job\ndata: {"number": 17, "state": "running", "reason": {"code": "", "sentence": ""}, "progress": null}\n\n'
    'id: 1:6\nevent: log\ndata: {"attempt": 1, "rank": 0, "offset": 0, "text": "hello\\n"}\n\n'
    'event: complete\ndata: {"attempt": 1, "rank": 0, "offset": 6}\n\n'
)


class LogStream(APIView):
    @extend_schema(
        operation_id="follow_job_log",
        parameters=[
            *WHICH,
            *START,
            OpenApiParameter(
                LAST_ID,
                str,
                OpenApiParameter.HEADER,
                description="The last id that came: goes on after it, whatever else is asked for. An offset is taken, too.",
            ),
        ],
        responses={(200, server_sent.CONTENT_TYPE): {"type": "string", "example": EXAMPLE}},
    )
    def get(self, request: Request, number: int) -> HttpResponseBase:
        """Follow a log as server-sent events, to its end.

        The data of each is a JSON object. `attempt` comes first and says whose log it is. `log` has `text` from `offset` on, and
        `base64`, the same bytes, where they are no UTF-8; its id is the attempt and, behind a colon, the offset after its last
        byte. `gap` tells of bytes that the host had to drop; after a resume those of before are told again. `job` comes when
        the job has news: its state, reason and progress. One of these is the last: `complete`; `incomplete`, when the attempt
        has ended and the end of its log will not come; `failure`, when the panel has lost bytes; `refused`, when the job may not
        be seen any more. An end without any of them means: come again, with Last-Event-ID. A comment comes each 15 s.

        A try after this attempt has a log of its own.
        """
        job = services.get_job(Actor.of(request), number, may="jobs.view")
        return StreamingHttpResponse(
            log_stream.events(door.scope_of(request), _wanted(request, job)),
            content_type=server_sent.CONTENT_TYPE,
            headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no", "X-Content-Type-Options": "nosniff"},
        )

    def perform_content_negotiation(self, request: Request, force: bool = False) -> tuple[BaseRenderer, str]:
        """Who follows accepts events alone, and gets an error as JSON all the same."""
        return JSONRenderer(), JSONRenderer.media_type


def _wanted(request: Request, job: Job) -> Wanted:
    assert job.subject
    part, rank, resumed = part_of(request), whole(request.query_params, "rank", 0), _resumed(request)
    workload_id = workload_of(request, job, resumed.get("attempt"))
    log = logs.find_log(job.subject, workload_id, rank, part)
    attempt = job.attempts.get(workload=workload_id).number
    if resumed.get("attempt") not in (None, str(attempt)):
        raise Invalid({LAST_ID: _("It is of another attempt than is asked for.")})
    return Wanted(
        job_id=job.pk,
        subject=job.subject,
        attempt=attempt,
        workload_id=workload_id,
        rank=rank,
        part=part,
        offset=int(resumed["offset"]) if resumed else start_of(request, log),
        is_resumed=bool(resumed),
        language=get_language() or "en",
    )


def _resumed(request: Request) -> dict[str, str]:
    """`offset`, and `attempt` where it is said, of Last-Event-ID; empty: who asks is new."""
    text = request.headers.get(LAST_ID, "")
    found = re.fullmatch(r"(?:(?P<attempt>[0-9]{1,9}):)?(?P<offset>[0-9]{1,18})", text)
    if text and not found:
        raise Invalid({LAST_ID: _("No id that came from here.")})
    return {name: value for name, value in found.groupdict().items() if value} if found else {}
