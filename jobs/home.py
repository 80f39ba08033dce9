"""What the first page says of jobs: mine that are open, what waits in my projects, what of mine has ended since I last looked."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Count, Max, Q

from jobs import progress
from jobs.models import Job, JobDefinition
from jobs.progress import Progress
from jobs.states import JobState
from projects.actors import Actor
from projects.models import Profile, Project

SHOWN = 8  # rows of a section; the list of jobs has the others
FIRST_LOOK = timedelta(days=1)  # who has marked nothing as seen is shown what ended within
FIRST = [JobState.RUNNING, JobState.STOPPING, JobState.STARTING, JobState.QUEUED]  # the order of open jobs


@dataclass(frozen=True)
class Row:
    job: Job
    progress: Progress | None = None


@dataclass(frozen=True)
class Section:
    """The first of `total` jobs; `counts` by state, without those of 0."""

    rows: list[Row]
    counts: dict[str, int]

    @property
    def total(self) -> int:
        return sum(self.counts.values())

    @property
    def more(self) -> int:
        return self.total - len(self.rows)


@dataclass(frozen=True)
class EndedSince:
    """`until`: the newest of their ends, which marking them as seen remembers."""

    section: Section
    since: datetime
    is_marked: bool  # `since` is when the person marked all as seen
    until: datetime | None


def open_jobs_of(by: Actor) -> Section:
    """Those that `by` launched; what runs comes first, then what is about to, then what waits, each newest first."""
    jobs = Job.objects.visible_to(by.user).filter(created_by=by.user.pk, ended_at=None)
    counted = dict(jobs.order_by().values_list("state").annotate(Count("pk")))
    counts: dict[str, int] = {state: counted[state] for state in FIRST if state in counted}
    found: list[Job] = []
    for state in counts:
        if len(found) < SHOWN:
            found += jobs.filter(state=state).for_display().order_by("-pk")[: SHOWN - len(found)]
    known = progress.of_jobs(found)
    return Section([Row(job, known.get(job.pk)) for job in found], counts)


def waiting_in(projects: Iterable[Project], by: Actor) -> Section:
    """Other people's jobs that wait in these projects, the one that has waited longest first."""
    jobs = Job.objects.filter(project__in=[project.pk for project in projects], state=JobState.QUEUED)
    jobs = jobs.exclude(created_by=by.user.pk)
    rows = [Row(job) for job in jobs.for_display().order_by("pk")[:SHOWN]]
    return Section(rows, {JobState.QUEUED: jobs.count()} if len(rows) == SHOWN else {JobState.QUEUED: len(rows)})


def ended_since(by: Actor, *, now: datetime) -> EndedSince:
    """What `by` launched and has not marked as seen: failed first, then by when it ended, newest first."""
    seen = Profile.objects.filter(user=by.user.pk).values_list("seen_until", flat=True).first()
    since = seen or now - FIRST_LOOK
    jobs = Job.objects.visible_to(by.user).filter(created_by=by.user.pk, ended_at__gt=since)
    found = jobs.order_by().values_list("state").annotate(Count("pk"), Max("ended_at"))
    counts = {state: count for state, count, _last in found}
    failed = list(jobs.filter(state=JobState.FAILED).for_display().order_by("-ended_at")[:SHOWN]) if counts.get("failed") else []
    others = jobs.filter(~Q(state=JobState.FAILED)).for_display().order_by("-ended_at")[: SHOWN - len(failed)]
    rows = [Row(job) for job in [*failed, *(others if len(counts) > bool(failed) else ())]]
    until = max((last for _state, _count, last in found), default=None)
    return EndedSince(Section(rows, counts), since, seen is not None, until)


def mark_seen(by: Actor, *, until: datetime) -> None:
    """What ended up to `until` is not shown again. An older mark never takes the place of a newer one."""
    with transaction.atomic():
        profile, _is_new = Profile.objects.get_or_create(user_id=by.user.pk or 0)
        Profile.objects.filter(Q(seen_until=None) | Q(seen_until__lt=until), pk=profile.pk).update(seen_until=until)


def has_any_job(by: Actor) -> bool:
    return Job.objects.visible_to(by.user).exists()


def has_any_definition(projects: Iterable[Project]) -> bool:
    return JobDefinition.objects.filter(project__in=[project.pk for project in projects]).exists()
