"""Work is placed on a host while it is taken out: it is told to stop there, or it was never placed. Row locks decide."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest

from clusters import hosts, scheduling, workloads
from clusters.models import Host, Order, Workload
from clusters.states import HostState
from projects.actors import Actor
from projects.errors import Conflict
from tests.clusters import steps
from tests.clusters.steps import after
from tests.factories import NOON, a_host, a_user, a_workload
from tests.monitoring.threads import at_once

pytestmark = [pytest.mark.postgresql, pytest.mark.django_db(transaction=True)]

ROUNDS = 120


def test_no_drain_overlooks_what_is_being_placed():
    def drains(host: Host, by: Actor) -> None:
        hosts.drain(host=host, reason="new disk", by=by, now=after(1))

    ends = raced(drains)
    assert set(ends) <= {("cordoned", "waiting", "run", 0), ("cordoned", "exited", "stop", 1)}, ends
    assert ends.total() == ROUNDS


def test_no_host_is_retired_under_what_is_being_placed():
    def retires(host: Host, by: Actor) -> None:
        try:
            hosts.retire(host=host, by=by, now=after(1))
        except Conflict as refused:
            assert refused.code == "host-in-use"

    ends = raced(retires)
    assert set(ends) <= {("retired", "waiting", "run", 0), ("ready", "ordered", "run", 1)}, ends
    assert ends.total() == ROUNDS


def raced(take_out: Callable[[Host, Actor], None]) -> Counter[tuple[str, str, str, int]]:
    """(state of the host, state and wish of the workload, orders to start it) -> in how many rounds."""
    by, ends = Actor(user=a_user(username="operator", is_superuser=True)), Counter[tuple[str, str, str, int]]()
    for _round in range(ROUNDS):
        host, workload = a_host(), a_workload()
        at_once(lambda: scheduling.schedule(now=NOON), lambda host=host: take_out(host, by))  # type: ignore[misc]
        now, ordered = steps.fresh(workload), Order.objects.filter(host=host, kind="start", workload_id=workload.pk).count()
        ends[Host.objects.get(pk=host.pk).state, now.state, now.wanted, ordered] += 1
        if now.state == "waiting":  # it is out of the next one's way
            workloads.want_stop(workload.pk, code="canceled", grace_s=0, now=NOON, by="ada")
        Host.objects.filter(pk=host.pk).update(state=HostState.RETIRED)
        assert not Workload.objects.waiting().exists()
    return ends
