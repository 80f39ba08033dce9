"""The pages on which a definition is made and edited, and what they tell while it is typed."""

from __future__ import annotations

import secrets as random
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from clusters import catalogue, runtimes, sources
from clusters.models import Cluster
from jobs import definition_fields, definitions, differences, starting_points
from jobs.definition_editor import FORM, VIEWS, Editor
from jobs.models import JobDefinition
from jobs.values import is_storable
from jobs.wording import Wording
from projects import idempotency, secrets
from projects.access import get_project, projects_with, visible_projects
from projects.actors import Actor
from projects.errors import Conflict, Forbidden, Invalid, NotFound
from projects.models import Project

ARCHIVE_KINDS = ".tar.gz,.tgz,.tar,.zip"


@login_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def definition_new(request: HttpRequest) -> HttpResponse:
    """Started from what `from` names: see starting_points."""
    by = Actor.of(request)
    if request.method == "POST":
        return _answer(request, by, _project(by, request.POST.get("project", "")), None)
    project = _chosen_project(by, request.GET.get("project", ""))
    if project is None:
        return render(request, "jobs/launch_none.html")
    begun = starting_points.start(_from(request), by)
    editor = Editor.opened(project, None, definitions.NEW, begun.document, _view(request))
    if begun.sentence:
        editor.slug = definitions.name_of(str(begun.document["title"]))
    return _page(request, by, editor, sentence=begun.sentence)


@login_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def definition_edit(request: HttpRequest, project: str, slug: str) -> HttpResponse:
    """The next version: begun from the newest, or from what `from` names; a number is one of its own."""
    by = Actor.of(request)
    definition = definitions.get_definition(by, project, slug, may="definitions.edit")
    if request.method == "POST":
        return _answer(request, by, definition.project, definition)
    newest = definitions.version_of(definition, None)
    begun = _begun(definition, _from(request), by)
    return _page(
        request,
        by,
        Editor.opened(definition.project, definition, newest.number, begun.document, _view(request)),
        sentence=begun.sentence,
    )


@login_required
@require_POST
def create_preview(request: HttpRequest) -> HttpResponse:
    """The form that the definition as typed would make, or what is wrong with it; asked for while it is typed."""
    by = Actor.of(request)
    editor = Editor.posted(_project(by, request.POST.get("project", "")), None, request.POST, request.FILES)
    return render(request, "definitions/_preview.html", _preview(editor) | {"editor": editor})


def _answer(request: HttpRequest, by: Actor, project: Project, definition: JobDefinition | None) -> HttpResponse:
    """To a click in the editor: another view of it, a row more or less, or its publishing."""
    sent = request.POST
    if not ("to" in sent or "act" in sent):
        return _published(request, by, Editor.posted(project, definition, sent, request.FILES, by))
    editor = Editor.posted(project, definition, sent, request.FILES)
    if sent.get("act") == "merge":
        return _merge(request, by, editor)
    if "to" in sent:
        editor.focus = f"definition-to-{sent['to']}"
        editor.switch(sent["to"])
    else:
        editor.act(sent["act"])
    return _page(request, by, editor, is_posted=True)


def _published(request: HttpRequest, by: Actor, editor: Editor) -> HttpResponse:
    """The way to its page, or the editor with what is in the way."""
    if not editor.check():
        return _page(request, by, editor, is_posted=True, status=422)
    try:
        return _saved(request, by, editor)
    except Invalid as refused:
        editor.refuse(refused.fields)
        return _page(request, by, editor, is_posted=True, status=422)
    except Conflict as refused:
        if refused.code == "definition-changed":
            return _page(request, by, editor, is_posted=True, status=409, conflict=_conflict(editor, refused))
        editor.refuse({"slug": refused.sentence})
        return _page(request, by, editor, is_posted=True, status=409)


def _saved(request: HttpRequest, by: Actor, editor: Editor) -> HttpResponse:
    """Two clicks publish once. Raises Invalid and Conflict as definitions.edit does."""
    wording, slug, base = editor.wording, editor.slug, editor.base
    assert wording
    if over := request.POST.get("over", ""):
        base = int(over) if over.isascii() and over.isdecimal() and len(over) < 10 else base

    def make() -> idempotency.Answer:
        version, is_made = definitions.edit(
            project=editor.project,
            slug=slug or definitions.name_of(wording.title),
            wording=wording,
            by=by,
            now=timezone.now(),
            note=editor.note,
            base=base,
        )
        return 201, {"slug": version.definition.slug, "number": version.number, "is_made": is_made}

    content = [editor.project.slug, slug, base, editor.note, wording.to_json()]
    key = request.POST.get("key") or random.token_urlsafe(16)
    _status, made, _is_replayed = idempotency.once_a_form(key, content, by, make)
    if made["is_made"]:
        messages.success(request, _("Version %(number)s is published.") % made)
    else:
        messages.info(request, _("Nothing has changed: version %(number)s says this already, so no version was made.") % made)
    address = reverse("definition", args=[editor.project.slug, made["slug"]])
    return HttpResponse(headers={"HX-Redirect": address}) if request.headers.get("HX-Request") else redirect(address)


# -- Two people ----------------------------------------------------------------------------------------------


def _conflict(editor: Editor, refused: Conflict) -> dict[str, Any]:
    """What happened meanwhile, and what of it is in the way."""
    assert editor.definition and editor.wording
    theirs = definitions.version_of(editor.definition, refused.data["newest"])
    base = Wording.of(definitions.version_of(editor.definition, editor.base))
    merged = differences.merge(base, editor.wording, Wording.of(theirs))
    return {
        "sentence": refused.sentence,
        "theirs": theirs,
        "differences": differences.between(base, Wording.of(theirs)),
        "both": [differences.title_of(path) for path in merged.both],
    }


def _merge(request: HttpRequest, by: Actor, editor: Editor) -> HttpResponse:
    """Takes what others have changed into what is typed: where both have changed the same, the typed stands."""
    if editor.definition is None or not editor.check():
        return _page(request, by, editor, is_posted=True, status=422)
    assert editor.wording
    newest = definitions.version_of(editor.definition, None)
    base = definitions.version_of(editor.definition, editor.base)
    merged = differences.merge(Wording.of(base), editor.wording, Wording.of(newest))
    editor.show(merged.document, editor.view)
    editor.base = newest.number
    return _page(
        request,
        by,
        editor,
        is_posted=True,
        merged={"number": newest.number, "both": [differences.title_of(path) for path in merged.both]},
    )


# -- The page ------------------------------------------------------------------------------------------------


def _page(request: HttpRequest, by: Actor, editor: Editor, *, status: int = 200, **more: Any) -> HttpResponse:
    context = {
        "editor": editor,
        "project": editor.project,
        "definition": editor.definition,
        "here": request.get_full_path(),
        "key": request.POST.get("key") or random.token_urlsafe(16),
        "from": _from(request),
        "is_posted": False,
        "views": [(FORM, _("Form")), ("yaml", "YAML"), ("json", "JSON")],
        "is_draft": request.POST.get("act") == "draft",
        "project_choices": projects_with(by, "definitions.edit").order_by("slug"),
        **_preview(editor, is_checked=status != 200),
        **more,
    }
    if editor.definition is None:
        context["start_choices"] = starting_points.choices(by)
    if editor.form:
        context |= {
            "source_kinds": definition_fields.source_kinds(),
            "recipe_names": sources.recipes(),
            "runtime_names": runtimes.names(),
            "accelerators": list(catalogue.CATALOGUE),
            "cluster_names": list(Cluster.objects.order_by("name").values_list("name", flat=True)),
            "secret_names": sorted({*secrets.names(editor.project), *editor.form.secrets}),
            "archive_kinds": ARCHIVE_KINDS,
        }
    return render(request, "definitions/editor.html", context, status=status)


def _preview(editor: Editor, *, is_checked: bool = False) -> dict[str, Any]:
    """The form that it would make. Problems of a page that was only opened are told beside it, not at the fields."""
    looked_at = editor if is_checked else editor.copy()
    is_right = looked_at.wording is not None or (not is_checked and looked_at.check())
    return {"preview": looked_at.preview() if is_right else None, "problems": looked_at.problems}


def _begun(definition: JobDefinition, text: str, by: Actor) -> starting_points.Start:
    if text == "shipped":
        wording = definitions.shipped_wording(definition.slug)
        if wording is None:
            raise NotFound("no-such-start", _("The panel ships no definition %(slug)s.") % {"slug": definition.slug})
        return starting_points.Start(wording.document(), _("as the panel ships it"))
    if text and not text.isdecimal():
        return starting_points.start(text, by)
    begun = starting_points.of_version(definition, int(text[:9]) if text.isascii() and text else None)
    return begun if text else starting_points.Start(begun.document)


def _project(by: Actor, slug: str) -> Project:
    if not is_storable(slug):
        raise NotFound("no-such-project", _("There is nothing of this name."))
    return get_project(by, slug, may="definitions.edit")


def _chosen_project(by: Actor, slug: str) -> Project | None:
    """The asked one, else the first in which `by` may edit. None: there is no project at all to see."""
    if slug:
        return _project(by, slug)
    first = projects_with(by, "definitions.edit").select_related("team").order_by("slug").first()
    if first is None and visible_projects(by).exists():
        raise Forbidden("role", _("You may look at definitions but not edit them: that needs the role member in a team."))
    return first


def _from(request: HttpRequest) -> str:
    """What it is started from. A form has the job's number in a field of its own."""
    job = request.GET.get("job", "").strip().removeprefix("#")
    return f"job:{job}" if job else request.GET.get("from", "")


def _view(request: HttpRequest) -> str:
    view = request.GET.get("view", FORM)
    return view if view in VIEWS else FORM
