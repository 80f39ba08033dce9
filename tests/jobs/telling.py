"""A person who is told, a job, and what happens to it."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from django.db import transaction

from jobs import attempts, notice_settings
from jobs.models import Job, Notice, NoticeSettings
from projects.actors import Actor
from tests.factories import NOON

HOOK = "https://hooks.example/panel"


def tells(user: User, **wanted: Any) -> str:
    """Sets what the person is told; the webhook's secret when it is made."""
    return notice_settings.change(user=user, wanted=wanted, by=Actor(user=user), now=NOON)[1]


def happens(job: Job, *states: str, **data: Any) -> None:
    """The job goes through these states."""
    for state in states:
        with transaction.atomic():
            attempts.move(Job.objects.locked(job.pk), state, code="", data=data, now=NOON)


def told() -> list[tuple[str, str, str, str]]:
    """(person, kind, event, channel), in the order in which they were made."""
    rows = Notice.objects.order_by("pk")
    return list(rows.values_list("user__username", "kind", "event__code", "channel"))


def states() -> list[tuple[str, int, str]]:
    return list(Notice.objects.order_by("pk").values_list("state", "tries", "detail"))


def of(user: User) -> NoticeSettings:
    return NoticeSettings.objects.get(user=user)
