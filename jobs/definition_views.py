"""The pages of definitions: the list, one of them in any version, what two versions differ in, and its archival."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.cache import patch_vary_headers
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from clusters import catalogue
from jobs import definition_listing, definitions, differences, documents
from jobs.definition_rows import Kind, Row
from jobs.models import DefinitionVersion, Job, JobDefinition
from jobs.parameters import PLACE
from jobs.retries import Cause
from jobs.schema_form import Form, SchemaField
from jobs.template_rules import texts_with_places
from jobs.wording import Wording
from projects import secrets
from projects.access import projects_with, rights_in, visible_projects
from projects.actors import Actor
from projects.errors import NotFound

LAUNCHES_SHOWN = 10
VERSIONS_SHOWN = 50
SHIPPED = "shipped"  # in an address: what the panel ships, which is no version yet


@login_required
@require_GET
def definition_list(request: HttpRequest) -> HttpResponse:
    by, page = Actor.of(request), definition_listing.Page.from_query(request.GET)
    shown, cursor = definition_listing.definitions_of_page(page, by)
    known = definition_listing.last_jobs(shown)
    projects = list(visible_projects(by).select_related("team").order_by("slug"))
    mine = set(projects_with(by, "definitions.edit").values_list("slug", flat=True))
    here = page.address(**({"cursor": page.cursor} if page.cursor else {}))
    context = {
        "page": page,
        "rows": [(one, known.get(one.pk)) for one in shown],
        "here": here,
        "newest": page.address(),
        "more": page.address(cursor=cursor) if cursor else "",
        "project_choices": projects,
        "launchable": mine,  # who may edit may launch, too: both need the role member
        "may_make": page.project in mine if page.project else bool(mine) or not projects,
        "project": page.project if page.project in mine else min(mine, default=""),
    }
    answer = render(request, "definitions/definition_list.html", context)
    answer["HX-Push-Url"] = request.path + (here if here != "?" else "")
    patch_vary_headers(answer, ["HX-Request"])
    return answer


@login_required
@require_GET
def definition_page(request: HttpRequest, project: str, slug: str) -> HttpResponse:
    return _page(request, project, slug, None)


@login_required
@require_GET
def version_page(request: HttpRequest, project: str, slug: str, number: int) -> HttpResponse:
    return _page(request, project, slug, number)


@login_required
@require_GET
def comparison_page(request: HttpRequest, project: str, slug: str) -> HttpResponse:
    """`from` and `to` are numbers of versions; left out: the newest and the one before. `to` may be what the panel ships."""
    by = Actor.of(request)
    definition = definitions.get_definition(by, project, slug, may="project.view")
    newest = definitions.version_of(definition, None)
    after_name = request.GET.get("to") or str(newest.number)
    before_name = request.GET.get("from") or str(max(1, newest.number - 1))
    before, after = (_side(definition, name) for name in (before_name, after_name))
    shipped = definitions.shipped_wording(slug)
    context = {
        "definition": definition,
        "before": before,
        "before_name": before_name,
        "sides": [before, after],
        "choices": [("from", before_name, _("From")), ("to", after_name, _("To"))],
        "numbers": range(newest.number, 0, -1)[:VERSIONS_SHOWN],
        "has_shipped": shipped is not None,
        "differences": differences.between(before["wording"], after["wording"]),
        "may_edit": "definitions.edit" in rights_in(by, definition.project),
    }
    return render(request, "definitions/comparison.html", context)


@login_required
@require_POST
def create_archival(request: HttpRequest, project: str, slug: str) -> HttpResponse:
    by = Actor.of(request)
    definition = definitions.get_definition(by, project, slug, may="definitions.edit")
    definitions.archive(definition=definition, by=by, now=timezone.now())
    return redirect("definition", project, slug)


@login_required
@require_POST
def remove_archival(request: HttpRequest, project: str, slug: str) -> HttpResponse:
    by = Actor.of(request)
    definitions.unarchive(definition=definitions.get_definition(by, project, slug, may="definitions.edit"), by=by)
    return redirect("definition", project, slug)


def _side(definition: JobDefinition, name: str) -> dict[str, Any]:
    """One of the two that are compared: its version, if it is one, and what it says."""
    if name == SHIPPED:
        wording = definitions.shipped_wording(definition.slug)
        if wording is None:
            raise NotFound("no-such-version", _("The panel ships no definition %(slug)s.") % {"slug": definition.slug})
        return {"version": None, "wording": wording}
    if not (name.isascii() and name.isdecimal()) or len(name) > 9:
        raise NotFound("no-such-version", _("There is no version %(number)s.") % {"number": name[:18]})
    version = definitions.version_of(definition, int(name))
    return {"version": version, "wording": Wording.of(version)}


# -- One definition ------------------------------------------------------------------------------------------


def _page(request: HttpRequest, project: str, slug: str, number: int | None) -> HttpResponse:
    by = Actor.of(request)
    definition = definitions.get_definition(by, project, slug, may="project.view")
    rights = rights_in(by, definition.project)
    versions = list(definition.versions.select_related("created_by").order_by("-number")[: VERSIONS_SHOWN + 1])
    newest = versions[0]
    version = newest if number in (None, newest.number) else definitions.version_of(definition, number)
    wording, shipped = Wording.of(version), definitions.shipped_wording(slug)
    context = {
        "definition": definition,
        "version": version,
        "newest": newest,
        "versions": versions[:VERSIONS_SHOWN],
        "has_more_versions": len(versions) > VERSIONS_SHOWN,
        "what": _what(wording),
        "missing_secrets": _missing_secrets(definition, wording),
        "parameters": _parameters(version),
        "jobs": _last_jobs(definition),
        "raw": documents.write(wording.document(), "json"),
        "is_edited": shipped is not None and not newest.is_shipped and shipped != Wording.of(newest),
        "may_edit": "definitions.edit" in rights,
        "may_launch": "jobs.launch" in rights and definition.archived_at is None,
    }
    return render(request, "definitions/definition.html", context)


def _what(wording: Wording) -> dict[str, Any]:
    """What it runs, as the page tells it."""
    template, resources = wording.template, wording.resources
    command = template["command"]
    is_shell = command[:2] == differences.SHELL and len(command) == 3
    causes = {Cause.USER_CODE: _("after a failure of the command"), Cause.HOST_LOST: _("after a loss of its host")}
    return {
        "source": template.get("source", {"kind": "none"}),
        "command": command[2] if is_shell else shlex.join(command),
        "is_shell": is_shell,
        "runtime": template.get("runtime", {}).get("name", ""),
        "environment": template.get("environment", {}),
        "secrets": template.get("secrets", []),
        "amount": catalogue.amount(resources["chips"], resources.get("accelerator", "")) if "chips" in resources else "",
        "resources": resources,
        "retries": [(causes[Cause(cause)], budget) for cause, budget in wording.retries.items()],
        "stop_grace_s": template.get("stop_grace_s", 30),
        "timeout_s": template.get("timeout_s"),
    }


@dataclass(frozen=True)
class Parameter:
    """A row of the page's table; `places` are the parts of the template that it fills."""

    field: SchemaField
    places: list[str]

    @property
    def word(self) -> str:
        """Its type, as the editor calls it."""
        kind = Row.of("0", self.field.name, self.field.schema, is_required=False).kind
        return str(Kind(kind).label) if kind != Kind.JSON else str(self.field.schema.get("type", _("anything")))

    @property
    def default_text(self) -> str:
        return self.field.text_of(self.field.default)[:200]


def _parameters(version: DefinitionVersion) -> list[Parameter]:
    places: dict[str, list[str]] = {}
    for path, text in texts_with_places(version.template):
        part = differences.title_of(".".join(path.split(".")[:2]))
        for name in PLACE.findall(text):
            if part not in places.setdefault(name, []):
                places[name].append(part)
    return [Parameter(one, places.get(one.name, [])) for one in Form.of(version.parameters, version.template).fields]


def _missing_secrets(definition: JobDefinition, wording: Wording) -> list[str]:
    named = wording.template.get("secrets", [])
    return sorted(set(named) - set(secrets.names(definition.project))) if named else []


def _last_jobs(definition: JobDefinition) -> list[Job]:
    """With any of its versions, newest first. The ids alone are sorted, which an index has: a definition may have a million."""
    versions = list(definition.versions.values_list("pk", flat=True))
    ids = list(Job.objects.filter(version__in=versions).order_by("-pk").values_list("pk", flat=True)[:LAUNCHES_SHOWN])
    return list(Job.objects.for_display().filter(pk__in=ids).order_by("-pk"))
