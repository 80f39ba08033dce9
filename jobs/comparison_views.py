"""The page on which jobs stand side by side."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_GET

from jobs import comparison
from projects.actors import Actor

COLOURS = 6  # --series-1 ... of chart.css


@login_required
@require_GET
def comparison_page(request: HttpRequest) -> HttpResponse:
    """`jobs=1,2`, or as a form with boxes sends them: `job=1&job=2`."""
    by = Actor.of(request)
    numbers = comparison.read_numbers([*request.GET.getlist("jobs"), *request.GET.getlist("job")])
    jobs, missing = comparison.get_jobs(by, numbers)
    sections = comparison.sections(jobs, now=timezone.now())
    context = {
        "jobs": jobs,
        "columns": [
            {
                "job": job,
                "colour": place % COLOURS + 1,
                "is_dashed": place >= COLOURS,
                "without": ",".join(str(other.pk) for other in jobs if other.pk != job.pk),
            }
            for place, job in enumerate(jobs)
        ],
        "numbers": ",".join(str(job.pk) for job in jobs),
        "missing": comparison.missing_words(missing),
        "sections": [section for section in sections if section.rows],
        "same": [(section.title, section.same) for section in sections if section.same],
        "candidates": comparison.candidates(jobs, by) if len(jobs) < comparison.MOST else [],
        "room": comparison.MOST - len(jobs),
    }
    return render(request, "jobs/comparison.html", context)
