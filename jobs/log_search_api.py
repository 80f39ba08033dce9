"""The API of searching a job's log: lines that match, a count of them, and those lines as a file."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from asgiref.sync import sync_to_async
from django.http import StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.exceptions import Throttled
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from jobs.log_choice import WHICH, chosen
from monitoring import log_context, log_search
from monitoring.log_blocks import Place
from monitoring.log_patterns import MOST_CHARACTERS, Matcher, Mode, Pattern
from monitoring.log_search import Found, Hit, Range, Start
from monitoring.log_turns import NoTurn, searching
from monitoring.models import Log
from monitoring.shapes import Pairs
from projects import shapes
from projects.errors import Invalid
from projects.paging import Cursor
from projects.queries import whole

MOST_HITS = 200
USUAL_HITS = 50
STEP_BYTES = 1024 * 1024  # of a file of lines, made without a pause
AGAIN_S = 1  # a file whose turn it was not
DIRECTIONS = ("forward", "backward")

ASKED = [
    OpenApiParameter("q", str, description=f"What to look for, at most {MOST_CHARACTERS} characters. Not with `mode=errors`."),
    OpenApiParameter(
        "mode", str, enum=Mode.values, description="A text as it stands, an expression of RE2, or what tells of an error."
    ),
    OpenApiParameter("case", bool, description="Whether capitals are others than small letters. Usual: false."),
    OpenApiParameter("from", int, description="The byte where it begins. Usual: the end that `direction` comes from."),
    OpenApiParameter("until", int, description="Lines that begin before this byte; backward, at it or after it."),
]
PAGE = [
    OpenApiParameter("direction", str, enum=list(DIRECTIONS), description="Oldest first or newest first. Usual: forward."),
    OpenApiParameter("limit", int, description=f"Lines at most, up to {MOST_HITS}; 0 counts only. Usual: {USUAL_HITS}."),
    OpenApiParameter("context", int, description=f"Lines around each, up to {log_context.MOST_LINES}. Usual: 0."),
    OpenApiParameter("cursor", str, description="`next_cursor` or `resume_cursor` of an answer to the same search."),
    shapes.FIELDS,
]


class LogLineAnswer(shapes.Answer):
    line = serializers.IntegerField(source="number", help_text="From 0.")
    offset = serializers.IntegerField(help_text="Of its first byte.")
    text = serializers.CharField(source="shown.text", help_text="Without escape sequences; at most 2,000 characters.")


class LogHitAnswer(LogLineAnswer):
    """A line that matches. What a carriage return had overwritten by the end of the line is found too, and `is_overwritten`."""

    example: ClassVar = {
        "line": 119,
        "offset": 4711,
        "end": 4738,
        "text": "ValueError: shapes differ",
        "text_spans": [[0, 10]],
        "spans": [[5, 15]],
        "cut_before": 0,
        "cut_after": 0,
        "is_overwritten": False,
        "before": [{"line": 118, "offset": 4700, "text": "step 1,224"}],
        "after": [],
    }
    end = serializers.IntegerField(help_text="Where the next line begins.")
    text_spans = Pairs(source="shown.spans", help_text="What matched, in characters of `text`.")
    spans = Pairs(help_text="What matched, in bytes from `offset` on; 100 of them at most.")
    cut_before = serializers.IntegerField(source="shown.cut_before", help_text="Characters of the line before `text`.")
    cut_after = serializers.IntegerField(source="shown.cut_after")
    is_overwritten = serializers.SerializerMethodField()
    before = LogLineAnswer(many=True)
    after = LogLineAnswer(many=True)

    def get_is_overwritten(self, hit: Hit) -> bool:
        return not hit.shown.is_last_state


HITS = shapes.listed(
    LogHitAnswer,
    next_cursor=serializers.CharField(allow_null=True, help_text="Null once the end of what was asked for is reached."),
    resume_cursor=serializers.CharField(allow_null=True, help_text="Where one goes on when the log has grown."),
    count=serializers.IntegerField(help_text="Lines that matched so far, in this answer and those that its cursor comes from."),
    is_exact=serializers.BooleanField(help_text="That is all of them. Else there are at least so many."),
    reached=serializers.IntegerField(help_text="The byte to which the search came."),
    head=serializers.IntegerField(help_text="Bytes that the log has now."),
    workload=serializers.UUIDField(help_text="Whose log it is."),
)


@dataclass(frozen=True)
class Search:
    """What a request asks for."""

    pattern: Pattern
    start: int | None
    until: int | None
    is_upwards: bool = False

    @classmethod
    def of(cls, request: Request) -> Search:
        """Raises Invalid."""
        mode = Mode(_one_of(request, "mode", Mode.values))
        text = "" if mode == Mode.ERRORS else request.query_params.get("q", "")
        return cls(
            pattern=Pattern(text, mode, has_case=_one_of(request, "case", ("false", "true")) == "true"),
            start=_place(request, "from"),
            until=_place(request, "until"),
            is_upwards=_one_of(request, "direction", DIRECTIONS) == "backward",
        )

    def range_in(self, log: Log) -> Range:
        return log_search.range_of(log, start=self.start, until=self.until, is_upwards=self.is_upwards)

    def cursor(self, log: Log, at: Start | None) -> str | None:
        if at is None:
            return None
        place = (at.place.offset, at.place.line, at.place.line_start, at.is_counted, at.count)
        return str(Cursor(place, self._name_in(log)))

    def start_in(self, log: Log, asked: Range, cursor: str) -> Start:
        """Raises Invalid for a cursor of another search."""
        read = Cursor.read(cursor, query=self._name_in(log))
        if read is None:
            return log_search.beginning(log, asked)
        offset, line, line_start, is_counted, count = read.place
        return Start(Place(offset, line, line_start), count, is_counted)

    def _name_in(self, log: Log) -> str:
        return f"{log.pk} {self.start} {self.until} {self.is_upwards} {self.pattern}"


class LogSearch(APIView):
    @extend_schema(operation_id="search_job_log", parameters=[*WHICH, *ASKED, *PAGE], responses=HITS)
    def get(self, request: Request, number: int) -> Response:
        """Lines of a log that match, each once, with where they stand.

        An answer comes after some two seconds at most, with what was found by then: go on with its `next_cursor`. With a
        limit of 0 it is a count. Escape sequences of terminals are read over; lines of more than 2 MiB are searched in parts.
        """
        log, workload_id = chosen(request, number)
        search, cursor = Search.of(request), request.query_params.get("cursor", "")
        limit = min(whole(request.query_params, "limit", USUAL_HITS), MOST_HITS)
        context = min(whole(request.query_params, "context", 0), log_context.MOST_LINES)
        matcher = search.pattern.matcher()
        if log is None:
            return _answer(request, Found(), workload=str(workload_id), head=0, next_cursor=None, resume_cursor=None)
        asked = search.range_in(log)
        start = search.start_in(log, asked, cursor)
        try:
            with searching.take(request.user.pk) as is_over:
                found = log_search.search(log, matcher, asked, start, limit=limit, context=context, is_over=is_over)
        except NoTurn:
            raise Throttled(wait=1) from None
        return _answer(
            request,
            found,
            workload=str(workload_id),
            head=log.head_offset,
            next_cursor=search.cursor(log, found.next),
            resume_cursor=search.cursor(log, found.resume),
        )


class MatchingLines(APIView):
    @extend_schema(
        operation_id="download_matching_lines", parameters=[*WHICH, *ASKED], responses={(200, "application/octet-stream"): bytes}
    )
    def get(self, request: Request, number: int) -> HttpResponseBase:
        """The lines of a log that match, as they were printed, as a file.

        It comes as it is found, oldest first. Of a line of more than 2 MiB come the parts that match.
        """
        log, _workload_id = chosen(request, number)
        search = Search.of(request)
        matcher = search.pattern.matcher()
        return StreamingHttpResponse(
            _lines(log, matcher, search.range_in(log), request.user.pk) if log else _nothing(),
            content_type="application/octet-stream",
            headers={
                "X-Content-Type-Options": "nosniff",
                "Content-Disposition": f'attachment; filename="job-{number}-matching.log"',  # a browser never shows it as a page
            },
        )


async def _lines(log: Log, matcher: Matcher, asked: Range, who: object) -> AsyncIterator[bytes]:
    """Searched as the client takes them, a turn a step: whoever downloads leaves the others theirs."""
    start: Start | None = await sync_to_async(log_search.beginning)(log, asked)
    while start is not None:
        try:
            data, start = await sync_to_async(_step)(log, matcher, asked, start, who)
        except NoTurn:
            await asyncio.sleep(AGAIN_S)
            continue
        if data:
            yield data


def _step(log: Log, matcher: Matcher, asked: Range, start: Start, who: object) -> tuple[bytes, Start | None]:
    with searching.take(who) as is_over:
        return log_search.matching_lines(log, matcher, asked, start, most_bytes=STEP_BYTES, is_over=is_over)


async def _nothing() -> AsyncIterator[bytes]:
    for data in list[bytes]():
        yield data


def _answer(request: Request, found: Found, **more: Any) -> Response:
    more |= {"count": found.count, "is_exact": found.next is None, "reached": found.reached}
    return shapes.many(LogHitAnswer, request, found.hits, more=more)


def _one_of(request: Request, name: str, known: Sequence[str]) -> str:
    """The first where it does not say. Raises Invalid."""
    text = request.query_params.get(name, known[0])
    if text not in known:
        raise Invalid({name: _("known are %(known)s") % {"known": ", ".join(known)}})
    return text


def _place(request: Request, name: str) -> int | None:
    return whole(request.query_params, name, 0) if name in request.query_params else None
