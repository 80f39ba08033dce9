"""What a team's page does with its projects: a new one, another name."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from controlpanel import project_making
from projects import services, team_views
from projects.access import get_project, get_team
from projects.actors import Actor
from projects.errors import Invalid
from projects.team_forms import PlaceForm


@login_required
@require_POST
def create_project(request: HttpRequest, slug: str) -> HttpResponse:
    by = Actor.of(request)
    team, form = get_team(by, slug, may="team.edit"), PlaceForm(request.POST)
    if form.is_valid():
        try:
            project = project_making.make(team=team, by=by, now=timezone.now(), **form.cleaned_data)
            messages.success(request, _("The project %(slug)s is made, with all that the panel ships.") % {"slug": project.slug})
            return redirect("team", slug)
        except Invalid as refused:
            form.refuse(refused)
    return team_views.page(request, by, team, project_form=form, status=422)


@login_required
@require_POST
def rename_project(request: HttpRequest, slug: str) -> HttpResponse:
    by = Actor.of(request)
    project = get_project(by, slug, may="team.edit")
    try:
        services.rename_project(project=project, name=request.POST.get("name", ""), by=by)
    except Invalid as refused:
        sentence = refused.fields["name"]
        return team_views.page(request, by, project.team, refusal=f"{project.slug}: {sentence}", status=422)
    return redirect("team", project.team.slug)
