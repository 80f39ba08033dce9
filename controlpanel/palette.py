"""The command palette: from a few letters to a job, a page, a launch, a host or a project. By Ctrl-K; a page without scripts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from urllib.parse import urlencode

from django.contrib.auth.decorators import login_required
from django.db.models import Max, Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.cache import patch_vary_headers
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET

from clusters import hosts
from clusters.models import Host
from clusters.states import HostState
from jobs.models import Job, JobDefinition
from jobs.values import is_storable
from projects.access import projects_with, visible_projects
from projects.actors import Actor

SHOWN = 6  # of a kind
MOST_CHARACTERS = 100
LOOKED_AT = 20_000  # the newest jobs; an older one is found by its number, or by the list's own search


@dataclass(frozen=True)
class Found:
    """A line of the palette: where it leads, and what is to be seen of it before."""

    title: str
    link: str
    detail: str = ""
    icon: str = ""
    state: str = ""


@dataclass(frozen=True)
class Group:
    title: str
    found: list[Found] = field(default_factory=list)


@login_required
@require_GET
def palette(request: HttpRequest) -> HttpResponse:
    sought = request.GET.get("q", "").strip()[:MOST_CHARACTERS]
    context = {"sought": sought, "groups": groups(Actor.of(request), sought) if is_storable(sought) else []}
    is_page = not request.headers.get("HX-Request")
    answer = render(request, "palette/palette.html" if is_page else "palette/_found.html", context | {"is_page": is_page})
    patch_vary_headers(answer, ["HX-Request"])
    return answer


def groups(by: Actor, sought: str) -> list[Group]:
    """What fits, by kind; without a text one's last jobs and the pages."""
    found = [
        Group(_("Jobs"), _jobs(by, sought)),
        Group(_("Go to"), _pages(by, sought)),
        Group(_("Launch"), _definitions(by, sought)),
        Group(_("Hosts"), _hosts(sought)),
        Group(_("Projects"), _projects(by, sought)),
    ]
    return [group for group in found if group.found]


def _jobs(by: Actor, sought: str) -> list[Found]:
    jobs = Job.objects.visible_to(by.user).select_related("project").only("pk", "name", "state", "project__slug")
    number = sought.removeprefix("#")
    if not sought:
        jobs = jobs.filter(created_by=by.user.pk)
    elif number.isascii() and number.isdecimal() and len(number) <= 18:
        jobs = jobs.filter(Q(pk=int(number)) | _named(number))
    else:
        jobs = jobs.filter(_named(sought))
    return [
        Found(job.name, reverse("job", args=[job.pk]), detail=f"#{job.pk} {job.project.slug}", state=job.state)
        for job in jobs.order_by("-pk")[:SHOWN]
    ]


def _named(text: str) -> Q:
    """Of a recent job: among a million names a text that is in none would be looked for in all."""
    newest = Job.objects.aggregate(newest=Max("pk"))["newest"] or 0
    return Q(name__icontains=text, pk__gt=newest - LOOKED_AT)


def _pages(by: Actor, sought: str) -> list[Found]:
    jobs = reverse("job-list")
    pages = [
        Found(_("Home"), reverse("home"), icon="layout-dashboard"),
        Found(_("Jobs"), jobs, icon="player-play"),
        Found(_("My jobs"), f"{jobs}?owner=me", icon="player-play"),
        Found(_("Running jobs"), f"{jobs}?state=running", icon="player-play"),
        Found(_("Failed jobs"), f"{jobs}?state=failed", icon="player-play"),
        Found(_("Definitions"), reverse("definition-list"), icon="file-text"),
        Found(_("New definition"), reverse("definition-new"), icon="plus"),
        Found(_("Clusters"), reverse("host-list"), icon="cpu"),
        Found(_("Teams"), reverse("team-list"), icon="users"),
        Found(_("Audit"), reverse("audit"), icon="history"),
        Found(_("Notices"), reverse("notices"), icon="bell"),
        Found(_("API tokens"), reverse("token-list"), icon="key"),
        Found(_("API documentation"), reverse("api-reference"), icon="book"),
    ]
    if hosts.is_operator(by):
        pages.append(Found(_("Add a host"), reverse("host-new"), icon="plus"))
    return _fitting(pages, sought)


def _definitions(by: Actor, sought: str) -> list[Found]:
    """What one may launch. Without a text none: one's own last jobs say it better."""
    if not sought:
        return []
    known = JobDefinition.objects.launchable().filter(project__in=projects_with(by, "jobs.launch"))
    named = known.filter(Q(slug__icontains=sought) | Q(title__icontains=sought)).select_related("project")
    return [
        Found(
            one.title,
            f"{reverse('job-launch')}?{urlencode({'project': one.project.slug, 'definition': one.slug})}",
            detail=one.project.slug,
            icon="player-play",
        )
        for one in named.order_by("title", "pk")[:SHOWN]
    ]


def _hosts(sought: str) -> list[Found]:
    if not sought:
        return []
    named = Host.objects.exclude(state=HostState.RETIRED).filter(name__icontains=sought).order_by("name")
    return [Found(host.name, reverse("host", args=[host.pk]), state=host.state) for host in named[:SHOWN]]


def _projects(by: Actor, sought: str) -> list[Found]:
    if not sought:
        return []
    named = visible_projects(by).select_related("team").filter(Q(slug__icontains=sought) | Q(name__icontains=sought))
    return [
        Found(one.slug, f"{reverse('job-list')}?{urlencode({'project': one.slug})}", detail=one.team.slug, icon="folder")
        for one in named.order_by("slug")[:SHOWN]
    ]


def _fitting(pages: Iterable[Found], sought: str) -> list[Found]:
    words = sought.lower().split()
    return [page for page in pages if all(word in page.title.lower() for word in words)]
