"""Each loop has one holder, and a tick that fails stops nothing."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from datetime import timedelta

import pytest
from django.utils import timezone

from clusters import holding, workloads
from clusters.models import Loop, Order
from controlpanel import loops
from jobs.models import Job
from tests.clusters import steps
from tests.factories import a_host, a_job, a_workload

pytestmark = pytest.mark.django_db


class Stop(threading.Event):
    """Set after so many looks; nobody sleeps for it."""

    def __init__(self, looks: int) -> None:
        super().__init__()
        self.looks = looks
        self.waits: list[float] = []

    def is_set(self) -> bool:
        self.looks -= 1
        return self.looks < 0

    def wait(self, timeout=None) -> bool:
        self.waits.append(timeout)
        return False


@dataclass
class CountingLoop:
    """A loop that counts its ticks."""

    ticks: list[str] = field(default_factory=list)
    fails: int = 0

    def tick(self) -> None:
        self.ticks.append("tick")
        if len(self.ticks) <= self.fails:
            raise ZeroDivisionError("a bug")

    def wait(self) -> None:
        self.ticks.append("wait")


@pytest.fixture
def loop(monkeypatch):
    loop = CountingLoop()
    monkeypatch.setitem(loops.LOOPS, "scheduler", lambda: loop)
    monkeypatch.setattr(loops, "close_old_connections", lambda: None)  # the test's own transaction is in it
    return loop


def test_who_holds_a_loop_ticks_and_leaves_it_to_the_next(loop):
    loops.run("scheduler", Stop(3))
    assert loop.ticks == ["tick", "wait"] * 3
    row = Loop.objects.get(name="scheduler")
    assert (row.holder, row.until < timezone.now()) == (loops.HOLDER, True)
    assert holding.hold("scheduler", "another", now=timezone.now())


def test_who_does_not_hold_it_looks_on(loop):
    holding.hold("scheduler", "another", now=timezone.now())
    stop = Stop(3)
    loops.run("scheduler", stop)
    assert (loop.ticks, stop.waits) == ([], [1.0] * 3)
    assert Loop.objects.get(name="scheduler").holder == "another"


def test_a_holder_that_is_gone_is_followed_by_the_next(loop):
    holding.hold("scheduler", "another", now=timezone.now())
    Loop.objects.update(until=timezone.now() - timedelta(seconds=0.1))
    loops.run("scheduler", Stop(1))
    assert loop.ticks == ["tick", "wait"]
    assert Loop.objects.get(name="scheduler").holder == loops.HOLDER


def test_a_tick_that_fails_is_told_and_the_next_one_comes_a_second_later(loop, caplog):
    loop.fails = 2
    stop = Stop(3)
    loops.run("scheduler", stop)
    assert (loop.ticks, stop.waits) == (["tick", "tick", "tick", "wait"], [1.0, 1.0])
    assert caplog.text.count("tick failed loop=scheduler") == 2


def test_a_holder_that_lost_its_loop_stops_ticking(loop, monkeypatch):
    class Clock:
        """The loop renews at each look."""

        seconds = 0.0

        def monotonic(self) -> float:
            self.seconds += 10
            return self.seconds

    monkeypatch.setattr(loops, "time", Clock())
    loop.wait = lambda: Loop.objects.update(holder="another", until=timezone.now() + timedelta(seconds=60))
    loops.run("scheduler", Stop(4))
    assert loop.ticks == ["tick"]
    assert Loop.objects.get(name="scheduler").holder == "another"


# -- What each does ------------------------------------------------------------------------------------------


def test_a_tick_of_the_scheduler_places_sends_and_sweeps(valkey, monkeypatch):
    sent = []
    monkeypatch.setattr("clusters.dispatch.publish", sent.append)
    now = timezone.now()
    host = a_host(heard_at=now, chips=1)
    late = steps.ordered(host, now=now - timedelta(seconds=61))
    waiting = a_workload()
    Order.objects.update(sent_at=now)
    scheduler = loops.SchedulerLoop()
    scheduler.tick()
    assert (steps.state(late)[2], steps.state(waiting)[0], sent) == ("not-started", "waiting", [])
    scheduler.tick()
    assert steps.state(waiting)[0] == "ordered"
    assert [order.workload_id for order in sent] == [waiting.pk]


def test_a_tick_of_the_follower_moves_jobs():
    job = a_job()
    Job.objects.filter(pk=job.pk).update(state="starting")
    workloads.want_stop(job.workload_id, code="panel-stopped", grace_s=0, now=timezone.now())
    loops.FollowLoop().tick()
    assert Job.objects.get().state == "canceled"


def test_every_loop_is_in_the_table_under_its_own_name(valkey):
    assert {name: make().name for name, make in loops.LOOPS.items()} == {name: name for name in loops.LOOPS}
