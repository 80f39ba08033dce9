"""The list of definitions: what it shows, from where on, and what each did last. The same for the page and for the API."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlencode

from django.db.models import Max, OuterRef, Q, Subquery
from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiParameter

from jobs.models import DefinitionVersion, Job, JobDefinition
from jobs.values import is_storable
from projects.access import get_project, visible_projects
from projects.actors import Actor
from projects.errors import Invalid
from projects.paging import USUAL, Cursor, limit_of

MOST_CHARACTERS = 300  # of what is looked for
ARCHIVED = {"": "launchable", "no": "launchable", "yes": "archived", "all": "all"}
ONE_VALUE = ("project", "text", "archived")

PARAMETERS = [
    OpenApiParameter("project", str),
    OpenApiParameter("text", str, description="Part of its title or of its name."),
    OpenApiParameter("archived", str, enum=["no", "yes", "all"], default="no"),
]


@dataclass(frozen=True)
class Page:
    """The query of a list of definitions; "" lets all through, but for those that are archived."""

    project: str = ""
    text: str = ""
    archived: str = ""
    cursor: Cursor | None = None
    limit: int = USUAL

    @classmethod
    def from_query(cls, query: Mapping[str, str]) -> Page:
        """Raises Invalid with each parameter that is wrong."""
        one = {name: query.get(name, "").strip() for name in ONE_VALUE}
        wrong: dict[str, str] = {}
        for name, text in one.items():
            if len(text) > MOST_CHARACTERS:
                wrong[name] = _("at most %(most)s characters") % {"most": MOST_CHARACTERS}
            elif not is_storable(text):
                wrong[name] = _("there is nothing of this name")
        if one["archived"] not in ARCHIVED:
            wrong["archived"] = _("one of these is needed: %(known)s") % {"known": "no, yes, all"}
        limit = USUAL
        try:
            limit = limit_of(query)
        except Invalid as refused:
            wrong |= refused.fields
        if wrong:
            raise Invalid(wrong)
        page = cls(project=one["project"], text=one["text"], archived=one["archived"], limit=limit)
        cursor = Cursor.read(query.get("cursor", ""), query=page.address())
        return replace(page, cursor=cursor)

    def address(self, **more: Any) -> str:
        """From its "?" on, without what is not asked for; what its cursors belong to."""
        found = {name: getattr(self, name) for name in ONE_VALUE if getattr(self, name)}
        return "?" + urlencode(found | ({"limit": self.limit} if self.limit != USUAL else {}) | more)

    @property
    def is_active(self) -> bool:
        return bool(self.project or self.text or self.archived)


def definitions_of_page(page: Page, by: Actor) -> tuple[list[JobDefinition], Cursor | None]:
    """By project and name, each with its `newest` version, and the cursor of the page after them. Two queries, or three.

    Raises NotFound for a project that `by` may not see.
    """
    projects: Any = [get_project(by, page.project, may="project.view")] if page.project else visible_projects(by)
    rows = JobDefinition.objects.filter(project__in=projects).select_related("project__team").with_newest()
    if ARCHIVED[page.archived] != "all":
        rows = rows.filter(archived_at__isnull=ARCHIVED[page.archived] == "launchable")
    if page.text:
        rows = rows.filter(Q(title__icontains=page.text) | Q(slug__icontains=page.text))
    if page.cursor:
        project, slug = page.cursor.place
        rows = rows.filter(Q(project__slug__gt=project) | Q(project__slug=project, slug__gt=slug))
    found = list(rows.order_by("project__slug", "slug")[: page.limit + 1])
    shown = found[: page.limit]
    fetch_newest(shown)
    last = shown[-1] if len(found) > page.limit else None
    return shown, Cursor((last.project.slug, last.slug), replace(page, cursor=None).address()) if last else None


def fetch_newest(definitions: Iterable[JobDefinition]) -> None:
    """Gives each that was read `with_newest` that version. One query."""
    definitions = list(definitions)
    versions = DefinitionVersion.objects.select_related("created_by").in_bulk([one.newest_id for one in definitions])
    for one in definitions:
        one.newest = versions[one.newest_id]


def last_jobs(definitions: Iterable[JobDefinition]) -> dict[int, Job]:
    """Definition id -> the job that was launched last with any of its versions. Two queries.

    The last of each version is one look into an index, however many it has.
    """
    last = Job.objects.filter(version=OuterRef("pk")).order_by("-pk").values("pk")[:1]
    versions = DefinitionVersion.objects.filter(definition__in=[one.pk for one in definitions])
    found = dict(versions.values("definition").annotate(last=Max(Subquery(last))).values_list("definition", "last"))
    jobs = Job.objects.for_display().in_bulk([pk for pk in found.values() if pk])
    return {definition: jobs[pk] for definition, pk in found.items() if pk}
