"""What the frame around every page shows: where in the panel it is, and whose projects there are."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

from monitoring import conditions
from projects.access import visible_projects
from projects.actors import Actor

# First word of a URL's name -> entry of the navigation.
NAV_OF = {"home": "home", "job": "jobs", "definition": "definitions", "host": "clusters", "cluster": "clusters"}
NAV_OF |= {"team": "team", "project": "team", "secret": "team", "audit": "team"}
THEMES = ("light", "dark")
MAX_PROJECTS = 12  # in the navigation; the list's own filter has them all


def shell(request: HttpRequest) -> dict[str, Any]:
    """Context processor. Projects and conditions cost a query each, and only pages that show them pay it."""
    theme = request.COOKIES.get("theme")
    return {
        "shell": {
            "nav": _nav(request),
            "theme": theme if theme in THEMES else "",
            "projects": SimpleLazyObject(lambda: _projects(request)),
            "project": request.GET.get("project", ""),
            "conditions": SimpleLazyObject(conditions.present),
        }
    }


def _nav(request: HttpRequest) -> str:
    match = request.resolver_match
    name = match.url_name if match else None
    return NAV_OF.get((name or "").partition("-")[0], "")


def _projects(request: HttpRequest) -> list[Any]:
    if not hasattr(request, "user"):  # an error before the sign-in was looked at
        return []
    return list(visible_projects(Actor.of(request)).select_related("team").order_by("slug")[:MAX_PROJECTS])
