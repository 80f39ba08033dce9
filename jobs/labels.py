"""Labels of jobs that are there already: added, changed and taken away, of one job or of many."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from jobs.models import Job
from jobs.selections import Refusal
from jobs.values import is_readable, is_storable
from monitoring import events
from projects import audit
from projects.actors import Actor
from projects.errors import Invalid

MOST_LABELS, MOST_NAME, MOST_VALUE = 50, 63, 200  # of a job; characters
AT_ONCE = 1000
Changes = Mapping[str, str | None]  # name -> its new value; None: no longer


def check(changes: Changes, *, path: str = "labels") -> None:
    """Raises Invalid for what no label can be."""
    if not changes:
        raise Invalid({path: _("says no change")})
    for name, value in changes.items():
        where = f"{path}.{name}"[:200]
        if not name or len(name) > MOST_NAME or len(value or "") > MOST_VALUE:
            words = {"name": MOST_NAME, "value": MOST_VALUE}
            raise Invalid({where: _("a name has 1 to %(name)s characters, a value at most %(value)s") % words})
        if not is_storable([name, value]) or not is_readable({name: value or ""}):
            raise Invalid({where: _("holds a line break, a control character or one that turns the direction of text")})
    if len(changes) > MOST_LABELS:
        raise Invalid({path: _("at most %(most)s labels") % {"most": MOST_LABELS}})


def change(numbers: Sequence[int], changes: Changes, *, by: Actor, now: datetime) -> tuple[list[int], list[Refusal]]:
    """The same change of all these jobs, for which `by` has the right (selections.plan): (done, not done).

    A job that has these labels already is done without a word; one that would have too many keeps what it has.
    """
    check(changes)
    done: list[int] = []
    refused: list[Refusal] = []
    for start in range(0, len(numbers), AT_ONCE):
        some, others = _change(numbers[start : start + AT_ONCE], changes, by=by, now=now)
        done += some
        refused += others
    return done, refused


def _change(numbers: Sequence[int], changes: Changes, *, by: Actor, now: datetime) -> tuple[list[int], list[Refusal]]:
    with transaction.atomic():
        rows = Job.objects.select_for_update(of=("self",)).filter(pk__in=numbers).select_related("subject", "project")
        jobs = {job.pk: job for job in rows.only("pk", "project__team", "labels", "subject").order_by("pk")}
        refused = [Refusal(number, "no-such-job", _("is not there any more")) for number in numbers if number not in jobs]
        changed = []
        for job in jobs.values():
            labels = applied(job.labels, changes)
            if len(labels) > MOST_LABELS:
                too_many = _("would have more than %(most)s labels") % {"most": MOST_LABELS}
                refused.append(Refusal(job.pk, "too-many-labels", too_many))
            elif labels != job.labels:
                job.labels = labels
                changed.append(job)
        Job.objects.bulk_update(changed, ["labels"], batch_size=200)
        subjects = [(job.subject, job.project_id, job.project.team_id) for job in changed if job.subject]
        sentence, data = _sentence(changes), {"labels": dict(changes)}
        news = [events.News(subject.pk, "job.labeled", sentence, data) for subject, *_place in subjects]
        events.record_many(news, at=now, by_name=by.user.get_username())
        audit.record_many("job.label", by=by, subjects=subjects, labels=dict(changes))
    left = {one.number for one in refused}
    return [number for number in numbers if number not in left], refused


def applied(labels: Mapping[str, str], changes: Changes) -> dict[str, str]:
    merged: dict[str, Any] = {**labels, **changes}
    return {name: value for name, value in merged.items() if value is not None}


def _sentence(changes: Changes) -> str:
    put = ", ".join(f"{name}={value}" for name, value in changes.items() if value is not None)
    gone = ", ".join(name for name, value in changes.items() if value is None)
    parts = [f"Labels set: {put}." if put else "", f"Labels taken away: {gone}." if gone else ""]
    return " ".join(filter(None, parts))
