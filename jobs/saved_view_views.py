"""What the tabs above the list of jobs do: save, rename, delete and open with a view."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from jobs import saved_views
from projects.actors import Actor
from projects.errors import Conflict, Invalid


@login_required
@require_POST
def create_view(request: HttpRequest) -> HttpResponse:
    by, form = Actor.of(request), request.POST
    query = form.get("query", "")
    try:
        view = saved_views.save(
            name=form.get("name", ""), query=query, project=form.get("project", ""), by=by, now=timezone.now()
        )
    except (Conflict, Invalid) as refused:
        messages.error(request, _("The view was not saved: %(why)s") % {"why": refused.sentence})
        return redirect(_list(query))
    if "default" in form:
        saved_views.make_default(view, by=by)
    return redirect(_list(view.query))


@login_required
@require_POST
def change_view(request: HttpRequest, pk: int) -> HttpResponse:
    by = Actor.of(request)
    view = saved_views.get_view(by, pk)
    name = request.POST.get("name")
    try:
        if name is not None and name.strip() != view.name:
            saved_views.change(view, by=by, name=name)
    except (Conflict, Invalid) as refused:
        messages.error(request, _("The view was not renamed: %(why)s") % {"why": refused.sentence})
        return redirect(_list(view.query))
    if ("default" in request.POST) != view.is_default:
        saved_views.make_default(None if view.is_default else view, by=by)
    return redirect(_list(view.query))


@login_required
@require_POST
def delete_view(request: HttpRequest, pk: int) -> HttpResponse:
    by = Actor.of(request)
    view = saved_views.get_view(by, pk)
    saved_views.delete(view, by=by)
    messages.success(request, _("View %(name)s is deleted.") % {"name": view.name})
    return redirect(reverse("job-list") + "?view=all")


def _list(query: str) -> str:
    """Never another page than the list, whatever the form says. Without filters all are asked for by name: no default then."""
    query = query.removeprefix("?").replace("\n", "").replace("\r", "")
    return f"{reverse('job-list')}?{query or 'view=all'}"
