"""The launch form's page, what it tells while it is being filled in, and the launch itself."""

from __future__ import annotations

import hashlib
import json
import secrets as random
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from clusters import catalogue, free, scheduling
from clusters.models import Cluster
from jobs import as_script, definitions, services
from jobs.forms import LaunchForm, accelerators
from jobs.launch_shapes import Launch
from jobs.models import DefinitionVersion, Job, JobDefinition
from jobs.values import is_storable
from projects import idempotency, secrets
from projects.access import get_project, projects_with, visible_projects
from projects.actors import Actor
from projects.errors import Forbidden, Invalid, NotFound
from projects.models import Project

ARCHIVE_KINDS = ".tar.gz,.tgz,.tar,.zip"  # what a file is chosen from


@login_required
@never_cache  # a form that "back" brings out of a cache would have a key that was used
@require_http_methods(["GET", "HEAD", "POST"])
def launch_page(request: HttpRequest) -> HttpResponse:
    return _create(request) if request.method == "POST" else _open(request)


def _open(request: HttpRequest) -> HttpResponse:
    """Filled in as the definition has it, or as the job `from` was launched."""
    by = Actor.of(request)
    if old := request.GET.get("from"):
        if not _is_number(old):
            raise NotFound("no-such-job", _("There is no job %(number)s.") % {"number": old[:18]})
        job = services.get_job(by, int(old), may="jobs.launch")
        version = definitions.get_version(job.project, job.version.definition.slug)
        return _page(request, by, job.project, LaunchForm.of_job(job, version))
    project = _chosen_project(by, request.GET.get("project", ""))
    if project is None:
        return render(request, "jobs/launch_none.html")
    slug, number = request.GET.get("definition", ""), _pinned(request)
    if number is None:
        found = _chosen_definition(project, slug, by)
        form = LaunchForm.fresh(project, definitions.get_version(project, found.slug)) if found else None
    else:
        form = LaunchForm.fresh(project, definitions.get_version(project, _name(slug), number))
        form.is_pinned = True
    return _page(request, by, project, form)


def _create(request: HttpRequest) -> HttpResponse:
    by = Actor.of(request)
    project, version = _posted(request, by)
    form = LaunchForm.posted(project, version, request.POST, request.FILES, by)
    form.is_pinned = _pinned(request) is not None
    try:
        number = _launch(request, form, by)
    except Invalid as refused:
        wrong, _request = form.check()
        form.refuse(refused.fields | wrong)
        return _page(request, by, project, form, status=422)
    if request.headers.get("HX-Request"):
        return HttpResponse(headers={"HX-Redirect": reverse("job", args=[number])})
    return redirect("job", number)


def _launch(request: HttpRequest, form: LaunchForm, by: Actor) -> int:
    """The new job's number; the same number again for the same form sent again. Raises Invalid."""
    asked = Launch.from_body(form.body)
    if form.unread:
        raise Invalid(form.unread)
    if request.POST.get("version", str(form.version.number)) != str(form.version.number):
        sentence = _(
            "The definition has changed since this form was opened: it is version %(number)s now. Look again, then launch."
        )
        raise Invalid({"": sentence % {"number": form.version.number}})

    def make() -> idempotency.Answer:
        job = services.launch(project=form.project, version=form.version, **asked.wanted, by=by, now=timezone.now())
        return 201, {"number": job.pk}

    key = request.POST.get("key") or random.token_urlsafe(16)
    _status, body, _is_replayed = idempotency.once_a_form(key, form.body, by, make)
    return int(body["number"])


@login_required
@require_POST
def create_preview(request: HttpRequest) -> HttpResponse:
    """What the form as it is now would do: asked again every 5 s and at each change. 204: as the page has it already."""
    by = Actor.of(request)
    project, version = _posted(request, by)
    form = LaunchForm.posted(project, version, request.POST, request.FILES)
    form.is_pinned = _pinned(request) is not None
    context = _preview(form)
    context["problems"] = form.problems(context.pop("wrong"))
    context["form"] = form
    if context["seen"] == request.POST.get("seen"):
        return HttpResponse(status=204)
    return render(request, "jobs/_launch_preview.html", context | {"is_refresh": True})


def _page(request: HttpRequest, by: Actor, project: Project, form: LaunchForm | None, status: int = 200) -> HttpResponse:
    context: dict[str, Any] = {
        "project": project,
        "project_choices": projects_with(by, "jobs.launch").order_by("slug"),
        "definition_choices": project.definitions.launchable().order_by("slug"),
        "form": form,
    }
    if form:
        context |= _preview(form) | {
            "key": request.POST.get("key") or random.token_urlsafe(16),
            "is_posted": status != 200,
            "old": _old(request),
            "newest": definitions.get_version(project, form.version.definition.slug).number if form.is_pinned else None,
            "secret_names": sorted({*secrets.names(project), *form.secrets}),
            "archive_kinds": ARCHIVE_KINDS,
        }
    return render(request, "jobs/launch.html", context, status=status)


def _preview(form: LaunchForm) -> dict[str, Any]:
    """What is free, what would happen, and the request as a script would send it; `seen` differs when any of it does."""
    inventory = scheduling.inventory()
    rooms = free.rooms(Cluster.objects.all(), inventory)
    wrong, request = form.check()
    chips = request.chips if request else 0
    found: dict[str, Any] = {
        "rooms": rooms,
        "accelerators": accelerators(form, rooms),
        "outlook": free.outlook(request, inventory) if request else None,
        "amount": catalogue.amount(chips, request.accelerator) if request else "",
        "scripts": _scripts(form),
        "wrong": wrong,
    }
    told = [repr(rooms), repr(found["outlook"]), found["amount"], repr(found["scripts"]), json.dumps(wrong, sort_keys=True)]
    return found | {"seen": hashlib.sha256("\0".join(told).encode(errors="replace")).hexdigest()[:16]}


def _scripts(form: LaunchForm) -> list[tuple[str, str, str]]:
    """(kind, title, text) of each way to launch exactly this without the page."""
    body = form.short_body
    return [
        ("curl", "curl", as_script.launch_request(body)),
        ("command", _("Command line"), as_script.launch_command(body)),
        ("python", "Python", as_script.launch_python(body)),
    ]


def _posted(request: HttpRequest, by: Actor) -> tuple[Project, DefinitionVersion]:
    project = get_project(by, _name(request.POST.get("project", "")), may="jobs.launch")
    return project, definitions.get_version(project, _name(request.POST.get("definition", "")), _pinned(request))


def _pinned(request: HttpRequest) -> int | None:
    """The number of the version that the address or the form asks for; None: the newest."""
    text = request.POST.get("pinned", "") or request.GET.get("version", "")
    if text and not _is_number(text):
        raise NotFound("no-such-version", _("There is no version %(number)s.") % {"number": text[:18]})
    return int(text) if text else None


def _chosen_project(by: Actor, slug: str) -> Project | None:
    """The asked one, else the first in which `by` may launch. None: there is no project at all to see."""
    if slug:
        return get_project(by, _name(slug), may="jobs.launch")
    first = projects_with(by, "jobs.launch").select_related("team").order_by("slug").first()
    if first is None and visible_projects(by).exists():
        raise Forbidden("role", _("You may look at jobs but not launch them: that needs the role member in a team."))
    return first


def _chosen_definition(project: Project, slug: str, by: Actor) -> JobDefinition | None:
    """The asked one (an archived one is refused later), else what `by` launched last here, else the plain command, else any."""
    all_of_it = {one.slug: one for one in project.definitions.order_by("slug")}
    if slug in all_of_it:
        return all_of_it[slug]
    found = {name: one for name, one in all_of_it.items() if one.archived_at is None}
    last = Job.objects.filter(project=project, created_by=by.user.pk).order_by("-pk")
    before = last.values_list("version__definition__slug", flat=True).first()
    return found.get(before or "command") or next(iter(found.values()), None)


def _old(request: HttpRequest) -> str:
    """The number of the job that the form was filled from."""
    text = request.POST.get("from", "") or request.GET.get("from", "")
    return text if _is_number(text) else ""


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= 18


def _name(text: str) -> str:
    if not is_storable(text):
        raise NotFound("no-such-project", _("There is nothing of this name."))
    return text
