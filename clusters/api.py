"""The API of hosts (what there is, cordon, uncordon, retire, tokens that enrol new ones) and of uploaded sources."""

from __future__ import annotations

from typing import ClassVar

from django.db import transaction
from django.http.response import HttpResponseBase
from django.urls import path
from django.utils import timezone
from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema, inline_serializer
from rest_framework import serializers
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from clusters import agent_reports, enrolment, hosts, install, silence, sources, workloads
from clusters.models import Cluster, Host, Workload
from clusters.shapes import AgentReportAnswer, ClusterAnswer, CordonBody, EnrolmentTokenAnswer, HostAnswer, SourceAnswer
from clusters.states import Wanted
from monitoring import metric_files, metric_queries
from monitoring import shapes as metric_shapes
from monitoring.metric_queries import Owner
from projects import audit, shapes
from projects.access import get_project
from projects.actors import Actor
from projects.errors import Conflict, Invalid, NotFound


class Clusters(APIView):
    @extend_schema(operation_id="list_clusters", parameters=[shapes.FIELDS], responses=shapes.listed(ClusterAnswer))
    def get(self, request: Request) -> Response:
        """All clusters; hosts belong to no team."""
        return shapes.many(ClusterAnswer, request, Cluster.objects.order_by("name"))


class Hosts(APIView):
    @extend_schema(operation_id="list_hosts", parameters=[shapes.FIELDS], responses=shapes.listed(HostAnswer))
    def get(self, request: Request) -> Response:
        """All hosts in service, with their chips and how long each has been silent."""
        found = (
            Host.objects.in_service()
            .select_related("slice__cluster")
            .prefetch_related("chips")
            .order_by("slice__cluster__name", "name", "pk")
        )
        return shapes.many(HostAnswer, request, found, heard_by=silence.listening())


class OneHost(APIView):
    @extend_schema(operation_id="get_host", parameters=[shapes.FIELDS], responses=HostAnswer)
    def get(self, request: Request, host_id: str) -> Response:
        """One host, as it is now."""
        return shapes.one(HostAnswer, request, hosts.get_host(Actor.of(request), host_id), heard_by=silence.listening())


class AgentReports(APIView):
    @extend_schema(operation_id="get_agent_report", parameters=[shapes.FIELDS], responses=AgentReportAnswer)
    def get(self, request: Request, host_id: str) -> Response:
        """What the host's agent last said of itself: the end of its log (for operators) and the runtimes built there."""
        by = Actor.of(request)
        return shapes.one(AgentReportAnswer, request, agent_reports.of(hosts.get_host(by, host_id), by))


class Metrics(APIView):
    @extend_schema(
        operation_id="list_host_metrics",
        parameters=[metric_shapes.SEARCH, shapes.LIMIT, shapes.CURSOR],
        responses=metric_shapes.MetricNamesAnswer,
    )
    def get(self, request: Request, host_id: str) -> Response:
        """The series of the host's own samples by name, each with its last point; 200 a page unless `limit` says less."""
        host = hosts.get_host(Actor.of(request), host_id)
        return Response(metric_queries.series(Owner(host.subject), request.query_params))


class MetricCharts(APIView):
    @extend_schema(
        operation_id="list_host_charts",
        parameters=[metric_shapes.SEARCH, shapes.LIMIT, shapes.CURSOR],
        responses=metric_shapes.ChartsAnswer,
    )
    def get(self, request: Request, host_id: str) -> Response:
        """The charts that the names of the host's own samples make."""
        host = hosts.get_host(Actor.of(request), host_id)
        return Response(metric_queries.charts(Owner(host.subject), request.query_params))


class MetricLines(APIView):
    @extend_schema(operation_id="get_host_metric", parameters=metric_shapes.LINES, responses=metric_shapes.LinesAnswer)
    def get(self, request: Request, host_id: str) -> Response:
        """One of the host's own samples as buckets, by wall."""
        host = hosts.get_host(Actor.of(request), host_id)
        query = metric_queries.LinesQuery.from_query(request.query_params)
        return Response(metric_queries.lines(Owner(host.subject), query))


class MetricsFile(APIView):
    @extend_schema(operation_id="download_host_metrics", parameters=[metric_shapes.NAMES], responses={(200, "text/csv"): str})
    def get(self, request: Request, host_id: str) -> HttpResponseBase:
        """Every point of some of the host's own samples, as CSV: name, attempt, rank, step, ms (Unix milliseconds), value."""
        host = hosts.get_host(Actor.of(request), host_id)
        return metric_files.answer(Owner(host.subject), request.query_params.getlist("name"), f"host-{host.pk}-metrics.csv")


class Cordon(APIView):
    """A cordon is made and taken away: nothing new is placed on the host while it is there."""

    @extend_schema(operation_id="cordon_host", request=CordonBody, responses={204: None})
    def post(self, request: Request, host_id: str) -> Response:
        """Place nothing new on a host; what runs there goes on. For operators."""
        by = Actor.of(request)
        host = hosts.get_host(by, host_id, edit=True)
        hosts.cordon(host=host, reason=hosts.reason_of(request.data), by=by, now=timezone.now())
        return Response(status=204)

    @extend_schema(operation_id="uncordon_host", responses={204: None})
    def delete(self, request: Request, host_id: str) -> Response:
        """Let a cordoned host take work again. For operators."""
        by = Actor.of(request)
        hosts.uncordon(host=hosts.get_host(by, host_id, edit=True), by=by, now=timezone.now())
        return Response(status=204)


class DrainAnswer(shapes.Answer):
    example: ClassVar = {"stopping": 2}
    stopping = serializers.IntegerField(help_text="Pieces of work that were asked to stop, each within its own grace.")


class Drain(APIView):
    @extend_schema(operation_id="drain_host", request=CordonBody, responses={202: DrainAnswer})
    def post(self, request: Request, host_id: str) -> Response:
        """Cordon a host and stop what runs on it, so that it starts elsewhere. For operators.

        Jobs spend no try on it and keep their place in the line. Asked again nothing is asked of them anew.
        """
        by = Actor.of(request)
        host = hosts.get_host(by, host_id, edit=True)
        count = hosts.drain(host=host, reason=hosts.reason_of(request.data), by=by, now=timezone.now())
        return shapes.one(DrainAnswer, request, {"stopping": count}, status=202)


class Retirement(APIView):
    @extend_schema(operation_id="retire_host", request=None, responses={204: None})
    def post(self, request: Request, host_id: str) -> Response:
        """Take a host out of service for good; what runs on it ends. For operators."""
        by = Actor.of(request)
        hosts.retire(host=hosts.get_host(by, host_id, edit=True), by=by, now=timezone.now())
        return Response(status=204)


class EnrolmentTokens(APIView):
    @extend_schema(operation_id="invite_host", request=None, responses={201: EnrolmentTokenAnswer})
    def post(self, request: Request, name: str) -> Response:
        """A token that enrols one machine into the cluster within an hour; shown once. For operators."""
        by = Actor.of(request)
        hosts.check_operator(by)
        cluster = Cluster.objects.filter(name=name).first()
        if cluster is None:
            raise NotFound("no-such-cluster", _("There is no cluster %(name)s.") % {"name": name})
        now = timezone.now()
        token = enrolment.issue(cluster=cluster, by=by, now=now)
        made = {"token": token, "expires_at": now + enrolment.VALID_FOR, "command": install.command(token)}
        return Response(EnrolmentTokenAnswer(made).data, status=201, headers={"Cache-Control": "no-store"})


class Abandonment(APIView):
    @extend_schema(operation_id="abandon_workload", request=None, responses={204: None})
    def post(self, request: Request, workload_id: str) -> Response:
        """End a stopping workload without its host. For operators.

        Its chips are free at once; processes of it may still run there.
        """
        by = Actor.of(request)
        hosts.check_operator(by)
        workload = Workload.objects.filter(pk=workload_id).select_related("subject", "project").first()
        if workload is None:
            raise NotFound("no-such-workload", _("There is no such workload."))
        if workload.wanted != Wanted.STOP:
            raise Conflict("not-stopping", _("Only work that is to stop can be ended without its host. Cancel it first."))
        with transaction.atomic():
            audit.record("workload.abandon", by=by, subject=workload.subject, project=workload.project, workload=str(workload.pk))
            workloads.abandon(workload.pk, now=timezone.now())
        return Response(status=204)


class Sources(APIView):
    parser_classes = (MultiPartParser,)

    @extend_schema(
        operation_id="upload_source",
        request={"multipart/form-data": inline_serializer("SourceUpload", {"archive": serializers.FileField()})},
        responses={201: SourceAnswer},
    )
    def post(self, request: Request, slug: str) -> Response:
        """Upload code: a .tar.gz or .zip as the form field `archive`; its digest is what a launch names."""
        by = Actor.of(request)
        project = get_project(by, slug, may="jobs.launch")
        file = request.FILES.get("archive")
        if file is None or isinstance(file, list):
            raise Invalid({"archive": _("a file is needed")})
        made = sources.upload(project=project, name=file.name or "", file=file, by=by, now=timezone.now())
        found = {"digest": made.source_id, "name": made.name, "size_bytes": made.source.size_bytes}
        return Response(SourceAnswer(found).data, status=201)


urlpatterns = [
    path("clusters", Clusters.as_view()),
    path("clusters/<str:name>/enrolment-tokens", EnrolmentTokens.as_view()),
    path("hosts", Hosts.as_view()),
    path("hosts/<str:host_id>", OneHost.as_view()),
    path("hosts/<str:host_id>/agent-report", AgentReports.as_view()),
    path("hosts/<str:host_id>/drain", Drain.as_view()),
    path("hosts/<str:host_id>/metrics", Metrics.as_view()),
    path("hosts/<str:host_id>/metrics/charts", MetricCharts.as_view()),
    path("hosts/<str:host_id>/metrics/lines", MetricLines.as_view()),
    path("hosts/<str:host_id>/metrics/file", MetricsFile.as_view()),
    path("hosts/<str:host_id>/cordon", Cordon.as_view()),
    path("hosts/<str:host_id>/retirement", Retirement.as_view()),
    path("projects/<str:slug>/sources", Sources.as_view()),
    path("workloads/<uuid:workload_id>/abandonment", Abandonment.as_view()),
]
