"""The page of a project's secrets: set, replaced and deleted by admins; no value is ever shown again."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST

from jobs import secret_uses
from projects import secrets
from projects.access import get_project, rights_in
from projects.actors import Actor
from projects.errors import Invalid
from projects.models import Project
from projects.team_forms import Refusable


class OneWay(forms.Textarea):
    """What was typed does not come back, not even to whoever typed it."""

    def format_value(self, value: Any) -> None:
        return None


class SecretForm(Refusable):
    prefix = "secret"
    name = forms.CharField(
        label=gettext_lazy("Name"),
        max_length=100,
        help_text=gettext_lazy("The variable that a job finds it in, as WANDB_KEY. One that is there gets the new value."),
        widget=forms.TextInput(attrs={"autocomplete": "off", "autocapitalize": "characters", "spellcheck": "false"}),
    )
    value = forms.CharField(
        label=gettext_lazy("Value"),
        max_length=secrets.MOST_BYTES,
        strip=False,
        help_text=gettext_lazy("8 bytes to 64 KiB; it is never shown again, and logs show [masked] in its place."),
        widget=OneWay(attrs={"autocomplete": "off", "spellcheck": "false", "rows": 2}),
    )


@login_required
@never_cache
@sensitive_post_parameters()
@require_http_methods(["GET", "HEAD", "POST"])
def secret_list(request: HttpRequest, slug: str) -> HttpResponse:
    by = Actor.of(request)
    if request.method != "POST":
        return _page(request, by, get_project(by, slug, may="project.view"), SecretForm())
    project = get_project(by, slug, may="secrets.edit")
    form = SecretForm(request.POST)
    if form.is_valid():
        value = form.cleaned_data["value"].replace("\r\n", "\n")  # a browser's line ends; a key file has others
        try:
            secrets.put(project=project, name=form.cleaned_data["name"], value=value, by=by)
            messages.success(request, _("%(name)s is set: jobs that start from now on get it.") % form.cleaned_data)
            return redirect("project-secrets", slug)
        except Invalid as refused:
            form.refuse(refused)
    return _page(request, by, project, form, status=422)


@login_required
@require_POST
def remove_secret(request: HttpRequest, slug: str, name: str) -> HttpResponse:
    by = Actor.of(request)
    secrets.remove(project=get_project(by, slug, may="secrets.edit"), name=name, by=by)
    messages.success(request, _("%(name)s is deleted.") % {"name": name})
    return redirect("project-secrets", slug)


def _page(request: HttpRequest, by: Actor, project: Project, form: SecretForm, *, status: int = 200) -> HttpResponse:
    context: dict[str, Any] = {
        "project": project,
        "uses": secret_uses.uses(project),
        "jobs_read": secret_uses.JOBS_READ,
        "may_edit": "secrets.edit" in rights_in(by, project),
        "form": form,
    }
    return render(request, "teams/secrets.html", context, status=status)
