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
from monitoring import lines, logs
from monitoring.models import Log
from projects.queries import whole

MOST_LOG_BYTES = 4 * 1024 * 1024  # of one answer that asks for a piece
LOG_CHUNK_BYTES = 256 * 1024

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
        log, workload_id = chosen(request, number)
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
                "Content-Disposition": f'attachment; filename="job-{number}.log"',  # a browser never shows it as a page
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
