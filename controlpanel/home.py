"""Pages of the panel as a whole. The first is the job list until there is more to say."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET


def home(request: HttpRequest) -> HttpResponse:
    return redirect("job-list")


@login_required
@require_GET
def conditions(request: HttpRequest) -> HttpResponse:
    """What is the matter with the panel, for pages that are open."""
    return render(request, "_conditions.html")
