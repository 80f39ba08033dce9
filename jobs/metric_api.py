"""The API of a job's metrics."""

from __future__ import annotations

from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from jobs import services
from jobs.models import Job
from monitoring import metric_queries, shapes
from projects.actors import Actor


class Metrics(APIView):
    @extend_schema(operation_id="list_job_metrics", responses=shapes.MetricNamesAnswer)
    def get(self, request: Request, number: int) -> Response:
        """Every series of a job with its last point."""
        job = services.get_job(Actor.of(request), number, may="jobs.view")
        assert job.subject
        return Response(metric_queries.all_series(job.subject, _attempts(job)))


class MetricLines(APIView):
    @extend_schema(operation_id="get_job_metric", parameters=shapes.LINES, responses=shapes.LinesAnswer)
    def get(self, request: Request, number: int) -> Response:
        """One metric of a job as buckets, a line for each attempt and rank."""
        job = services.get_job(Actor.of(request), number, may="jobs.view")
        assert job.subject
        query = metric_queries.LinesQuery.from_query(request.query_params)
        return Response(metric_queries.lines(job.subject, query, _attempts(job)))


def _attempts(job: Job) -> dict[UUID, int]:
    return {attempt.workload_id: attempt.number for attempt in job.attempts.all()}
