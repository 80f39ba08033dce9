"""The pages of hosts: all of them by cluster, and one with what an operator may do with it."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_GET, require_POST

from clusters import agent_reports, hosts, occupancy
from monitoring import events
from projects.actors import Actor

EVENTS_SHOWN = 100


@login_required
@require_GET
def host_list(request: HttpRequest) -> HttpResponse:
    by = Actor.of(request)
    found = occupancy.clusters(by)
    context = {
        "clusters": found,
        "count": sum(len(one.hosts) for one in found),
        "refresh_every_s": occupancy.refresh_every_s(found),
        "may_add": hosts.is_operator(by),
    }
    return render(request, "hosts/host_list.html", context)


@login_required
@require_GET
def host_page(request: HttpRequest, host_id: UUID) -> HttpResponse:
    return render(request, "hosts/host.html", _context(request, host_id))


@login_required
@require_POST
def create_cordon(request: HttpRequest, host_id: UUID) -> HttpResponse:
    by = Actor.of(request)
    host = hosts.get_host(by, str(host_id), edit=True)
    hosts.cordon(host=host, reason=hosts.reason_of(request.POST), by=by, now=timezone.now())
    return _changed(request, host_id)


@login_required
@require_POST
def remove_cordon(request: HttpRequest, host_id: UUID) -> HttpResponse:
    by = Actor.of(request)
    hosts.uncordon(host=hosts.get_host(by, str(host_id), edit=True), by=by, now=timezone.now())
    return _changed(request, host_id)


@login_required
@require_POST
def create_drain(request: HttpRequest, host_id: UUID) -> HttpResponse:
    by = Actor.of(request)
    host = hosts.get_host(by, str(host_id), edit=True)
    hosts.drain(host=host, reason=hosts.reason_of(request.POST), by=by, now=timezone.now())
    return _changed(request, host_id)


@login_required
@require_POST
def create_retirement(request: HttpRequest, host_id: UUID) -> HttpResponse:
    by = Actor.of(request)
    hosts.retire(host=hosts.get_host(by, str(host_id), edit=True), by=by, now=timezone.now())
    return _changed(request, host_id)


def _changed(request: HttpRequest, host_id: UUID) -> HttpResponse:
    if not request.headers.get("HX-Request"):
        return redirect("host", host_id)
    return render(request, "hosts/_host_header.html", _context(request, host_id))


def _context(request: HttpRequest, host_id: UUID) -> dict[str, Any]:
    by = Actor.of(request)
    host = hosts.get_host(by, str(host_id))
    seq = host.subject.seq
    return {
        "host": host,
        "cluster": host.slice.cluster,
        "view": occupancy.view(host, by),
        "past": occupancy.past(host, by),
        "events": events.since(host.subject, max(0, seq - EVENTS_SHOWN), EVENTS_SHOWN),
        "may_edit": hosts.is_operator(by),
        "agent": agent_reports.of(host, by),
    }
