"""Which names share a chart, and in which order charts come: what one wants to see first is first, whatever the names.

"train/loss", "validation/loss" and "val_loss" are lines of "loss". What the system measured comes last.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from operator import attrgetter
from uuid import UUID

from django.db.models import Max
from django.utils.translation import gettext as _

from monitoring.models import MetricSeries, Subject
from projects.errors import Invalid
from projects.paging import Cursor, limit_of

HOST = re.compile(r"host\.(memory|disk|network)_(used|total|free|received|sent)_(bytes(?:_per_s)?)$")  # agent/collectors.py
HIDDEN = "progress/"  # the bar shows it
MOST_WORDS = 200  # characters of a search


@dataclass(slots=True)
class Name:
    """`line`: which line of its chart it is, "" where it needs no word."""

    name: str
    line: str


@dataclass(frozen=True)
class Chart:
    """`is_sampled`: measured by the clock, so that it has no steps."""

    title: str
    is_sampled: bool
    names: list[Name]


@dataclass(frozen=True)
class Found:
    charts: list[Chart]
    cursor: Cursor | None
    count: int  # of all pages
    workload_ids: set[UUID]
    last_ms: int | None


def find(subject: Subject, query: Mapping[str, str]) -> Found:
    """The page of `query`: q, whose words the names must have, limit, cursor. Two queries. Raises Invalid."""
    q, limit = query.get("q", ""), limit_of(query)
    if len(q) > MOST_WORDS:
        raise Invalid({"q": _("at most %(most)s characters") % {"most": MOST_WORDS}})
    cursor = Cursor.read(query.get("cursor", ""), query=f"metrics {subject.pk} {q}")
    rows = MetricSeries.objects.filter(subject=subject).exclude(name__startswith=HIDDEN)
    names = dict(rows.order_by("name").values_list("name").annotate(Max("last_ms")))
    charts = _by_title(name for name in names if _has_words(name, q))
    places = sorted(map(place, charts))
    first = bisect_right(places, tuple(cursor.place)) if cursor else 0
    page = [_chart(title, charts[title]) for _rank, title in places[first : first + limit]]
    more = Cursor(places[first + limit - 1], f"metrics {subject.pk} {q}") if first + limit < len(places) else None
    workload_ids = set(rows.order_by().values_list("workload_id", flat=True).distinct())
    last_ms = max((ms for ms in names.values() if ms is not None), default=None)
    return Found(page, more, len(places), workload_ids, last_ms)


def grouped(names: Iterable[str]) -> list[Chart]:
    """In the order in which they are shown."""
    charts = _by_title(names)
    return [_chart(title, charts[title]) for _rank, title in sorted(map(place, charts))]


def _by_title(names: Iterable[str]) -> dict[str, list[Name]]:
    charts: dict[str, list[Name]] = defaultdict(list)
    for name in names:
        title, line = parts(name)
        charts[title].append(Name(name, line))
    return charts


def _chart(title: str, names: list[Name]) -> Chart:
    return Chart(title, title.startswith(("system.", "host.")), sorted(names, key=attrgetter("name")))


def place(title: str) -> tuple[int, str]:
    """By which charts are sorted: losses, accuracies, a host's CPU and memory, others, what the system measured of a job."""
    bare = title.removeprefix("epoch_")
    if title.startswith("system."):
        return 7, title
    order = (
        bare == "loss",
        "loss" in title,
        bare.startswith("acc"),
        "acc" in title,
        title.startswith("host.cpu"),
        title.startswith("host.memory"),
        True,
    )
    return order.index(True), title


def parts(name: str) -> tuple[str, str]:
    """(title of its chart, word for its line)"""
    if name.startswith("host.") and (host := HOST.match(name)):
        what, line, unit = host.groups()
        return f"host.{what}_{unit}", line
    run, _slash, chart = name.rpartition("/")
    is_validation = chart.startswith("val_") and chart != "val_"
    return chart.removeprefix("val_") if is_validation else chart, " ".join(filter(None, [run, "validation" * is_validation]))


def _has_words(name: str, q: str) -> bool:
    return all(word in name.casefold() for word in q.casefold().split())
