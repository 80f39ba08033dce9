"""The first page: chips, my jobs, hosts in trouble; to whom has no job yet, the steps to the first launch."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from clusters import hosts, occupancy
from clusters.pools import pools, troubles
from jobs import home as own_jobs
from projects.access import projects_with, visible_projects
from projects.actors import Actor
from projects.errors import Invalid


@login_required
@require_GET
def home(request: HttpRequest) -> HttpResponse:
    by, now = Actor.of(request), timezone.now()
    clusters = occupancy.clusters(by)
    projects = list(visible_projects(by).select_related("team").order_by("slug"))
    context = {
        "pools": pools(clusters),
        "troubles": troubles(clusters),
        "host_count": sum(len(one.hosts) for one in clusters),
        "ready_count": sum(view.takes_work for one in clusters for view in one.hosts),
        "refresh_every_s": occupancy.refresh_every_s(clusters),
        "projects": projects,
        "may_launch": projects_with(by, "jobs.launch").exists(),
        "may_add_hosts": hosts.is_operator(by),
        "is_new": not own_jobs.has_any_job(by),
    }
    if context["is_new"]:
        context |= {"has_definition": own_jobs.has_any_definition(projects)}
    else:
        context |= {
            "mine": own_jobs.open_jobs_of(by),
            "waiting": own_jobs.waiting_in(projects, by),
            "ended": own_jobs.ended_since(by, now=now),
        }
    return render(request, "home.html", context)


@login_required
@require_POST
def mark_seen(request: HttpRequest) -> HttpResponse:
    """What the page showed as ended is not shown again; what has ended since it was drawn still is."""
    try:
        until = parse_datetime(request.POST.get("until", ""))
    except ValueError:
        until = None
    if until is None or timezone.is_naive(until):
        raise Invalid({"until": _("A moment with its zone is needed.")})
    own_jobs.mark_seen(Actor.of(request), until=min(until, timezone.now()))
    return redirect("home")


@login_required
@require_GET
def conditions(request: HttpRequest) -> HttpResponse:
    """What is the matter with the panel, for pages that are open."""
    return render(request, "_conditions.html")
