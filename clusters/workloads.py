"""Workloads: made, stopped and moved here. News of them goes up by following (`version`), never by calling."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import F
from django.db.models.functions import Greatest

from agent import protocol
from clusters import chores, orders, reasons
from clusters.models import Chip, Lease, Rank, Workload
from clusters.models.chores import ChoreKind
from clusters.specs import Request, Spec
from clusters.states import WORKLOAD_ENDED, WORKLOAD_MOVES, Outcome, RankState, Wanted, WorkloadState, derive
from monitoring import events
from monitoring.announcements import wake
from monitoring.models import Subject
from projects.models import Project


def create(
    *,
    project: Project,
    subject: Subject,
    request: Request,
    spec: Spec,
    now: datetime,
    queued_at: datetime | None = None,
    priority: int = 0,
) -> Workload:
    """A waiting workload of `subject`. `queued_at` keeps an earlier place in the line."""
    awaits_source = spec.source["kind"] == "git" and "commit" not in spec.source
    workload = Workload.objects.create(
        project=project,
        subject=subject,
        owner_kind=subject.kind,
        priority=priority,
        request_json=request.to_json(),
        spec_json=spec.to_json(),
        awaits_source=awaits_source,
        queued_at=queued_at or now,
        created_at=now,
        moved_at=now,
    )
    if awaits_source:
        data = {"address": spec.source["address"], "ref": spec.source["ref"], "seconds": int(settings.SOURCE_DEADLINE_S)}
        Workload.objects.filter(pk=workload.pk).update(reason_code="source-unresolved", reason_data=data)
        chores.want(ChoreKind.RESOLVE_SOURCE, str(workload.pk), now=now)
    wake("scheduler")
    return workload


def want_stop(workload_id: UUID, *, code: str, grace_s: int, now: datetime, **data: Any) -> None:
    """Ask for the end of a workload. Without effect once it has ended; a smaller grace asked for later wins.

    waiting -> exited; ranks that nobody has claimed end at once (their claim is void) and free their chips; the
    hosts of the others get a stop.
    """
    with transaction.atomic():
        workload = Workload.objects.locked(workload_id)
        if workload.state in WORKLOAD_ENDED:
            return
        if workload.wanted == Wanted.RUN:
            workload.stop_code, workload.stop_data = code, data
        workload.wanted = Wanted.STOP
        workload.stop_grace_s = grace_s if workload.stop_grace_s is None else min(grace_s, workload.stop_grace_s)
        workload.save(update_fields=["wanted", "stop_code", "stop_data", "stop_grace_s"])
        if workload.state == WorkloadState.WAITING:
            exit_as(workload, Outcome.STOPPED, workload.stop_code, workload.stop_data, now=now)
            return
        for rank in workload.ranks.exclude(state=RankState.ENDED):
            if rank.state == RankState.ORDERED:
                end_rank(rank, cause=protocol.CAUSE_NOT_STARTED, now=now)
            else:
                orders.stop(rank.host_id, workload.id, grace_s=workload.stop_grace_s, now=now)
        settle(workload, now=now)
        wake("scheduler")


def stop_waiting(workload_ids: Collection[UUID], *, code: str, now: datetime, **data: Any) -> set[UUID]:
    """waiting -> exited for those of them that wait, in a constant number of queries; returns which. The same as `want_stop`.

    One that someone else holds at this moment, the scheduler say, is passed over. The caller's transaction, which locks nothing
    of a workload before.
    """
    free = Workload.objects.select_for_update(skip_locked=True).filter(pk__in=workload_ids, state=WorkloadState.WAITING)
    found = dict(free.order_by("pk").values_list("pk", "subject_id"))
    if not found:
        return set()
    Workload.objects.filter(pk__in=found).update(
        wanted=Wanted.STOP,
        stop_code=code,
        stop_data=data,
        outcome=Outcome.STOPPED,
        state=WorkloadState.EXITED,
        reason_code=code,
        reason_data=data,
        moved_at=now,
        ended_at=now,
        version=F("version") + 1,
    )
    sentence = reasons.written(code, data)
    news = [
        events.News(subject, f"workload.{WorkloadState.EXITED}", sentence, {"workload": str(pk), "reason": code, **data})
        for pk, subject in found.items()
    ]
    events.record_many(news, at=now)
    wake("follow")
    return set(found)


def settle(workload: Workload, *, now: datetime) -> None:
    """Bring a placed workload's state in line with its ranks. The caller holds the workload's lock."""
    ranks = list(workload.ranks.order_by("number"))
    state = derive([rank.state for rank in ranks], wanted=workload.wanted)
    if state == WorkloadState.EXITED:
        exit_as(workload, *_outcome(workload, ranks), now=now)
    elif state != workload.state:
        code, data = _on_the_way(workload, state)
        move(workload, state, code=code, data=data, now=now)


def _on_the_way(workload: Workload, state: str) -> tuple[str, dict[str, Any]]:
    """(reason code, its data) of a living state."""
    if state == WorkloadState.STOPPING:
        return workload.stop_code, workload.stop_data
    if state == WorkloadState.PREPARING:
        return "preparing", {"hosts": workload.place}
    return "", {}


def exit_as(workload: Workload, outcome: str, code: str, data: dict[str, Any], *, now: datetime) -> None:
    """Any living state -> exited. A lost workload keeps its state: only its ranks' chips were still open."""
    if workload.state in WORKLOAD_ENDED:
        return
    Workload.objects.filter(pk=workload.pk).update(outcome=outcome)
    workload.outcome = outcome
    move(workload, WorkloadState.EXITED, code=code, data=data, now=now)


def move(workload: Workload, to: str, *, code: str, data: dict[str, Any], now: datetime) -> bool:
    """The one function that changes a workload's state: conditional on the state it saw, event in the same transaction.

    False when the row had moved meanwhile: the caller reads again. Raises ValueError for a move that the table
    does not have.
    """
    if to not in WORKLOAD_MOVES[workload.state]:
        raise ValueError(f"workload={workload.id} cannot move {workload.state} -> {to}")
    changes: dict[str, Any] = {"state": to, "reason_code": code, "reason_data": data, "moved_at": now}
    if to == WorkloadState.ORDERED:
        changes["ordered_at"] = now
    if to == WorkloadState.RUNNING:
        changes["running_at"] = now
    if to in WORKLOAD_ENDED:
        changes["ended_at"] = now
    won = Workload.objects.filter(pk=workload.pk, state=workload.state).update(version=F("version") + 1, **changes)
    if not won:
        return False
    for name, value in changes.items():
        setattr(workload, name, value)
    events.record(
        workload.subject,
        f"workload.{to}",
        reasons.written(code, data),
        at=now,
        workload=str(workload.id),
        reason=code,
        **data,
    )
    wake("follow")
    return True


def end_rank(
    rank: Rank, *, cause: str, now: datetime, exit_code: int | None = None, signal: int | None = None, detail: str = ""
) -> None:
    """Any state -> ended: nothing of the rank is left. Frees its chips and closes its lease in the same transaction.

    The caller holds the workload's lock and settles it afterwards.
    """
    rank.state, rank.cause, rank.ended_at = RankState.ENDED, cause, now
    rank.exit_code, rank.signal, rank.detail = exit_code, signal, detail[:500]
    rank.save(update_fields=["state", "cause", "ended_at", "exit_code", "signal", "detail"])
    Chip.objects.filter(workload_id=rank.workload_id, host_id=rank.host_id).update(workload=None)
    # Whoever asked took `now` before it waited for the row's lock, and the chips may have been taken in between.
    to_ms = Greatest(F("from_ms"), int(now.timestamp() * 1000))
    Lease.objects.filter(workload_id=rank.workload_id, host_id=rank.host_id, to_ms=None).update(to_ms=to_ms)
    orders.confirm(rank.host_id, rank.workload_id, now=now)
    wake("scheduler")


def stop_the_others(workload: Workload, ended: Rank, *, now: datetime) -> None:
    """A gang dies whole: a rank that failed takes the others with it; one that ended well lets them finish."""
    if ended.cause == protocol.CAUSE_EXITED and ended.exit_code == 0:
        return
    if workload.wanted == Wanted.STOP or not workload.ranks.exclude(state=RankState.ENDED).exists():
        return
    want_stop(workload.pk, code="rank-ended", rank=ended.number, grace_s=workload.spec.stop_grace_s, now=now)
    workload.refresh_from_db()


def lose(workload: Workload, *, host: str, silent_s: int, now: datetime) -> None:
    """On a silent host -> lost. Its chips there stay held until the host says that nothing is left, or an admin retires it.

    The ranks on other hosts are stopped. The caller holds the workload's lock.
    """
    Workload.objects.filter(pk=workload.pk).update(wanted=Wanted.STOP)
    workload.wanted = Wanted.STOP
    move(workload, WorkloadState.LOST, code="host-lost", data={"host": host, "seconds": silent_s}, now=now)
    for rank in workload.ranks.exclude(state=RankState.ENDED):
        orders.stop(rank.host_id, workload.id, grace_s=0, now=now)


def abandon(workload_id: UUID, *, now: datetime) -> None:
    """An admin ends a stopping workload without its host: its claim is void, its chips are free at once.

    The host is told to end it when it comes back; the heartbeat shows what it still holds.
    """
    with transaction.atomic():
        workload = Workload.objects.locked(workload_id)
        if workload.state in WORKLOAD_ENDED and not workload.ranks.exclude(state=RankState.ENDED).exists():
            return
        for rank in workload.ranks.exclude(state=RankState.ENDED):
            end_rank(rank, cause=protocol.CAUSE_STOPPED, now=now, detail="abandoned")
        exit_as(workload, Outcome.STOPPED, "abandoned", {}, now=now)


def mark_followed(workload_id: UUID, version: int) -> None:
    """The owner has acted on this version, the one that it read."""
    Workload.objects.filter(pk=workload_id, followed_version__lt=version).update(followed_version=version)


def mark_all_followed(workload_ids: Collection[UUID]) -> None:
    """The owners have acted on what these are now; the caller holds their rows."""
    Workload.objects.filter(pk__in=workload_ids).update(followed_version=F("version"))


def _outcome(workload: Workload, ranks: list[Rank]) -> tuple[str, str, dict[str, Any]]:
    """(outcome, reason code, its data) of a workload whose ranks have all ended: the first failure, not its echo."""
    own_end = (protocol.CAUSE_EXITED, protocol.CAUSE_SIGNALED)
    if all(rank.cause == protocol.CAUSE_EXITED and rank.exit_code == 0 for rank in ranks):
        return Outcome.SUCCEEDED, "succeeded", {}
    if workload.stop_code == "folder-gone":  # how its processes ended then says nothing of them
        return Outcome.FAILED, workload.stop_code, workload.stop_data
    unforced = [rank for rank in ranks if rank.cause not in (protocol.CAUSE_STOPPED, protocol.CAUSE_NOT_STARTED)]
    failures = [rank for rank in unforced if not (rank.cause == protocol.CAUSE_EXITED and rank.exit_code == 0)]
    if failures:
        first = min(failures, key=lambda rank: (rank.ended_at, rank.number))
        code = (
            {protocol.CAUSE_EXITED: "exit-code", protocol.CAUSE_SIGNALED: "signal"}[first.cause]
            if first.cause in own_end
            else first.cause
        )
        return Outcome.FAILED, code, _failure_data(first)
    return Outcome.STOPPED, workload.stop_code or "stopped", workload.stop_data


def _failure_data(rank: Rank) -> dict[str, Any]:
    data = {
        "rank": rank.number,
        "host": rank.host.name,
        "exit_code": rank.exit_code,
        "signal": rank.signal,
        "detail": rank.detail,
    }
    if rank.signal is not None:
        data["name"] = _signal_name(rank.signal)
    return {key: value for key, value in data.items() if value not in (None, "")}


def _signal_name(number: int) -> str:
    import signal

    try:
        return signal.Signals(number).name
    except ValueError:
        return "unknown"
