"""What stands around the list of jobs: the choices of its filters, what is chosen, and the labels of its rows as links."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from django.utils.translation import gettext as _

from clusters.models import Cluster
from jobs import changed_parameters, columns, filters
from jobs.columns import Column
from jobs.filters import Filter
from jobs.listing import Page
from jobs.models import Job, JobDefinition
from jobs.progress import Progress
from jobs.sorting import ORDERS, Order
from jobs.states import JobState
from projects.actors import Actor
from projects.models import Project
from projects.paging import Cursor

LABELS_A_ROW = 3
FIRST_DOWN = ("number", "started", "ended", "run", "wait")  # what a click on the head of its column sorts the greatest first


@dataclass(frozen=True)
class Link:
    text: str
    address: str


@dataclass(frozen=True)
class Head:
    """Of a column: where a click on it leads, and how the list is sorted by it now ("": it is not)."""

    address: str
    direction: str


@dataclass(frozen=True)
class Row:
    job: Job
    progress: Progress | None
    cells: list[tuple[Column, str]]  # the text of those that are no column of every job's
    why: str  # it is as it is, where that is worth a word
    changed: str  # "epochs=20 rate=0.1": what its launch set otherwise than its definition
    labels: list[Link]  # each narrows the list to those that have it
    more_labels: str  # those that have no room


def labels_of(job: Job) -> list[Link]:
    """Each leads to the jobs that have it."""
    return [Link(f"{key}={value}", Filter().with_label(key, value).address()) for key, value in sorted(job.labels.items())]


class FilterBar:
    """For the template; five queries at most, however much there is."""

    def __init__(self, page: Page, by: Actor, projects: list[Project]) -> None:
        self.wanted: Filter = page.wanted
        self.projects = projects
        self._page, self._by = page, by

    @property
    def here(self) -> str:
        """The address of what is shown, without what is not asked for."""
        cursor = {"cursor": self._page.cursor} if self._page.cursor else {}
        return self.wanted.address(**self._page.more(**cursor))

    @property
    def filter(self) -> str:
        """What is asked for, without order and place."""
        return self.wanted.address()

    @property
    def newest(self) -> str:
        return self.wanted.address(**self._page.more())

    @property
    def is_first(self) -> bool:
        return self._page.cursor is None

    @property
    def is_newest_first(self) -> bool:
        return self._page.order == Order()

    def older(self, cursor: Cursor) -> str:
        return self.wanted.address(**self._page.more(cursor=cursor))

    @property
    def heads(self) -> dict[str, Head]:
        """Of each order by which a column sorts."""
        return {name: self._head(name) for name in ORDERS}

    def _head(self, name: str) -> Head:
        now = self._page.order
        order = now.turned if name == now.name else Order(name, name in FIRST_DOWN)
        direction = ("descending" if now.is_down else "ascending") if name == now.name else ""
        return Head(self.wanted.address(**replace(self._page, order=order).more()), direction)

    @property
    def orders(self) -> list[tuple[str, str, bool]]:
        """(value, words, whether it is the present one) of the field that says the order."""
        words = {
            "-number": _("newest first"),
            "number": _("oldest first"),
            "state": _("by state"),
            "name": _("by name"),
            "owner": _("by owner"),
            "-started": _("last started first"),
            "-ended": _("last ended first"),
            "-run": _("longest run first"),
            "run": _("shortest run first"),
            "-wait": _("longest wait first"),
        }
        turned = {
            "-state": _("by state, ended first"),
            "-name": _("by name, Z first"),
            "-owner": _("by owner, Z first"),
            "started": _("first started first"),
            "ended": _("first ended first"),
            "wait": _("shortest wait first"),
        }
        now = str(self._page.order)
        return [(value, text, value == now) for value, text in (words | turned).items() if value in words or value == now]

    @property
    def states(self) -> list[tuple[str, Any, bool]]:
        return [(value, label, value in self.wanted.states) for value, label in JobState.choices]

    @cached_property
    def definitions(self) -> list[str]:
        found = JobDefinition.objects.filter(project__in=self.projects).order_by("slug").values_list("slug", flat=True)
        return list(dict.fromkeys(found))

    @cached_property
    def owners(self) -> list[str]:
        return list(filters.owners(self._by, self.projects).order_by("username").values_list("username", flat=True))

    @cached_property
    def _clusters(self) -> list[tuple[str, str]]:
        return list(Cluster.objects.order_by("name").values_list("name", "accelerator"))

    @property
    def clusters(self) -> list[str]:
        return [name for name, _accelerator in self._clusters]

    @property
    def accelerators(self) -> list[str]:
        return sorted({accelerator for _name, accelerator in self._clusters})

    @property
    def labels(self) -> list[Link]:
        """Those that are asked for; each link asks no longer for its own."""
        texts = (f"{key}={value}" for key, value in self.wanted.labels)
        return [Link(text, self.wanted.without("label", text).address(**self._page.more())) for text in texts]

    @property
    def times(self) -> list[tuple[str, str, Link]]:
        """(name, value, link that asks no longer for it) of when they were launched: said in the address alone."""
        words = {
            "since": _("launched within %(value)s"),
            "created_after": _("launched from %(value)s"),
            "created_before": _("launched before %(value)s"),
        }
        asked = [(name, getattr(self.wanted, name)) for name in words if getattr(self.wanted, name)]
        return [
            (name, value, Link(words[name] % {"value": value}, self.wanted.without(name, value).address(**self._page.more())))
            for name, value in asked
        ]

    @property
    def kept(self) -> Mapping[str, Any]:
        """What the form sends along, though it has no field for it."""
        return {name: value for name, value in self._page.more().items() if name not in ("sort", "column")}

    @property
    def is_active(self) -> bool:
        return self.wanted != Filter()

    @cached_property
    def columns(self) -> list[tuple[Column, Head | None]]:
        """What stands behind box, state, number and name, each with the head that sorts by it."""
        return [(column, self.heads.get(column.sorts)) for column in columns.shown(self._page.columns)]

    @property
    def has_own_columns(self) -> bool:
        return bool(self._page.columns)

    @property
    def usual_columns(self) -> str:
        """The address of the same list with the usual ones."""
        return self.wanted.address(**replace(self._page, columns=()).more())

    def column_choices(self, jobs: list[Job]) -> list[tuple[str, list[tuple[Column, bool]]]]:
        return columns.choices(self._page.columns, jobs)

    @property
    def sent(self) -> list[tuple[str, Any]]:
        """What a form that chooses the columns sends along: filters and order."""
        return [*self.wanted.pairs(), *((name, value) for name, value in self._page.more().items() if name != "column")]

    def rows(self, jobs: list[Job], progress: Mapping[int, Progress]) -> list[Row]:
        measured = columns.last_values(self._page.columns, jobs)
        return [self._row(job, progress.get(job.pk), measured) for job in jobs]

    def _row(self, job: Job, progress: Progress | None, measured: Mapping[tuple[Any, str], str]) -> Row:
        labels = [
            Link(f"{key}={value}", self.wanted.with_label(key, value).address(**self._page.more()))
            for key, value in sorted(job.labels.items())
        ]
        cells = [(column, _text(column, job, progress, measured)) for column, _head in self.columns]
        more = ", ".join(label.text for label in labels[LABELS_A_ROW:])
        why = "" if job.state in (JobState.RUNNING, JobState.SUCCEEDED) else job.why[1]
        return Row(job, progress, cells, why, changed_parameters.line(job), labels[:LABELS_A_ROW], more)


def _text(column: Column, job: Job, progress: Progress | None, measured: Mapping[tuple[Any, str], str]) -> str:
    if column.name == "progress":
        return "" if progress is None or progress.percent is None else f"{progress.percent} %"
    return columns.value(column, job, measured)
