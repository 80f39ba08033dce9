"""Rescues what nobody moves on: orders that got lost, states past their deadline, hosts that fell silent."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from uuid import UUID

import redis
from django.conf import settings
from django.db import transaction
from django.db.models import F, Q

from agent import protocol
from clusters import chores, fetches, silence, workloads
from clusters.models import Host, Order, Rank, Workload
from clusters.states import Outcome, RankState, Wanted, WorkloadState
from monitoring import events
from monitoring.streams import client

RESEND_CAP_S = 60


def sweep(*, now: datetime) -> None:
    """One look at everything that has a deadline. Each rescue is a transaction of its own."""
    silent = silence.all_silences()
    end_unclaimed(silent, now=now)
    end_unresolved(now=now)
    chores.sweep(now=now)
    stop_overdue(now=now)
    lose_silent(silent, now=now)
    fetches.give_up_stalled(now=now)
    resend(silent, now=now)


def resend(silent: dict[UUID, float], *, now: datetime) -> None:
    """Mark orders to be sent again: the host was heard since, its list is empty, and 2, 4 ... 60 s have passed.

    A silent host gets nothing; on its first word its open orders go out once more.
    """
    sent = (
        Order.objects.open()
        .filter(sent_at__lt=now - timedelta(seconds=2), host__heard_at__gt=F("sent_at"))
        .select_related("host")
    )
    for order in sent:
        assert order.sent_at
        if silent.get(order.host_id, 0) > settings.PLACE_SILENT_S:
            continue
        is_due = now - order.sent_at >= timedelta(seconds=min(2**order.sent_times, RESEND_CAP_S))
        if is_due and _has_empty_list(order.host_id):
            Order.objects.filter(pk=order.pk, sent_at=order.sent_at).update(sent_at=None)


def _has_empty_list(host_id: UUID) -> bool:
    """Not so when the host has made something else of it: the inbox mends that."""
    try:
        return not client().llen(protocol.orders_key(str(host_id)))
    except redis.exceptions.ResponseError:
        return False


def end_unclaimed(silent: dict[UUID, float], *, now: datetime) -> None:
    """ordered -> exited (not started) when a rank was not claimed in time. Safe: its claim is void from then on."""
    deadline = now - timedelta(seconds=settings.CLAIM_DEADLINE_S)
    for rank in Rank.objects.filter(state=RankState.ORDERED).select_related("workload", "host"):
        late = rank.workload.ordered_at and rank.workload.ordered_at <= deadline
        host_silent = silent.get(rank.host_id, 0) > settings.CLAIM_SILENT_S
        if late or host_silent:
            _end_unclaimed(rank, "host-silent-at-start" if host_silent else "unclaimed", now=now)


def _end_unclaimed(rank: Rank, code: str, *, now: datetime) -> None:
    with transaction.atomic():
        workload = Workload.objects.locked(rank.workload_id)
        ordered = list(workload.ranks.filter(state=RankState.ORDERED).select_related("host__subject"))
        if not any(found.pk == rank.pk for found in ordered):
            return  # claimed meanwhile
        data = {"host": rank.host.name, "seconds": int(settings.CLAIM_DEADLINE_S)}
        for found in ordered:
            if code == "unclaimed":
                _doubt(found.host, now=now)
            workloads.end_rank(found, cause=protocol.CAUSE_NOT_STARTED, now=now)
        if workload.ranks.exclude(state=RankState.ENDED).exists():
            workloads.want_stop(workload.pk, code=code, grace_s=0, now=now, **data)
        else:
            workloads.exit_as(workload, Outcome.NOT_STARTED, code, data, now=now)


def _doubt(host: Host, *, now: datetime) -> None:
    """It is heard, and claims nothing: until it does, what fits elsewhere goes elsewhere, or one job would try it for ever."""
    Host.objects.filter(pk=host.pk).update(unclaimed_at=now)
    events.record(host.subject, "host.unclaimed", f"{host.name} let an order pass: other hosts get work before it.", at=now)


def end_unresolved(*, now: datetime) -> None:
    """waiting -> exited when nobody has made a commit of its git ref in time."""
    overdue = now - timedelta(seconds=settings.SOURCE_DEADLINE_S)
    waiting = Workload.objects.filter(state=WorkloadState.WAITING, awaits_source=True, created_at__lte=overdue)
    for pk in waiting.values_list("pk", flat=True):
        with transaction.atomic():
            workload = Workload.objects.locked(pk)
            if workload.awaits_source and workload.state == WorkloadState.WAITING:
                workloads.exit_as(workload, Outcome.FAILED, "source-unresolved", workload.reason_data, now=now)


def stop_overdue(*, now: datetime) -> None:
    """preparing, ready and running past their deadlines -> stopping, with a reason that names the deadline."""
    for workload, code, seconds, step in _overdue(now):
        with transaction.atomic():
            locked = Workload.objects.locked(workload.pk)
            if (locked.state, locked.moved_at) == (workload.state, workload.moved_at):  # else it has just gone on
                grace_s = workload.spec.stop_grace_s
                workloads.want_stop(workload.pk, code=code, grace_s=grace_s, now=now, seconds=seconds, step=step)


def _overdue(now: datetime) -> Iterable[tuple[Workload, str, int, str]]:
    candidates = Workload.objects.filter(
        state__in=[WorkloadState.PREPARING, WorkloadState.READY, WorkloadState.RUNNING], wanted=Wanted.RUN
    )
    for workload in candidates:
        deadline = {
            WorkloadState.PREPARING: (
                "prepare-deadline",
                settings.BUILD_DEADLINE_S if workload.spec.runtime else settings.PREPARE_DEADLINE_S,
            ),
            WorkloadState.READY: ("barrier-deadline", settings.BARRIER_DEADLINE_S),
            WorkloadState.RUNNING: ("timed-out", workload.spec.timeout_s),
        }[WorkloadState(workload.state)]
        code, seconds = deadline
        if seconds and now - workload.moved_at >= timedelta(seconds=seconds):
            step = workload.ranks.exclude(detail="").values_list("detail", flat=True).first() or "unknown"
            yield workload, code, int(seconds), step


def lose_silent(silent: dict[UUID, float], *, now: datetime) -> None:
    """Any state on a host that was silent for its cluster's lost_after_s -> lost."""
    living = (
        Rank.objects.exclude(state__in=[RankState.ENDED, RankState.ORDERED])
        .exclude(workload__state=WorkloadState.LOST)
        .filter(~Q(host__slice__cluster__lost_after_s=None))
        .select_related("host__slice__cluster")
    )
    for rank in living:
        silence_s, lost_after_s = silent.get(rank.host_id, 0), rank.host.slice.cluster.lost_after_s
        if lost_after_s is None or silence_s < lost_after_s:
            continue
        with transaction.atomic():
            workload = Workload.objects.locked(rank.workload_id)
            is_silent = Host.objects.filter(pk=rank.host_id, heard_at=rank.host.heard_at).exists()  # not heard since it was read
            if is_silent and workload.state not in (WorkloadState.EXITED, WorkloadState.LOST):
                workloads.lose(workload, host=rank.host.name, silent_s=int(silence_s), now=now)
