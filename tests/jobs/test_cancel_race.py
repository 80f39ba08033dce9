"""People, hosts and the follower at the same job at once: whoever waits gets their turn, and nobody a deadlock."""

from __future__ import annotations

import logging
import threading

import pytest

from clusters.models import Host
from clusters.scheduling import schedule
from jobs import attempts, services
from jobs.models import Job
from projects.actors import Actor
from projects.errors import Conflict, Gone
from tests.clusters import steps
from tests.clusters.steps import after
from tests.factories import NOON, a_host, a_job, a_project, a_user
from tests.monitoring.threads import at_once


@pytest.mark.django_db(transaction=True)
def test_a_job_is_canceled_claimed_and_followed_at_once(shared_database, caplog):
    rounds = 40
    host, user, project = a_host(chips=rounds), a_user(), a_project()
    jobs = [a_job(project=project, by=user) for _ in range(rounds)]
    schedule(now=NOON)
    gate = threading.Barrier(3)

    too_late = set()

    def cancels() -> None:
        for job in jobs:
            gate.wait(30)
            try:
                services.cancel(job=job, by=Actor(user=user), now=after(1))
            except Conflict:  # the host was through with it, and that was followed, before
                too_late.add(job.pk)

    def host_works() -> None:
        for job in jobs:
            gate.wait(30)
            try:
                steps.claim(job.workload, host=host)
            except Gone:
                continue
            steps.says(job.workload, state="running")
            steps.says(job.workload, now=after(2), **steps.STOPPED)

    def follows() -> None:
        for _ in jobs:
            gate.wait(30)
            attempts.follow(now=after(1))

    with caplog.at_level(logging.ERROR, logger="jobs.attempts"):
        at_once(cancels, host_works, follows)
    attempts.follow(now=after(3))
    assert "cannot follow" not in caplog.text
    assert set(Job.objects.exclude(pk__in=too_late).values_list("state", flat=True)) <= {"canceled"}
    assert set(Job.objects.filter(pk__in=too_late).values_list("state", flat=True)) <= {"failed"}
    assert steps.held_chips() == 0 and Host.objects.get().orders.open().count() == 0
