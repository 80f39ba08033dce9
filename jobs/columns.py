"""Which columns a list of jobs has: the usual ones, or those that its address names, any parameter and measurement among them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.html import format_html
from django.utils.translation import gettext as _

from jobs import changed_parameters
from jobs.models import Job
from jobs.values import is_readable, is_storable
from monitoring.models import MetricSeries
from projects.errors import Invalid

USUAL = ("project", "chips", "details", "time", "owner", "started")
MORE = ("progress", "version", "ended")
PARAMETER, METRIC = "p.", "m."  # in front of a name: that parameter's value, or what was last measured by that name
MOST = 20
MOST_NAME = 100
FITS = 16  # characters, of a value that its column has room for
MOST_CHOICES = 60  # of parameters, and of measurements, that are offered


@dataclass(frozen=True)
class Column:
    name: str
    title: str
    classes: str = ""
    sorts: str = ""  # the order that its head asks for
    hint: str = ""
    text_of: Callable[[Job], str] | None = None  # of a job
    is_drawn: bool = False  # by the template, being more than a text


def read(names: Iterable[str]) -> tuple[str, ...]:
    """Of an address; () when it asks for the usual ones. Raises Invalid."""
    asked = list(dict.fromkeys(filter(None, names)))
    if len(asked) > MOST:
        raise Invalid({"column": _("at most %(most)s columns") % {"most": MOST}})
    if unknown := [name for name in asked if name not in USUAL + MORE and not _is_a_name(name)]:
        known = ", ".join([*USUAL, *MORE])
        raise Invalid(
            {
                "column": _("there is no column %(name)s; known are %(known)s, p.<parameter> and m.<metric>")
                % {"name": unknown[0][:MOST_NAME], "known": known}
            }
        )
    known_first = [name for name in USUAL + MORE if name in asked]
    found = (*known_first, *(name for name in asked if name not in known_first))
    return () if found == USUAL else found


def shown(names: tuple[str, ...]) -> list[Column]:
    """What stands behind a job's box, state, number and name."""
    known = _known()
    return [known.get(name) or _measured(name) for name in names or USUAL]


def choices(names: tuple[str, ...], jobs: list[Job]) -> list[tuple[str, list[tuple[Column, bool]]]]:
    """(heading, columns and whether each is shown): all that these jobs could be told by. One query."""
    measured = _series(jobs).exclude(name__startswith="system.").exclude(name__startswith="progress/")
    parameters = sorted({name for job in jobs for name in job.parameters})[:MOST_CHOICES]  # PostgreSQL keeps no order of theirs
    wanted = names or USUAL

    def offered(prefix: str, found: Iterable[str]) -> list[tuple[Column, bool]]:
        asked = [name for name in wanted if name.startswith(prefix)]
        return [(_measured(name), name in wanted) for name in dict.fromkeys([*asked, *(prefix + one for one in found)])]

    return [
        (_("Columns"), [(column, column.name in wanted) for column in _known().values()]),
        (_("Parameters"), offered(PARAMETER, parameters)),
        (_("Last measured"), offered(METRIC, measured.order_by("name").values_list("name", flat=True).distinct()[:MOST_CHOICES])),
    ]


def last_values(names: tuple[str, ...], jobs: list[Job]) -> dict[tuple[Any, str], str]:
    """(workload, metric) -> what was last measured by it, of the first rank. One query, and none without such a column."""
    metrics = [name.removeprefix(METRIC) for name in names if name.startswith(METRIC)]
    if not metrics:
        return {}
    rows = _series(jobs).filter(name__in=metrics).values_list("workload_id", "name", "last_value")
    return {(workload, name): "NaN" if value is None else f"{value:.6g}" for workload, name, value in rows}


def value(column: Column, job: Job, measured: Mapping[tuple[Any, str], str]) -> str:
    """Its text; "" where the job has none, and of what is more than text, which the template draws."""
    if column.text_of is not None:
        return column.text_of(job)
    prefix, name = column.name[: len(PARAMETER)], column.name[len(PARAMETER) :]
    if prefix == METRIC:
        return measured.get((job.workload_id, name), "")
    if prefix != PARAMETER or name not in job.parameters:
        return ""
    text = changed_parameters.short(job.parameters[name])
    return format_html('<span title="{0}">{0}</span>', text) if len(text) > FITS else text


def _measured(name: str) -> Column:
    return Column(name, name[len(PARAMETER) :], "number hide-narrow")


def _series(jobs: list[Job]) -> Any:
    """Of the first rank of their last attempts. The subjects are named for the index, which begins with them."""
    last = {"workload_id__in": [job.workload_id for job in jobs if job.workload_id]}
    return MetricSeries.objects.filter(subject__in=[job.subject_id for job in jobs], rank=0, head__gt=0, **last)


def _is_a_name(name: str) -> bool:
    is_one = name.startswith((PARAMETER, METRIC)) and len(PARAMETER) < len(name) <= MOST_NAME
    return is_one and is_storable(name) and is_readable(name)


def _chips(job: Job) -> str:
    return f"{job.request.chips} × {job.request.accelerator}"


def _owner(job: Job) -> str:
    return job.created_by.get_username() if job.created_by else _("unknown")


def _version(job: Job) -> str:
    return _("%(slug)s, version %(number)s") % {"slug": job.version.definition.slug, "number": job.version.number}


def _known() -> dict[str, Column]:
    what_for = _("Why it is as it is, what its launch changed, its labels")
    longest = _("How long it runs; those that still run come as the longest")
    all_of_them = [
        Column("project", _("Project"), "muted hide-narrow", text_of=lambda job: job.project.slug),
        Column("chips", _("Chips"), "hide-medium", text_of=_chips),
        Column(
            "details",
            _("Details"),
            "wide hide-narrow",
            is_drawn=True,
            hint=what_for,
        ),
        Column("time", _("Time"), "number", "run", longest, is_drawn=True),
        Column("owner", _("Owner"), "muted hide-medium", "owner", text_of=_owner),
        Column("started", _("Started"), "number muted hide-medium", "started", is_drawn=True),
        Column("progress", _("Progress"), "number hide-narrow"),
        Column("version", _("Definition"), "muted hide-narrow", text_of=_version),
        Column("ended", _("Ended"), "number muted hide-medium", "ended", is_drawn=True),
    ]
    return {column.name: column for column in all_of_them}
