"""The scheduler's pass: reads the line and the free chips, lets placement decide, applies what it decided."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from uuid import UUID

from django.conf import settings
from django.db import transaction

from clusters import hosts, orders, silence, workloads
from clusters.models import Chip, Host, Lease, Rank, Workload
from clusters.placement import Choice, HostRoom, Inventory, Place, Refusal, Waiting, plan
from clusters.specs import Request
from clusters.states import HostState, Wanted, WorkloadState

logger = logging.getLogger(__name__)

PLACED_A_COMMIT = 50


def schedule(*, now: datetime) -> int:
    """One pass over all that wait: start what fits, leave the others their reason. Returns how many were placed."""
    line = list(_line())
    if not line:
        return 0
    decisions = [(waiting.workload, decision) for waiting, decision in plan(line, inventory())]
    choices = [(workload, decision) for workload, decision in decisions if isinstance(decision, Choice)]
    placed = 0
    # A commit for several: each waits for its turn among all that write (SQLite has one), and twenty waits are a second.
    for start in range(0, len(choices), PLACED_A_COMMIT):
        placed += _apply_some(choices[start : start + PLACED_A_COMMIT], now=now)
    _leave_reasons((workload, decision) for workload, decision in decisions if isinstance(decision, Refusal))
    return placed


def _line() -> Iterator[Waiting]:
    """Those that wait, in their order. One that cannot be read keeps no other waiting."""
    for pk, request in Workload.objects.waiting().values_list("pk", "request_json"):
        try:
            yield Waiting(pk, Request.from_json(request))
        except (KeyError, TypeError, ValueError):
            logger.exception("not a request workload=%s", pk)


def inventory() -> Inventory:
    """All hosts in service with their free chips, filled in the order of cluster, slice and place in the slice."""
    free: dict[UUID, list[int]] = defaultdict(list)
    total: dict[UUID, int] = defaultdict(int)
    for host, number, holder in Chip.objects.order_by("host", "number").values_list("host_id", "number", "workload_id"):
        total[host] += 1
        if holder is None:
            free[host].append(number)
    heard_by = silence.listening()
    in_service = Host.objects.filter(state__in=[HostState.READY, HostState.CORDONED]).select_related("slice__cluster")
    return Inventory(
        tuple(
            HostRoom(
                host=host.pk,
                name=host.name,
                cluster=host.slice.cluster.name,
                accelerator=host.slice.cluster.accelerator,
                free=tuple(free[host.pk]),
                total=total[host.pk],
                cordoned=host.state == HostState.CORDONED,
                silent=silence.silence_s(host, heard_by) > settings.PLACE_SILENT_S,
                doubtful=host.unclaimed_at is not None,
            )
            for host in in_service.order_by("slice__cluster__name", "slice__name", "number")
        )
    )


def _apply_some(choices: Sequence[tuple[UUID, Choice]], *, now: datetime) -> int:
    """In one transaction, those whose hosts are all still ready. Returns how many were placed."""
    with transaction.atomic():
        held = hosts.hold({place.host for _workload, choice in choices for place in choice.places})
        ready = {pk for pk, host in held.items() if host.state == HostState.READY}
        able = [(workload, choice) for workload, choice in choices if {place.host for place in choice.places} <= ready]
        return sum(_apply(workload, choice, now=now) for workload, choice in able)


def _apply(workload_id: UUID, choice: Choice, *, now: datetime) -> bool:
    """waiting -> ordered: takes all chips of the choice or none, and writes ranks, leases and start orders."""
    with transaction.atomic():
        workload = Workload.objects.locked(workload_id)
        if workload.state != WorkloadState.WAITING or workload.wanted == Wanted.STOP:
            return False
        for number, place in enumerate(choice.places):
            if not _take_chips(workload, place):
                # Only this pass takes chips, so the plan and the table differ: leave it to the next one.
                logger.error("chips of a plan were taken workload=%s host=%s", workload_id, place.host)
                transaction.set_rollback(True)
                return False
            Rank.objects.create(workload=workload, number=number, host_id=place.host, chips=list(place.chips))
            Lease.objects.create(
                workload=workload, host_id=place.host, chips=len(place.chips), from_ms=int(now.timestamp() * 1000)
            )
            orders.start(place.host, workload.pk, rank=number, now=now)
        names = Host.objects.filter(pk__in=[place.host for place in choice.places]).values_list("name", flat=True)
        return workloads.move(workload, WorkloadState.ORDERED, code="placed", data={"hosts": ", ".join(sorted(names))}, now=now)


def _take_chips(workload: Workload, place: Place) -> bool:
    free = Chip.objects.filter(host_id=place.host, workload=None)
    return free.filter(number__in=place.chips).update(workload=workload) == len(place.chips)


def _leave_reasons(refusals: Iterable[tuple[UUID, Refusal]]) -> None:
    """Write each waiting workload's reason, where it has changed; by reason, not by row."""
    by_reason: dict[tuple[str, str], tuple[Refusal, list[UUID]]] = {}
    for workload, refusal in refusals:
        by_reason.setdefault((refusal.code, repr(refusal.data)), (refusal, []))[1].append(workload)
    for refusal, ids in by_reason.values():
        for start in range(0, len(ids), 500):
            Workload.objects.filter(pk__in=ids[start : start + 500], state=WorkloadState.WAITING).exclude(
                reason_code=refusal.code, reason_data=refusal.data
            ).update(reason_code=refusal.code, reason_data=refusal.data)
