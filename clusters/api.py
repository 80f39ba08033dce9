"""The API of hosts (what there is, cordon, uncordon, retire, tokens that enrol new ones) and of uploaded sources."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.db import transaction
from django.urls import path
from django.utils import timezone
from django.utils.translation import gettext as _
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from clusters import enrolment, hosts, install, silence, sources, workloads
from clusters.models import Cluster, Host, Workload
from clusters.states import Wanted
from monitoring import metric_queries
from projects import audit
from projects.access import get_project
from projects.actors import Actor
from projects.errors import Conflict, Invalid, NotFound


class Clusters(APIView):
    def get(self, request: Request) -> Response:
        found = Cluster.objects.order_by("name")
        return Response(
            {"results": [{"name": c.name, "accelerator": c.accelerator, "lost_after_s": c.lost_after_s} for c in found]}
        )


class Hosts(APIView):
    def get(self, request: Request) -> Response:
        """All hosts in service, with their chips and how long each has been silent."""
        found = (
            Host.objects.in_service()
            .select_related("slice__cluster")
            .prefetch_related("chips")
            .order_by("slice__cluster__name", "name", "pk")
        )
        heard_by = silence.listening()
        return Response({"results": [_host_shape(host, silence.silence_s(host, heard_by)) for host in found]})


class OneHost(APIView):
    def get(self, request: Request, host_id: str) -> Response:
        host = hosts.get_host(Actor.of(request), host_id)
        return Response(_host_shape(host, silence.silence_s(host, silence.listening())))


class Metrics(APIView):
    def get(self, request: Request, host_id: str) -> Response:
        """Every series of the host's own samples with its last point."""
        host = hosts.get_host(Actor.of(request), host_id)
        return Response(metric_queries.all_series(host.subject, {}))


class MetricLines(APIView):
    def get(self, request: Request, host_id: str) -> Response:
        """One of them as buckets: `name`; `by` wall; `start` and `end` in Unix ms; at most `buckets` a line."""
        host = hosts.get_host(Actor.of(request), host_id)
        return Response(metric_queries.lines(host.subject, metric_queries.LinesQuery.from_query(request.query_params), {}))


class Cordon(APIView):
    """A cordon is made and taken away: nothing new is placed on the host while it is there."""

    def post(self, request: Request, host_id: str) -> Response:
        by = Actor.of(request)
        host = hosts.get_host(by, host_id, edit=True)
        hosts.cordon(host=host, reason=hosts.reason_of(request.data), by=by, now=timezone.now())
        return Response(status=204)

    def delete(self, request: Request, host_id: str) -> Response:
        by = Actor.of(request)
        hosts.uncordon(host=hosts.get_host(by, host_id, edit=True), by=by, now=timezone.now())
        return Response(status=204)


class Retirement(APIView):
    def post(self, request: Request, host_id: str) -> Response:
        by = Actor.of(request)
        hosts.retire(host=hosts.get_host(by, host_id, edit=True), by=by, now=timezone.now())
        return Response(status=204)


class EnrolmentTokens(APIView):
    def post(self, request: Request, name: str) -> Response:
        """A token that enrols one machine into the cluster within an hour; shown once."""
        by = Actor.of(request)
        hosts.check_operator(by)
        cluster = Cluster.objects.filter(name=name).first()
        if cluster is None:
            raise NotFound("no-such-cluster", _("There is no cluster %(name)s.") % {"name": name})
        now = timezone.now()
        token = enrolment.issue(cluster=cluster, by=by, now=now)
        return Response(
            {"token": token, "expires_at": now + enrolment.VALID_FOR, "command": install.command(token)},
            status=201,
            headers={"Cache-Control": "no-store"},
        )


class Abandonment(APIView):
    def post(self, request: Request, workload_id: str) -> Response:
        """End a stopping workload without its host: chips are free at once, processes may still run there."""
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

    def post(self, request: Request, slug: str) -> Response:
        """An archive as the form field `archive` (.tar.gz or .zip); its digest is what a launch names."""
        by = Actor.of(request)
        project = get_project(by, slug, may="jobs.launch")
        file = request.FILES.get("archive")
        if file is None or isinstance(file, list):
            raise Invalid({"archive": _("a file is needed")})
        made = sources.upload(project=project, name=file.name or "", file=file, by=by, now=timezone.now())
        return Response({"digest": made.source_id, "name": made.name, "size_bytes": made.source.size_bytes}, status=201)


def _host_shape(host: Host, silent_s: float) -> dict[str, Any]:
    chips = host.chips.all()
    return {
        "id": str(host.pk),
        "name": host.name,
        "cluster": host.slice.cluster.name,
        "accelerator": host.slice.cluster.accelerator,
        "state": host.state,
        "is_silent": silent_s > settings.PLACE_SILENT_S,
        "silent_s": round(silent_s, 1),
        "cordon_reason": host.cordon_reason,
        "chips": len(chips),
        "free_chips": sum(chip.workload_id is None for chip in chips),
        "heard_at": host.heard_at,
        "agent_version": host.agent_version,
        "clock_offset_ms": host.clock_offset_ms,
        "disk_free_bytes": host.disk_free_bytes,
    }


urlpatterns = [
    path("clusters", Clusters.as_view()),
    path("clusters/<str:name>/enrolment-tokens", EnrolmentTokens.as_view()),
    path("hosts", Hosts.as_view()),
    path("hosts/<str:host_id>", OneHost.as_view()),
    path("hosts/<str:host_id>/metrics", Metrics.as_view()),
    path("hosts/<str:host_id>/metrics/lines", MetricLines.as_view()),
    path("hosts/<str:host_id>/cordon", Cordon.as_view()),
    path("hosts/<str:host_id>/retirement", Retirement.as_view()),
    path("projects/<str:slug>/sources", Sources.as_view()),
    path("workloads/<uuid:workload_id>/abandonment", Abandonment.as_view()),
]
