"""The pages of jobs: the list, one job, its cancellation, its relaunch, and its files."""

from __future__ import annotations

import json
import secrets as random
import shlex
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.cache import patch_vary_headers
from django.views.decorators.http import require_GET, require_POST
from rest_framework.utils.encoders import JSONEncoder

from clusters import catalogue, fetches
from clusters.models import OutputFile
from clusters.states import Outcome, RankState, WorkloadState
from jobs import as_script, attempt_rows, downloads, endings, files, listing, progress, saved_views, services, timeline
from jobs.filter_bar import FilterBar, labels_of
from jobs.models import Attempt, Job
from jobs.retries import Policy
from jobs.shapes import JobAnswer
from jobs.states import JobState
from monitoring import events, logs
from monitoring.models import Event
from projects import idempotency
from projects.access import projects_with, rights_in, visible_projects
from projects.actors import Actor
from projects.errors import Conflict

EVENTS_SHOWN = 500


@login_required
@require_GET
def job_list(request: HttpRequest) -> HttpResponse:
    by = Actor.of(request)
    if (
        not request.META.get("QUERY_STRING")
        and not request.headers.get("HX-Request")
        and (opens := saved_views.default_of(by, now=timezone.now()))
    ):
        return redirect(request.path + opens.query)
    page = listing.Page.from_query(request.GET)
    projects = list(visible_projects(by).select_related("team").order_by("slug"))
    shown, cursor = listing.jobs_of_page(page, by, now=timezone.now())
    known = progress.of_jobs(shown)
    launchable = set(projects_with(by, "jobs.launch").values_list("slug", flat=True))
    bar = FilterBar(page, by, projects)
    views = saved_views.of(by)
    current = next((view for view in views if view.query == bar.newest and bar.newest != "?"), None)
    context = {
        "bar": bar,
        "rows": bar.rows(shown, known),
        "column_choices": bar.column_choices(shown),
        "jobs": shown,
        "older": bar.older(cursor) if cursor else "",
        "project_choices": projects,
        "may_launch": page.wanted.project in launchable if page.wanted.project else launchable or not projects,
        "saved_views": views,
        "current": current,
        "may_change_view": current is not None and saved_views.may_change(current, by),
        "launchable": sorted(launchable),
        "first_launch": _first_launch(page.wanted.project or min(launchable, default="")),
    }
    answer = render(request, "jobs/job_list.html", context)
    has_default = any(view.is_default for view in views)
    answer["HX-Push-Url"] = request.path + (bar.here if bar.here != "?" else "?view=all" if has_default else "")
    patch_vary_headers(answer, ["HX-Request"])  # such an answer has no fields, and "back" must not bring it as the page
    return answer


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
@require_POST
def create_relaunch(request: HttpRequest, number: int) -> HttpResponse:
    by = Actor.of(request)
    old = services.get_job(by, number, may="jobs.launch")
    key = request.POST.get("key") or random.token_urlsafe(16)
    goes_on = "with_checkpoints" in request.POST

    def make() -> idempotency.Answer:
        return 201, {"number": services.relaunch(job=old, by=by, now=timezone.now(), with_checkpoints=goes_on).pk}

    try:
        _status, made, _is_replayed = idempotency.once_a_form(key, {"relaunch": number, "goes_on": goes_on}, by, make)
    except Conflict as refused:
        messages.error(request, refused.sentence)
        return redirect("job", number)
    return redirect("job", made["number"])


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
    heads, rights = logs.heads(job.subject), rights_in(by, job.project)
    tries, known = list(job.attempts.select_related("workload")), progress.of_job(job)
    shown_files = files.shown(job)
    line = timeline.segments([_moments(one) for one in tries], now=timezone.now(), left_s=known.left_s if known else None)
    return {
        "job": job,
        "progress": known,
        "workload": job.workload,
        "amount": catalogue.amount(job.request.chips, job.request.accelerator),
        "step": _step(job),
        "ending": _ending(job, tries),
        "several_ranks": len({head.rank for head in heads}) > 1,
        "attempts": tries,
        "attempt_rows": attempt_rows.of_job(job, tries) if len(tries) > 1 else [],
        "timeline": line,
        "timeline_labels": timeline.labels(line),
        "timeline_again_s": timeline.drawn_again_after_s(line),
        "labels": labels_of(job),
        "source": _source(job),
        "runtime": job.spec.runtime,
        "events": _shown(events.since(job.subject, max(0, job.subject.seq - EVENTS_SHOWN), EVENTS_SHOWN)),
        "logs": [
            vars(head) | {"complete": head.final_offset is not None and head.head_offset >= head.final_offset} for head in heads
        ],
        "files": shown_files,
        "has_checkpoints": any(group.area == OutputFile.Area.CHECKPOINTS for group in shown_files.groups),
        "may_cancel": "jobs.cancel" in rights,
        "may_launch": "jobs.launch" in rights and job.version.definition.archived_at is None,
        "is_archived": job.version.definition.archived_at is not None,
        "key": random.token_urlsafe(16),  # of the relaunch: two clicks are one job
        "parameters": {
            name: value if isinstance(value, str) else json.dumps(value) for name, value in job.parameters.items() if value != ""
        },
        "command_line": shlex.join(job.spec.command),
        "curl": _curl(job),
        "json": _json(job, known),
        "address": f"{settings.PUBLIC_URL}/jobs/{job.pk}",
    }


def _json(job: Job, known: progress.Progress | None) -> str:
    """What the API answers."""
    answer = JobAnswer(job, context={"progress": {job.pk: known} if known else {}}).data
    return json.dumps(answer, ensure_ascii=False, indent=2, cls=JSONEncoder)


def _step(job: Job) -> str:
    """What its host is making for it before it starts, in the host's words: "Building runtime torch_xla."."""
    if job.state != JobState.STARTING or job.workload is None:
        return ""
    preparing = job.workload.ranks.filter(state=RankState.PREPARING).exclude(detail="").order_by("number")
    return preparing.values_list("detail", flat=True).first() or ""


def _ending(job: Job, tries: list[Attempt]) -> endings.Ending | None:
    """Why it ended, where that was not well."""
    is_told = job.has_ended and job.state != JobState.SUCCEEDED
    return endings.of_attempt(job, tries[-1]) if is_told and tries else None


def _moments(attempt: Attempt) -> timeline.Try:
    workload = attempt.workload
    return timeline.Try(
        number=attempt.number,
        created_at=attempt.created_at,
        ordered_at=workload.ordered_at,
        running_at=workload.running_at,
        ended_at=workload.ended_at,
        failed=workload.outcome == Outcome.FAILED or workload.state == WorkloadState.LOST,
    )


def _source(job: Job) -> dict[str, str]:
    """What a page says of where the code came from; `whole` is all of it, for the hover."""
    source = job.spec.source
    if source["kind"] != "git":
        return {"title": source.get("title", ""), "commit": "", "whole": source.get("title", "")}
    short = source["address"].rstrip("/").removesuffix(".git").replace(":", "/").rpartition("/")[2]
    commit = source.get("commit", "")
    return {
        "title": f"{short} {source['ref']}",
        "commit": commit,
        "whole": f"{source['address']} {source['ref']} {commit}".strip(),
    }


def _shown(found: list[Event]) -> list[Event]:
    """The job's own: what its workload did is told by what the job did with it."""
    return [event for event in found if not event.code.startswith("workload.")]


def _first_launch(project: str) -> str:
    return as_script.launch_request(
        {"project": project or "demo", "definition": "command", "parameters": {"command": "echo hello"}}
    )


def _curl(job: Job) -> str:
    """The request that launches the same again."""
    return as_script.launch_request(
        {
            "project": job.project.slug,
            "definition": job.version.definition.slug,
            "name": job.name,
            "parameters": job.parameters,
            "resources": {name: value for name, value in job.request_json.items() if value != ""},
        }
        | {name: value for name in ("labels", "environment", "secrets") if (value := getattr(job, name))}
        | ({"retries": job.retries_json} if job.retries != Policy.from_json(job.version.retries) else {})
    )
