"""The API of the files that jobs have written."""

from __future__ import annotations

from django.http.response import HttpResponseBase
from django.utils import timezone
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from clusters import fetches
from jobs import downloads, files, services
from jobs.shapes import FetchAnswer, FileAnswer
from projects import shapes
from projects.actors import Actor
from projects.paging import Cursor, limit_of

MOST_FILES_A_PAGE = 1000


class Files(APIView):
    @extend_schema(
        operation_id="list_job_files",
        parameters=[shapes.FIELDS, shapes.CURSOR, OpenApiParameter("limit", int, description="From 1 to 1000, as without it.")],
        responses=shapes.listed(
            FileAnswer,
            has_more=serializers.BooleanField(help_text="Some rank has more files than are told of."),
            next_cursor=serializers.CharField(allow_null=True),
        ),
    )
    def get(self, request: Request, number: int) -> Response:
        """The files that the job has written, of all its attempts."""
        job = services.get_job(Actor.of(request), number, may="jobs.view")
        limit = limit_of(request.query_params, usual=MOST_FILES_A_PAGE, most=MOST_FILES_A_PAGE)
        query = f"files of {job.pk}"
        after = Cursor.read(request.query_params.get("cursor", ""), query=query)
        found = list(files.of_job(job).filter(pk__gt=after.place[0] if after else 0).order_by("pk")[: limit + 1])
        shown = found[:limit]
        return shapes.many(
            FileAnswer,
            request,
            shown,
            more={
                "has_more": any(file.rank.has_more_files for file in shown),
                "next_cursor": str(Cursor((shown[-1].pk,), query)) if len(found) > limit else None,
            },
            job=job.pk,
            attempts={attempt.workload_id: attempt.number for attempt in job.attempts.all()},
        )


class OneFile(APIView):
    @extend_schema(
        operation_id="download_job_file",
        responses={(200, "application/octet-stream"): bytes, 202: FetchAnswer},
        parameters=[OpenApiParameter("Range", str, OpenApiParameter.HEADER, description="One range of bytes.")],
    )
    def get(self, request: Request, number: int, file_id: int) -> HttpResponseBase:
        """The bytes of a file, with single ranges.

        While it is fetched from its host: 202, how far that is, and Retry-After.
        """
        job = services.get_job(Actor.of(request), number, may="jobs.view")
        fetch = fetches.want(files.get_file(job, file_id), now=timezone.now())
        if fetch.is_complete:
            return downloads.answer(request, fetch)
        return Response(FetchAnswer(fetch).data, status=202, headers={"Retry-After": "1"})
