"""The API of a job's metrics."""

from __future__ import annotations

from django.http.response import HttpResponseBase
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from jobs import metric_marks, services
from jobs.metric_marks import MarkAnswer
from jobs.models import Job
from monitoring import metric_files, metric_queries
from monitoring import shapes as metric_shapes
from monitoring.metric_queries import Owner
from projects import shapes
from projects.actors import Actor


class Metrics(APIView):
    @extend_schema(
        operation_id="list_job_metrics",
        parameters=[metric_shapes.SEARCH, shapes.LIMIT, shapes.CURSOR],
        responses=metric_shapes.MetricNamesAnswer,
    )
    def get(self, request: Request, number: int) -> Response:
        """A job's series by name, each with its last point; 200 a page unless `limit` says less."""
        return Response(metric_queries.series(_owner(_job(request, number)), request.query_params))


class MetricCharts(APIView):
    @extend_schema(
        operation_id="list_job_charts",
        parameters=[metric_shapes.SEARCH, shapes.LIMIT, shapes.CURSOR],
        responses=metric_shapes.ChartsAnswer,
    )
    def get(self, request: Request, number: int) -> Response:
        """The charts that a job's metrics make, as its page shows them: losses first, what the system measured last."""
        return Response(metric_queries.charts(_owner(_job(request, number)), request.query_params))


class MetricLines(APIView):
    @extend_schema(operation_id="get_job_metric", parameters=metric_shapes.LINES, responses=metric_shapes.LinesAnswer)
    def get(self, request: Request, number: int) -> Response:
        """One metric of a job as buckets, a line for each attempt and rank."""
        job = _job(request, number)
        return Response(metric_queries.lines(_owner(job), metric_queries.LinesQuery.from_query(request.query_params)))


class MetricMarks(APIView):
    @extend_schema(operation_id="list_job_marks", parameters=[shapes.FIELDS], responses=shapes.listed(MarkAnswer))
    def get(self, request: Request, number: int) -> Response:
        """What a job's charts mark on their x-axis: where attempts began to run, and the checkpoints that are there."""
        return shapes.many(MarkAnswer, request, metric_marks.of_job(_job(request, number)))


class MetricsFile(APIView):
    @extend_schema(
        operation_id="download_job_metrics",
        parameters=[metric_shapes.NAMES],
        responses={(200, "text/csv"): str},
    )
    def get(self, request: Request, number: int) -> HttpResponseBase:
        """Every point of some metrics as it was measured, as CSV: name, attempt, rank, step, ms (Unix milliseconds), value."""
        job = _job(request, number)
        return metric_files.answer(_owner(job), request.query_params.getlist("name"), f"job-{job.pk}-metrics.csv")


def _job(request: Request, number: int) -> Job:
    return services.get_job(Actor.of(request), number, may="jobs.view")


def _owner(job: Job) -> Owner:
    assert job.subject
    tries = list(job.attempts.select_related("workload"))
    began = {one.workload_id: one.workload.running_at for one in tries}
    return Owner(
        job.subject,
        {one.workload_id: one.number for one in tries},
        {workload_id: int(at.timestamp() * 1000) for workload_id, at in began.items() if at},
    )
