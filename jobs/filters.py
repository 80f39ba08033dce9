"""Which jobs a list shows: read from the address, the same for the page and for GET /api/v1/jobs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from django.contrib.auth.models import User
from django.db.models import BooleanField, Exists, F, Func, OuterRef, Q, QuerySet, Value
from django.http import QueryDict
from django.utils.translation import gettext as _
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter

from clusters import catalogue
from clusters.models import Cluster, Rank
from jobs.models import Job, JobDefinition
from jobs.states import JobState
from jobs.values import is_storable
from projects.access import get_project, visible_projects
from projects.actors import Actor
from projects.errors import Invalid
from projects.models import Project

MOST_CHARACTERS = 300  # of a name, a text or a label that is looked for
MOST_LABELS = 50
ME = "me"  # the owner who asks
ONE_VALUE = ("project", "owner", "definition", "accelerator", "cluster", "text", "since", "created_after", "created_before")
SPANS = {"m": timedelta(minutes=1), "h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}
SPAN = re.compile(r"([0-9]{1,4})([mhdw])")

PARAMETERS = [
    OpenApiParameter("project", str),
    OpenApiParameter("state", str, enum=JobState.values, many=True, description="May come several times: any of them."),
    OpenApiParameter("owner", str, description='A user name, or "me".'),
    OpenApiParameter("definition", str),
    OpenApiParameter("accelerator", str),
    OpenApiParameter("cluster", str, description="That it asked for, or where it was placed."),
    OpenApiParameter("label", str, many=True, description="`key=value`; may come several times: all of them."),
    OpenApiParameter("text", str, description="Part of its name, or its number."),
    OpenApiParameter("since", str, description="Launched within: `30m`, `24h`, `7d`, `4w`."),
    OpenApiParameter("created_after", OpenApiTypes.DATETIME),
    OpenApiParameter("created_before", OpenApiTypes.DATETIME),
]


@dataclass(frozen=True)
class Filter:
    """What a job must be to be shown; "" and () let all through. Several states: any of them; several labels: all of them."""

    project: str = ""
    states: tuple[str, ...] = ()
    owner: str = ""  # a user name, or ME
    definition: str = ""
    accelerator: str = ""
    cluster: str = ""  # asked for by name, or where it was placed
    labels: tuple[tuple[str, str], ...] = ()
    text: str = ""  # part of its name, or its number
    since: str = ""  # launched within: "30m", "24h", "7d", "4w"
    created_after: str = ""  # ISO 8601; without a zone: UTC
    created_before: str = ""

    @classmethod
    def from_query(cls, query: QueryDict) -> Filter:
        """Raises Invalid for what no job could be."""
        one = {name: query.get(name, "").strip() for name in ONE_VALUE}
        states = tuple(dict.fromkeys(state for state in query.getlist("state") if state))
        labels = [text for text in query.getlist("label") if text]
        wrong = {name: _unfit(text) for name, text in one.items() if _unfit(text)}
        if unknown := [state for state in states if state not in JobState.values]:
            wrong["state"] = _("there is no state %(name)s; known are %(known)s") % {
                "name": ", ".join(unknown),
                "known": ", ".join(JobState.values),
            }
        if one["accelerator"] and not catalogue.find(one["accelerator"]):
            wrong["accelerator"] = _("there is no such accelerator; known are %(known)s") % {
                "known": ", ".join(catalogue.CATALOGUE)
            }
        if one["since"] and not SPAN.fullmatch(one["since"]):
            wrong["since"] = _("a number with m, h, d or w is needed, such as 24h")
        wrong |= {
            name: _("a date or a moment is needed, such as 2026-03-01T12:00Z")
            for name in ("created_after", "created_before")
            if one[name] and _moment(one[name]) is None
        }
        if len(labels) > MOST_LABELS:
            wrong["label"] = _("at most %(most)s labels") % {"most": MOST_LABELS}
        elif any("=" not in text for text in labels):
            wrong["label"] = _("a label is written key=value")
        elif unfit := next(filter(None, map(_unfit, labels)), ""):
            wrong["label"] = unfit
        if wrong:
            raise Invalid(wrong)
        pairs = dict.fromkeys((key.strip(), value.strip()) for key, _equals, value in (text.partition("=") for text in labels))
        return cls(states=states, labels=tuple(pairs), **one)

    def pairs(self) -> list[tuple[str, str]]:
        """As it stands in an address, without what is not asked for."""
        found = [(name, getattr(self, name)) for name in ONE_VALUE if getattr(self, name)]
        return found + [("state", state) for state in self.states] + [("label", f"{key}={value}") for key, value in self.labels]

    def address(self, **more: Any) -> str:
        """The list's address, from its "?" on. It is never empty: a link to "" would keep the present one."""
        return "?" + urlencode([*self.pairs(), *more.items()], doseq=True)

    def with_label(self, key: str, value: str) -> Filter:
        return self if (key, value) in self.labels else replace(self, labels=(*self.labels, (key, value)))

    def without(self, name: str, value: str) -> Filter:
        if name == "state":
            return replace(self, states=tuple(state for state in self.states if state != value))
        if name == "label":
            return replace(self, labels=tuple(pair for pair in self.labels if "=".join(pair) != value))
        return replace(self, **{name: ""})  # type: ignore[arg-type]  # one of ONE_VALUE


def matching(wanted: Filter, by: Actor, *, now: datetime) -> Any:  # a JobQuerySet, which mypy knows as its manager only
    """The jobs that `by` may see and `wanted` lets through. Raises NotFound or Invalid for names that `by` does not know."""
    jobs: Any = Job.objects.visible_to(by.user)
    if wanted.project:
        jobs = Job.objects.filter(project=get_project(by, wanted.project, may="jobs.view"))
    _check_names(wanted, by)
    return jobs.filter(*_conditions(wanted, by, now))


def _moment(text: str) -> datetime | None:
    """In UTC, which it is where it names no zone; None: it is none, or none that UTC has a year for."""
    try:
        found = datetime.fromisoformat(text)
        return found.astimezone(UTC) if found.tzinfo else found.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        return None


def _unfit(text: str) -> str:
    """Why nothing can be looked for by it; empty: it can."""
    if len(text) > MOST_CHARACTERS:
        return _("at most %(most)s characters") % {"most": MOST_CHARACTERS}
    return "" if is_storable(text) else _("there is nothing of this name")


def _conditions(wanted: Filter, by: Actor, now: datetime) -> Iterator[Any]:
    if wanted.states:
        yield Q(state__in=wanted.states)
    if wanted.owner:
        yield Q(created_by=by.user.pk) if wanted.owner == ME else Q(created_by__username=wanted.owner)
    if wanted.definition:
        yield Q(version__definition__slug=wanted.definition)
    if wanted.accelerator:
        yield Q(request_json__accelerator=wanted.accelerator)
    if wanted.cluster:
        placed = Rank.objects.filter(workload=OuterRef("workload"), host__slice__cluster__name=wanted.cluster)
        yield Q(request_json__cluster=wanted.cluster) | Q(Exists(placed))
    for key, value in wanted.labels:
        yield HasLabel(key, value)
    if wanted.since and (span := SPAN.fullmatch(wanted.since)):
        yield Q(created_at__gte=now - int(span[1]) * SPANS[span[2]])
    if wanted.created_after:
        yield Q(created_at__gte=_moment(wanted.created_after))
    if wanted.created_before:
        yield Q(created_at__lt=_moment(wanted.created_before))
    if wanted.text:
        number = wanted.text.removeprefix("#")
        is_number = number.isascii() and number.isdecimal() and len(number) <= 18
        yield Q(name__icontains=wanted.text) | Q(pk=int(number)) if is_number else Q(name__icontains=wanted.text)


def _check_names(wanted: Filter, by: Actor) -> None:
    """A mistyped name is told, rather than answered by an empty list. A query for each name that is asked for."""
    wrong, projects = {}, visible_projects(by)
    if wanted.definition and not JobDefinition.objects.filter(project__in=projects, slug=wanted.definition).exists():
        wrong["definition"] = _("there is no such definition")
    if wanted.cluster and not Cluster.objects.filter(name=wanted.cluster).exists():
        wrong["cluster"] = _("there is no such cluster")
    if wanted.owner not in ("", ME) and not owners(by, projects).filter(username=wanted.owner).exists():
        wrong["owner"] = _("nobody of this name is in your teams")
    if wrong:
        raise Invalid(wrong)


def owners(by: Actor, projects: Any) -> QuerySet[User]:
    """Whose jobs there may be in `projects`, as far as `by` knows people: members of their teams, who launched there, oneself."""
    ids = [project.pk for project in projects] if isinstance(projects, list) else projects.values("pk")
    members = Q(memberships__team__in=Project.objects.filter(pk__in=ids).values("team"))
    launched = Q(Exists(Job.objects.filter(project__in=ids, created_by=OuterRef("pk"))))
    return User.objects.filter(members | launched | Q(pk=by.user.pk)).distinct()


class HasLabel(Func):
    """Whether a job has this label. Django's own JSON lookups do not take every key: "2024" would be an index, `"` an error."""

    output_field = BooleanField()

    def __init__(self, key: str, value: str) -> None:
        super().__init__(F("labels"), Value(key), Value(value))

    def as_sqlite(self, compiler: Any, connection: Any, **_more: Any) -> Any:
        return self._as("EXISTS (SELECT 1 FROM json_each({}) AS label WHERE label.key = {} AND label.value = {})", compiler)

    def as_postgresql(self, compiler: Any, connection: Any, **_more: Any) -> Any:
        return self._as("COALESCE(jsonb_extract_path_text({}, {}) = {}, FALSE)", compiler)

    def _as(self, words: str, compiler: Any) -> tuple[str, list[Any]]:
        parts = [compiler.compile(part) for part in self.get_source_expressions()]
        return words.format(*(sql for sql, _values in parts)), [value for _sql, values in parts for value in values]
