"""Chores of the panel: each is in the plan, and does what it is for."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from clusters.models import Fetch
from controlpanel import tasks
from controlpanel.celery import app
from tests.clusters import steps

pytestmark = pytest.mark.django_db


def test_every_chore_of_the_plan_is_a_task():
    planned = {entry["task"] for entry in app.conf.beat_schedule.values()}
    names = ("forget_expired", "forget_old", "sweep_log_store", "drop_fetched_files")
    assert planned == {f"controlpanel.tasks.{name}" for name in names}
    assert all(callable(getattr(tasks, name.rpartition(".")[2])) for name in planned)


def test_fetched_files_are_dropped_after_a_day():
    now = timezone.now()
    file = steps.a_file(steps.running(**steps.PLACED))
    steps.fetched(file, b"0123456789", now=now - timedelta(hours=25))
    young = steps.fetched(steps.a_file(file.rank.workload, "young.bin"), b"young", now=now - timedelta(hours=23))
    tasks.drop_fetched_files()
    assert list(Fetch.objects.all()) == [young]
