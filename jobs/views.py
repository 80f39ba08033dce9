"""The pages of jobs: the list, one job, its cancellation, and its files."""

from __future__ import annotations

import json
import shlex
from typing import Any

from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_GET, require_POST

from clusters import fetches
from jobs import downloads, files, progress, services
from jobs.models import Job
from jobs.shapes import Page
from monitoring import events, logs
from monitoring.models import Event
from projects.access import get_project, may_do, visible_projects
from projects.actors import Actor

EVENTS_SHOWN = 500


@login_required
@require_GET
def job_list(request: HttpRequest) -> HttpResponse:
    by, page = Actor.of(request), Page.from_query(request.GET.dict())
    projects = list(visible_projects(by).select_related("team").order_by("slug"))
    chosen = [get_project(by, page.project, may="jobs.view")] if page.project else projects
    jobs = list(Job.objects.for_display().before(page.cursor).filter(project__in=chosen).order_by("-pk")[: page.limit + 1])
    more = len(jobs) > page.limit
    shown = jobs[: page.limit]
    known = progress.of_jobs(shown)
    context = {
        "rows": [(job, known.get(job.pk)) for job in shown],
        "jobs": shown,
        "next_cursor": shown[-1].pk if more else None,
        "project_choices": projects,
    }
    return render(request, "jobs/job_list.html", context)


@login_required
@require_GET
def job_page(request: HttpRequest, number: int) -> HttpResponse:
    return render(request, "jobs/job.html", _context(request, number))


@login_required
@require_POST
def create_cancellation(request: HttpRequest, number: int) -> HttpResponse:
    by = Actor.of(request)
    job = services.get_job(by, number, may="jobs.cancel")
    services.cancel(job=job, by=by, now=timezone.now(), force="force" in request.POST)
    if not request.headers.get("HX-Request"):
        return redirect("job", number)
    return render(request, "jobs/_job_header.html", _context(request, number))


@login_required
@require_GET
def job_file(request: HttpRequest, number: int, file_id: int) -> HttpResponseBase:
    """The file as a download; while it is on its way, a page that loads itself again."""
    job = services.get_job(Actor.of(request), number, may="jobs.view")
    file = files.get_file(job, file_id)
    fetch = fetches.want(file, now=timezone.now())
    if fetch.is_complete:
        return downloads.answer(request, fetch)
    context = {"job": job, "file": file, "fetch": fetch, "why": fetches.why_it_waits(fetch)}
    page = render(request, "jobs/job_file.html", context, status=202)
    page["Refresh"] = "1"
    return page


def _context(request: HttpRequest, number: int) -> dict[str, Any]:
    by = Actor.of(request)
    job = services.get_job(by, number, may="jobs.view")
    assert job.subject
    heads = logs.heads(job.subject)
    return {
        "job": job,
        "progress": progress.of_job(job),
        "workload": job.workload,
        "attempts": list(job.attempts.all()),
        "events": _shown(events.since(job.subject, max(0, job.subject.seq - EVENTS_SHOWN), EVENTS_SHOWN)),
        "logs": [
            vars(head) | {"complete": head.final_offset is not None and head.head_offset >= head.final_offset} for head in heads
        ],
        "files": files.shown(job),
        "may_cancel": may_do(by, job.project, "jobs.cancel"),
        "parameters": {name: value if isinstance(value, str) else json.dumps(value) for name, value in job.parameters.items()},
        "command_line": shlex.join(job.spec.command),
        "curl": _curl(job),
    }


def _shown(found: list[Event]) -> list[Event]:
    """The job's own: what its workload did is told by what the job did with it."""
    return [event for event in found if not event.code.startswith("workload.")]


def _curl(job: Job) -> str:
    """The request that launches the same again."""
    body = {
        "project": job.project.slug,
        "definition": job.version.definition.slug,
        "name": job.name,
        "parameters": job.parameters,
        "resources": {name: value for name, value in job.request_json.items() if value != ""},
    }
    text = shlex.quote(json.dumps(body, ensure_ascii=False))
    return f'curl {settings.PUBLIC_URL}/api/v1/jobs -H "Authorization: Bearer $TOKEN" --json {text}'
