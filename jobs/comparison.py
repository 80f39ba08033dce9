"""Jobs side by side: in which of their facts, parameters and last measurements they differ, and in which they are the same."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from clusters import catalogue
from clusters.models import Rank
from jobs.models import Job
from monitoring import metrics
from monitoring.models import MetricSeries
from projects.access import visible_projects
from projects.actors import Actor
from projects.errors import Invalid, NotFound

FEWEST, MOST = 1, 8  # jobs at once
MOST_METRICS = 60  # rows of last measurements
CANDIDATES = 12


@dataclass(frozen=True)
class Row:
    """One fact of all jobs; `values` in their order, "" where one has none. `kind` says how they are drawn."""

    title: str
    values: list[Any]
    kind: str = ""

    @property
    def is_same(self) -> bool:
        return all(value == self.values[0] for value in self.values)


@dataclass(frozen=True)
class Section:
    title: str
    rows: list[Row]

    @property
    def differing(self) -> list[Row]:
        return [row for row in self.rows if not row.is_same]

    @property
    def same(self) -> list[Row]:
        return [row for row in self.rows if row.is_same]


def read_numbers(texts: Iterable[str]) -> list[int]:
    """Of "1,2" or of several. Raises Invalid."""
    parts = [part.strip() for text in texts for part in text.split(",")]
    found = []
    for part in filter(None, parts):
        number = part.removeprefix("#")
        if not (number.isascii() and number.isdecimal()) or len(number) > 18:
            raise Invalid({"jobs": _("numbers of jobs are needed, with commas between them")})
        found.append(int(number))
    numbers = list(dict.fromkeys(found))
    if len(numbers) < FEWEST:
        raise Invalid({"jobs": _("no job is selected")})
    if len(numbers) > MOST:
        raise Invalid(
            {"jobs": _("at most %(most)s jobs are compared; these are %(count)s") % {"most": MOST, "count": len(numbers)}}
        )
    return numbers


def get_jobs(by: Actor, numbers: list[int]) -> tuple[list[Job], list[int]]:
    """(those that `by` may see, in this order, the numbers of the others). Raises NotFound where there is none."""
    found = Job.objects.filter(project__in=visible_projects(by)).for_display().in_bulk(numbers)
    if not found:
        words = ", ".join(map(str, numbers))
        raise NotFound(
            "no-such-job", _("There is no job %(number)s, or you are not in its team.") % {"number": words}, jobs=numbers
        )
    return [found[number] for number in numbers if number in found], [number for number in numbers if number not in found]


def sections(jobs: list[Job], *, now: datetime) -> list[Section]:
    """Two queries, however many jobs there are."""
    return [
        Section(_("How it went"), list(_facts(jobs, now))),
        Section(_("Last measured"), _measured(jobs)),
        Section(_("Parameters"), _named([job.parameters for job in jobs])),
        Section(_("Code and place"), list(_code(jobs))),
        Section(_("Environment"), _named([job.environment for job in jobs])),
        Section(_("Labels"), _named([job.labels for job in jobs])),
    ]


def candidates(jobs: list[Job], by: Actor) -> list[Job]:
    """With what these could be compared besides: the newest of the first one's definition."""
    first = jobs[0]
    others = Job.objects.filter(project=first.project_id, version__definition=first.version.definition_id)
    return list(others.exclude(pk__in=[job.pk for job in jobs]).for_display().order_by("-pk")[:CANDIDATES])


def _facts(jobs: list[Job], now: datetime) -> Iterable[Row]:
    yield Row(_("State"), [job.state for job in jobs], "state")
    whys = [job.why[1] if job.state not in ("running", "succeeded") else "" for job in jobs]
    if any(whys):
        yield Row(_("Why"), whys)
    yield Row(_("Ran"), [_seconds(job.started_at, job.ended_at or now) for job in jobs], "seconds")
    yield Row(_("Waited"), [_seconds(job.created_at, job.started_at or job.ended_at or now) for job in jobs], "seconds")
    yield Row(_("Launched"), [job.created_at for job in jobs], "moment")
    yield Row(_("Owner"), [job.created_by.get_username() if job.created_by else "" for job in jobs])
    yield Row(_("Asks for"), [catalogue.amount(job.request.chips, job.request.accelerator) for job in jobs])


def _code(jobs: list[Job]) -> Iterable[Row]:
    names = {job.version.definition.slug for job in jobs}
    words = [_("version %(number)s") % {"number": job.version.number} for job in jobs]
    if len(names) > 1:
        words = [f"{job.version.definition.slug}, {text}" for job, text in zip(jobs, words, strict=True)]
    yield Row(_("Definition"), words)
    sources = [job.spec_json.get("source", {}) for job in jobs]
    yield Row(_("Source"), [source.get("address") or source.get("title") or source.get("name") or "" for source in sources])
    commits = [source.get("commit", "") or source.get("digest", "") for source in sources]
    if any(commits):
        yield Row(_("Commit"), commits, "code")
    runtimes = [job.spec_json.get("runtime") or {} for job in jobs]
    yield Row(_("Runtime"), [f"{one['name']} {one['digest'][:12]}" if one else _("the host's own") for one in runtimes])
    ranks = Rank.objects.filter(workload__in=[job.workload_id for job in jobs]).order_by("number")
    hosts: dict[Any, list[str]] = {}
    for workload, name in ranks.values_list("workload_id", "host__name"):
        hosts.setdefault(workload, []).append(name)
    yield Row(_("Hosts"), [", ".join(hosts.get(job.workload_id, [])) for job in jobs])
    yield Row(_("Project"), [job.project.slug for job in jobs])


def _measured(jobs: list[Job]) -> list[Row]:
    """Of the first rank of each one's last attempt."""
    workloads = {job.workload_id: place for place, job in enumerate(jobs) if job.workload_id}
    series = MetricSeries.objects.filter(workload_id__in=workloads, rank=0).order_by("name")
    found: dict[str, list[Any]] = {}
    rows = [row for row in series if not row.name.startswith(("system.", "progress/"))]
    values = metrics.last_values(rows)
    for row in rows:
        text = _number(values[row.pk]) if row.pk in values else ""
        found.setdefault(row.name, [""] * len(jobs))[workloads[row.workload_id]] = text
    return [Row(name, values) for name, values in list(found.items())[:MOST_METRICS]]


def _number(value: float) -> str:
    """As charts write what no axis has a place for."""
    if math.isfinite(value):
        return f"{value:.6g}"
    return "NaN" if math.isnan(value) else "∞" if value > 0 else "-∞"


def _named(pairs: list[Mapping[str, Any]]) -> list[Row]:
    """A row for each name that one of them has."""
    names = dict.fromkeys(name for one in pairs for name in one)
    return [Row(name, [_text(one[name]) if name in one else "" for one in pairs], "text") for name in names]


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _seconds(since: datetime | None, until: datetime) -> float | str:
    return "" if since is None else max(0.0, (until - since).total_seconds())


def missing_words(numbers: list[int]) -> str:
    """ "" where none is missing."""
    if not numbers:
        return ""
    said = ngettext(
        "Job %(numbers)s is not there, or not in a team of yours.",
        "Jobs %(numbers)s are not there, or not in a team of yours.",
        len(numbers),
    )
    return said % {"numbers": ", ".join(map(str, numbers))}
