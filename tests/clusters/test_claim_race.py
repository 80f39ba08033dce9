"""A claim and a stop of the same rank at once: the host has it and will be told to end it, or it never began."""

from __future__ import annotations

import copy
import threading
from collections import Counter, defaultdict
from uuid import UUID

import pytest
from uuid6 import uuid7

from agent import protocol
from clusters import ranks, workloads
from clusters.models import Chip, Host, Lease, Order, Rank, Workload
from projects.errors import Gone
from tests.clusters import steps
from tests.factories import NOON, a_host
from tests.monitoring.threads import at_once

HAS_IT, NEVER_BEGAN = "claimed, and a stop is ordered", "gone, and its chips are free"


@pytest.mark.django_db(transaction=True)
def test_a_claim_raced_against_a_stop_fifty_times(shared_database):
    assert raced(50).total() == 50


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_a_claim_raced_against_a_stop_a_thousand_times():
    """Row locks decide here, and both outcomes come about."""
    ends = raced(1000)
    assert ends.total() == 1000
    assert min(ends[HAS_IT], ends[NEVER_BEGAN]) >= 20, ends


def raced(rounds: int) -> Counter[str]:
    """Two threads meet at a barrier before each round; what each round came to is read from the database."""
    host = a_host(chips=rounds)
    placed = all_placed(host, rounds)
    gate = threading.Barrier(2)
    answers: list[protocol.Start | Gone] = []

    def claims() -> None:
        for workload in placed:
            gate.wait(30)
            try:
                answers.append(ranks.claim(workload.pk, 0, host=host, now=NOON))
            except Gone as refused:
                answers.append(refused)

    def stops() -> None:
        for workload in placed:
            gate.wait(30)
            workloads.want_stop(workload.pk, code="canceled", grace_s=5, now=steps.after(1), by="ada")

    at_once(claims, stops, timeout=120)
    rows = Workload.objects.in_bulk([workload.pk for workload in placed])
    left = Left(host)
    return Counter(came_to(rows[workload.pk], answer, left) for workload, answer in zip(placed, answers, strict=True))


def all_placed(host: Host, count: int) -> list[Workload]:
    """As the scheduler leaves them, but in a few statements: one workload a chip."""
    first = steps.ordered(host, stop_grace_s=5)
    rank, lease, order = Rank.objects.get(), Lease.objects.get(), Order.objects.get()
    more = [copied(first, pk=uuid7()) for _ in range(count - 1)]
    Workload.objects.bulk_create(more)
    for number, workload in enumerate(more, start=1):
        Chip.objects.filter(host=host, number=number).update(workload=workload)
    Rank.objects.bulk_create(copied(rank, pk=None, workload=one, chips=[n]) for n, one in enumerate(more, start=1))
    Lease.objects.bulk_create(copied(lease, pk=None, workload=one) for one in more)
    Order.objects.bulk_create(copied(order, pk=None, workload_id=one.pk) for one in more)
    return [first, *more]


def copied(row, **change):
    made = copy.copy(row)
    made._state = copy.copy(row._state)
    made._state.fields_cache = {}
    for name, value in change.items():
        setattr(made, name, value)
    return made


class Left:
    """What the tables say once all is over: by workload."""

    def __init__(self, host: Host) -> None:
        self.ranks = {rank.workload_id: rank for rank in Rank.objects.all()}
        self.chips = Counter(Chip.objects.exclude(workload=None).values_list("workload_id", flat=True))
        self.leases = Counter(Lease.objects.filter(to_ms=None).values_list("workload_id", flat=True))
        self.orders: dict[UUID, list[str]] = defaultdict(list)
        for workload_id, kind in Order.objects.open().filter(host=host).values_list("workload_id", "kind"):
            self.orders[workload_id].append(kind)


def came_to(workload: Workload, answer: protocol.Start | Gone, left: Left) -> str:
    rank, chips, leases = left.ranks[workload.pk], left.chips[workload.pk], left.leases[workload.pk]
    orders = left.orders[workload.pk]
    if isinstance(answer, protocol.Start):
        assert (rank.state, rank.claimed_session) == ("claimed", 1)
        assert (workload.state, workload.wanted, chips, leases, orders) == ("stopping", "stop", 1, 1, ["stop"])
        return HAS_IT
    assert (rank.state, rank.cause, rank.claimed_session) == ("ended", "not-started", None)
    assert (workload.state, workload.outcome, chips, leases, orders) == ("exited", "stopped", 0, 0, [])
    return NEVER_BEGAN
