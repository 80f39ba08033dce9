"""The API of a job's metrics."""

from __future__ import annotations

from uuid import UUID

from rest_framework.request import Request as ApiRequest
from rest_framework.response import Response
from rest_framework.views import APIView

from jobs import services
from jobs.models import Job
from monitoring import metric_queries
from projects.actors import Actor


class Metrics(APIView):
    def get(self, request: ApiRequest, number: int) -> Response:
        """Every series of the job with its last point."""
        job = services.get_job(Actor.of(request), number, may="jobs.view")
        assert job.subject
        return Response(metric_queries.all_series(job.subject, _attempts(job)))


class MetricLines(APIView):
    def get(self, request: ApiRequest, number: int) -> Response:
        """One metric as buckets: `name`; `by` step or wall; `start` and `end` on that axis; at most `buckets` a line."""
        job = services.get_job(Actor.of(request), number, may="jobs.view")
        assert job.subject
        query = metric_queries.LinesQuery.from_query(request.query_params)
        return Response(metric_queries.lines(job.subject, query, _attempts(job)))


def _attempts(job: Job) -> dict[UUID, int]:
    return {attempt.workload_id: attempt.number for attempt in job.attempts.all()}
