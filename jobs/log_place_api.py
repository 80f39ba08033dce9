"""The API of places in a job's log: which byte has a line or a moment, and when bytes were printed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import ClassVar

from django.utils.translation import gettext as _
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from jobs.log_choice import WHICH, chosen
from monitoring import lines, log_blocks, log_times
from monitoring.models import Log
from monitoring.shapes import Pairs
from projects import shapes
from projects.errors import Invalid
from projects.queries import whole

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MOST_BYTES = 64 * 1024 * 1024  # that one answer says the times of


class LogPlaceAnswer(shapes.Answer):
    """Where a line begins."""

    example: ClassVar = {"line": 119, "offset": 4711, "ms": 1772366400123}
    line = serializers.IntegerField(help_text="From 0.")
    offset = serializers.IntegerField(help_text="In bytes.")
    ms = serializers.IntegerField(allow_null=True, help_text="When it was printed, in the host's Unix ms; null: unknown.")


class LogTimesAnswer(serializers.Serializer):
    example: ClassVar = {"first_ms": 1772366400000, "times": [[4096, 1772366400123], [9000, 1772366400200]]}
    first_ms = serializers.IntegerField(allow_null=True, help_text="When the log began, in the host's Unix milliseconds.")
    times = Pairs(help_text="[offset, ms]: by then the host had the bytes up to this one, and this one.")


class LogPlace(APIView):
    @extend_schema(
        operation_id="find_log_place",
        parameters=[
            *WHICH,
            OpenApiParameter("line", int, description="From 0; one that is not there yet is the last."),
            OpenApiParameter("at", OpenApiTypes.DATETIME, description="Instead: the line that was printed then, or before."),
            shapes.FIELDS,
        ],
        responses=LogPlaceAnswer,
    )
    def get(self, request: Request, number: int) -> Response:
        """Where a line begins, by its number or by when it was printed."""
        log, _workload_id = chosen(request, number)
        offset = _offset(request, log)
        place = log_blocks.line_at(log, offset) if log else log_blocks.Place(0, 0, 0)
        marks = log_times.marks_around(log, place.offset, place.offset + 1) if log else []
        thing = {"line": place.line, "offset": place.offset, "ms": marks[-1][1] if marks else None}
        return shapes.one(LogPlaceAnswer, request, thing)


class LogTimes(APIView):
    @extend_schema(
        operation_id="read_log_times",
        parameters=[
            *WHICH,
            OpenApiParameter("offset", int, description="From this byte on. Usual: 0."),
            OpenApiParameter("limit", int, description=f"Of so many bytes, at most {MOST_BYTES}; without it as many."),
        ],
        responses=LogTimesAnswer,
    )
    def get(self, request: Request, number: int) -> Response:
        """When a stretch of a log was printed.

        The first mark may stand before the stretch: it says when its first line was printed. Marks are some 50 ms apart, and
        further in what is old.
        """
        log, _workload_id = chosen(request, number)
        offset, limit = (
            whole(request.query_params, "offset", 0),
            min(whole(request.query_params, "limit", MOST_BYTES), MOST_BYTES),
        )
        times = log_times.marks_around(log, offset, offset + limit) if log else []
        return Response(LogTimesAnswer({"first_ms": log_times.first_ms(log) if log else None, "times": times}).data)


def _offset(request: Request, log: Log | None) -> int:
    """Raises Invalid unless the query says a line or a moment."""
    query = request.query_params
    if "line" in query and "at" not in query:
        line = whole(request.query_params, "line", 0)
        return min(lines.offset_of_line(log, line), max(log.head_offset - 1, 0)) if log else 0
    if "at" in query and "line" not in query:
        try:
            at = serializers.DateTimeField().to_internal_value(query["at"])
        except (serializers.ValidationError, OverflowError):
            raise Invalid({"at": _("a moment is needed, as 2026-03-01T12:00:00Z")}) from None
        return lines.offset_at_time(log, (at - EPOCH) // timedelta(milliseconds=1)) if log else 0
    raise Invalid({"line": _("either line or at is needed")})
