"""Many jobs at once: those that a person has picked, or all that a filter lets through, and what can be done with each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.http import QueryDict
from django.utils.translation import gettext as _

from jobs import filters
from jobs.filters import Filter
from jobs.models import Job
from jobs.states import ENDED
from projects.access import check, visible_projects
from projects.actors import Actor
from projects.errors import Forbidden, Invalid
from projects.models import Project

MOST_JOBS = 10_000
GREATEST = 2**63 - 1  # of a job's number


@dataclass(frozen=True)
class Refusal:
    """A job with which it cannot be done. `sentence` goes on from "Job 17"."""

    number: int
    code: str
    sentence: str

    @property
    def message(self) -> str:
        return _("Job %(number)s %(why)s.") % {"number": self.number, "why": self.sentence.rstrip(".")}


@dataclass(frozen=True)
class Selection:
    """`numbers`, or what `wanted` lets through of the jobs up to number `until`: what comes later nobody has been asked about."""

    numbers: tuple[int, ...] = ()
    wanted: Filter | None = None
    until: int = GREATEST

    @classmethod
    def read(cls, numbers: Iterable[Any], filter_text: str | None, *, until: int = GREATEST) -> Selection:
        """Of the numbers and the filter (as the list's address has it) of a form or a body. Raises Invalid."""
        found = tuple(dict.fromkeys(map(_number, numbers)))
        if found and filter_text is not None:
            raise Invalid({"filter": _("either jobs or a filter, not both")})
        if len(found) > MOST_JOBS:
            raise Invalid({"jobs": _("at most %(most)s jobs at once") % {"most": MOST_JOBS}})
        if filter_text is not None:
            return cls(wanted=_filter(filter_text), until=until)
        if not found:
            raise Invalid({"jobs": _("no job is selected")})
        return cls(numbers=found)

    def jobs(self, by: Actor, *, now: datetime) -> Any:
        """Those that `by` may see."""
        if self.wanted is None:
            return Job.objects.filter(pk__in=self.numbers, project__in=visible_projects(by))
        return filters.matching(self.wanted, by, now=now).filter(pk__lte=self.until)


@dataclass(frozen=True)
class Plan:
    """What would happen: numbers of the jobs with which it can be done, newest first, and the others with why not."""

    able: list[int] = field(default_factory=list)
    refused: list[Refusal] = field(default_factory=list)

    @property
    def until(self) -> int:
        return max([*self.able, *(one.number for one in self.refused)], default=0)

    @property
    def reasons(self) -> list[tuple[int, str]]:
        """(how many, why not), the most frequent first."""
        return [(count, sentence) for sentence, count in Counter(one.sentence for one in self.refused).most_common()]


def plan(selection: Selection, by: Actor, *, may: str, now: datetime, ended: bool | None = None, most: int = MOST_JOBS) -> Plan:
    """`may` is the right that it needs; `ended`: whether a job must, or must not, have ended. Five queries at most.

    Raises Invalid where it would be more than `most` jobs.
    """
    rows = list(selection.jobs(by, now=now).order_by("-pk").values_list("pk", "project_id", "state")[: MOST_JOBS + 1])
    if len(rows) > MOST_JOBS:
        raise Invalid({"filter": _("more than %(most)s jobs match; narrow the filter") % {"most": MOST_JOBS}})
    forbidden = _forbidden({project for _pk, project, _state in rows}, by, may)
    able, refused = [], []
    for pk, project, state in rows:
        if project in forbidden:
            refused.append(Refusal(pk, *forbidden[project]))
        elif ended is not None and ended != (state in ENDED):
            refused.append(has_ended(pk) if state in ENDED else Refusal(pk, "job-not-ended", _("has not ended yet")))
        else:
            able.append(pk)
    known = {pk for pk, _project, _state in rows}
    refused += [
        Refusal(number, "no-such-job", _("is not there, or not in a team of yours"))
        for number in selection.numbers
        if number not in known
    ]
    if len(able) > most:
        raise Invalid({"jobs": _("at most %(most)s jobs at once; these are %(count)s") % {"most": most, "count": len(able)}})
    return Plan(able, refused)


def has_ended(number: int) -> Refusal:
    return Refusal(number, "job-ended", _("has ended already"))


def _forbidden(projects: set[int], by: Actor, may: str) -> dict[int, tuple[str, str]]:
    """Project id -> (code, why not)."""
    found = {}
    teams: dict[int, tuple[str, str] | None] = {}  # a role is of a team: one look at each
    for project in Project.objects.filter(pk__in=projects):
        if project.team_id not in teams:
            try:
                check(by, project, may=may)
                teams[project.team_id] = None
            except Forbidden as error:
                teams[project.team_id] = (error.code, _("is of a project in which you may not do this"))
        if refusal := teams[project.team_id]:
            found[project.pk] = refusal
    return found


def _number(value: Any) -> int:
    text = str(value)
    if isinstance(value, bool) or not (text.isascii() and text.isdecimal()) or len(text) > 18:
        raise Invalid({"jobs": _("numbers of jobs are needed")})
    return int(text)


def _filter(text: str) -> Filter:
    query = QueryDict(text.removeprefix("?"))
    known = {"state", "label", *filters.ONE_VALUE}
    if unknown := sorted(set(query) - known - {"sort", "limit", "cursor"}):
        words = {"names": ", ".join(unknown), "known": ", ".join(sorted(known))}
        raise Invalid({"filter": _("there is no filter %(names)s; known are %(known)s") % words})
    return Filter.from_query(query)
