"""The API of the files that jobs have written."""

from __future__ import annotations

from django.http.response import HttpResponseBase
from django.utils import timezone
from rest_framework.request import Request as ApiRequest
from rest_framework.response import Response
from rest_framework.views import APIView

from clusters import fetches
from jobs import downloads, files, services
from jobs.shapes import FetchShape, FileShape
from projects.actors import Actor
from projects.queries import whole

MOST_FILES_A_PAGE = 1000


class Files(APIView):
    def get(self, request: ApiRequest, number: int) -> Response:
        """Files that the job has written, of all its attempts; `cursor` is the answer's `next_cursor`.

        `has_more`: some rank has more files than are told of.
        """
        job = services.get_job(Actor.of(request), number, may="jobs.view")
        limit = max(1, min(whole(request, "limit", MOST_FILES_A_PAGE), MOST_FILES_A_PAGE))
        found = list(files.of_job(job).filter(pk__gt=whole(request, "cursor", 0)).order_by("pk")[: limit + 1])
        shown = found[:limit]
        attempts = {attempt.workload_id: attempt.number for attempt in job.attempts.all()}
        return Response(
            {
                "results": [FileShape.of(file, job=job.pk, attempt=attempts.get(file.rank.workload_id)) for file in shown],
                "has_more": any(file.rank.has_more_files for file in shown),
                "next_cursor": shown[-1].pk if len(found) > limit else None,
            }
        )


class OneFile(APIView):
    def get(self, request: ApiRequest, number: int, file_id: int) -> HttpResponseBase:
        """The file's bytes, with single ranges. While it is fetched from its host: 202, how far that is, and Retry-After."""
        job = services.get_job(Actor.of(request), number, may="jobs.view")
        fetch = fetches.want(files.get_file(job, file_id), now=timezone.now())
        if fetch.is_complete:
            return downloads.answer(request, fetch)
        return Response(FetchShape.of(fetch), status=202, headers={"Retry-After": "1"})
