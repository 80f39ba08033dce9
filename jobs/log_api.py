"""The API of a job's logs: bytes as they were printed."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

from asgiref.sync import sync_to_async
from django.http import StreamingHttpResponse
from django.http.response import HttpResponseBase
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request as ApiRequest
from rest_framework.views import APIView

from jobs.log_choice import WHICH, chosen
from monitoring import lines, logs, stretches
from monitoring.models import Log
from projects.queries import whole

MOST_LOG_BYTES = 4 * 1024 * 1024  # of one answer that asks for a piece
LOG_CHUNK_BYTES = 256 * 1024

START = [
    OpenApiParameter("offset", int, description="From this byte on. Of several places the last counts."),
    OpenApiParameter("line", int, description="From this line on; the first is 0."),
    OpenApiParameter("tail", int, description="The last bytes, so many."),
    OpenApiParameter(
        "tail_lines",
        int,
        description=f"The last lines, so many, at most {lines.MAX_TAIL_LINES}, as far as they are in the last"
        f" {lines.MAX_TAIL_BYTES // 1024**2} MiB.",
    ),
]
PIECE = [
    *START,
    OpenApiParameter("limit", int, description=f"In bytes, at most {MOST_LOG_BYTES}; without it all there is."),
    OpenApiParameter("lines", int, description="So many lines at most; the first may be the end of one."),
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
        """Bytes of a log exactly as they were printed.

        All of it, or from a place on; at most `limit` bytes or `lines` lines.
        """
        log, workload_id = chosen(request, number)
        offset = start_of(request, log)
        first_line = lines.line_at(log, offset) if log else 0
        end = _end(request, log, offset, first_line)
        head = log.head_offset if log else 0
        gaps = logs.gaps(log, offset, end) if log and log.dropped_bytes else []
        return StreamingHttpResponse(
            _bytes(log, offset, end) if log else _nothing(),
            content_type="application/octet-stream",
            headers={
                "Content-Length": str(end - offset),
                "X-Log-Offset": str(offset),
                "X-Log-Next": str(end),
                "X-Log-Line": str(first_line),
                "X-Log-Gaps": json.dumps(
                    [{"offset": g.offset, "dropped_bytes": g.dropped_bytes, "from_ms": g.from_ms} for g in gaps[-100:]]
                ),
                "X-Log-Head": str(head),
                "X-Log-Complete": "true" if log and log.is_complete else "false",
                "X-Log-Workload": str(workload_id),
                "X-Content-Type-Options": "nosniff",
                "Content-Disposition": f'attachment; filename="job-{number}.log"',  # a browser never shows it as a page
            },
        )


def start_of(request: ApiRequest, log: Log | None) -> int:
    """Where that begins which is asked for. The log's head is read anew where lines were looked for: it may have grown."""
    query = request.query_params
    if log is None:
        for name in ("offset", "line", "tail", "tail_lines"):
            whole(query, name, 0)
        return 0
    places = [whole(query, "offset", 0), log.head_offset - whole(query, "tail", log.head_offset)]
    if "line" in query:
        places.append(lines.offset_of_line(log, whole(query, "line", 0)))
    if "tail_lines" in query:
        places.append(lines.tail_offset(log, whole(query, "tail_lines", 0)))
    if len(places) > 2:
        log.head_offset = stretches.head_of(log)
    return min(max(places), log.head_offset)


def _end(request: ApiRequest, log: Log | None, offset: int, first_line: int) -> int:
    limit, most_lines = whole(request.query_params, "limit", MOST_LOG_BYTES), whole(request.query_params, "lines", 0)
    if log is None:
        return 0
    end = log.head_offset
    if _is_cut(request):
        end = min(end, offset + min(limit, MOST_LOG_BYTES))
    if "lines" in request.query_params:
        end = min(end, lines.offset_of_line(log, first_line + most_lines))
    return max(end, offset)


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
