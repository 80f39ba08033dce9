"""The API of a job's logs: bytes as they were printed."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID

from asgiref.sync import sync_to_async
from django.http import StreamingHttpResponse
from django.http.response import HttpResponseBase
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request as ApiRequest
from rest_framework.views import APIView

from agent import protocol
from jobs import services
from jobs.models import Job
from monitoring import lines, logs
from monitoring.models import Log
from projects.actors import Actor
from projects.errors import Invalid, NotFound
from projects.queries import whole

MOST_LOG_BYTES = 4 * 1024 * 1024  # of one answer that asks for a piece
LOG_CHUNK_BYTES = 256 * 1024

WHICH = [
    OpenApiParameter("attempt", int, description="Its number. Usual: the last."),
    OpenApiParameter("workload", OpenApiTypes.UUID, description="The attempt by its workload, instead."),
    OpenApiParameter("rank", int),
    OpenApiParameter("part", str, enum=list(protocol.PARTS), description="Usual: output."),
]
PIECE = [
    OpenApiParameter("offset", int, description="In bytes."),
    OpenApiParameter("limit", int, description=f"In bytes, at most {MOST_LOG_BYTES}; without it all there is."),
    OpenApiParameter("tail", int, description="The last bytes, so many."),
]
HEADERS: dict[str, tuple[Any, str]] = {
    "X-Log-Offset": (int, "Where the first byte stands."),
    "X-Log-Next": (int, "Where the next answer begins."),
    "X-Log-Line": (int, "The line of the first byte, from 0."),
    "X-Log-Gaps": (str, "JSON: what the host had to drop within it."),
    "X-Log-Head": (int, "Bytes that are stored."),
    "X-Log-Complete": (bool, "Whether the log's end is known and stored."),
    "X-Log-Workload": (OpenApiTypes.UUID, "Whose log it is."),
}


class JobLog(APIView):
    @extend_schema(
        operation_id="read_job_log",
        parameters=[
            *WHICH,
            *PIECE,
            *(
                OpenApiParameter(name, kind, OpenApiParameter.HEADER, description=words, response=[200])
                for name, (kind, words) in HEADERS.items()
            ),
        ],
        responses={(200, "application/octet-stream"): bytes},
    )
    def get(self, request: ApiRequest, number: int) -> HttpResponseBase:
        """Bytes of a log exactly as they were printed: all of it, or `limit` from `offset` on, or the last `tail` bytes."""
        job = services.get_job(Actor.of(request), number, may="jobs.view")
        assert job.subject
        workload_id = _workload_of(request, job)
        log = logs.find_log(job.subject, workload_id, whole(request.query_params, "rank", 0), _part(request))
        head = log.head_offset if log else 0
        tail = whole(request.query_params, "tail", head)
        offset = min(max(whole(request.query_params, "offset", 0), head - tail), head)
        limit = min(whole(request.query_params, "limit", MOST_LOG_BYTES), MOST_LOG_BYTES)
        end = min(head, offset + limit) if _is_cut(request) else head
        gaps = logs.gaps(log, offset, end) if log and log.dropped_bytes else []
        return StreamingHttpResponse(
            _bytes(log, offset, end) if log else _nothing(),
            content_type="application/octet-stream",
            headers={
                "Content-Length": str(end - offset),
                "X-Log-Offset": str(offset),
                "X-Log-Next": str(end),
                "X-Log-Line": str(lines.line_at(log, offset) if log else 0),
                "X-Log-Gaps": json.dumps(
                    [{"offset": g.offset, "dropped_bytes": g.dropped_bytes, "from_ms": g.from_ms} for g in gaps[-100:]]
                ),
                "X-Log-Head": str(head),
                "X-Log-Complete": "true" if log and log.is_complete else "false",
                "X-Log-Workload": str(workload_id),
                "X-Content-Type-Options": "nosniff",
                "Content-Disposition": f'attachment; filename="job-{job.pk}.log"',  # a browser never shows it as a page
            },
        )


async def _bytes(log: Log, offset: int, end: int) -> AsyncIterator[bytes]:
    """Read as the client takes them: a log may be larger than memory."""
    while offset < end:
        data = await sync_to_async(logs.read)(log, offset, min(LOG_CHUNK_BYTES, end - offset))
        if not data:
            return
        yield data
        offset += len(data)


async def _nothing() -> AsyncIterator[bytes]:
    for data in list[bytes]():
        yield data


def _is_cut(request: ApiRequest) -> bool:
    return "limit" in request.query_params or "tail" in request.query_params


def _workload_of(request: ApiRequest, job: Job) -> UUID:
    """The attempt's that is asked for by its number or its workload, else the last one's."""
    workload, attempt = request.query_params.get("workload"), request.query_params.get("attempt")
    tries = {str(a.workload_id): a for a in job.attempts.all()}
    if workload is not None and workload in tries:
        return tries[workload].workload_id
    if attempt is not None:
        for one in tries.values():
            if str(one.number) == attempt:
                return one.workload_id
    if workload is not None or attempt is not None:
        raise NotFound("no-such-attempt", "The job has no such attempt.", attempts=[a.number for a in tries.values()])
    assert job.workload_id
    return job.workload_id


def _part(request: ApiRequest) -> str:
    part = request.query_params.get("part", protocol.PART_OUTPUT)
    if part not in protocol.PARTS:
        raise Invalid({"part": f"There is no such part; known are {', '.join(protocol.PARTS)}."})
    return part
