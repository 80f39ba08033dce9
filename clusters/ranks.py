"""Ranks: claimed by their host, moved by its reports. Everything here happens under the workload's lock."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from django.db import transaction
from django.utils.translation import gettext as _

from agent import protocol
from clusters import catalogue, orders, workloads
from clusters.models import Host, Rank, Workload
from clusters.models.orders import OrderKind
from clusters.states import RANK_MOVES, WORKLOAD_ENDED, RankState, Wanted
from monitoring import events, logs
from projects import secrets
from projects.errors import Conflict, Gone, NotFound, PanelError

REPORTED = {
    protocol.PREPARING: RankState.PREPARING,
    protocol.READY: RankState.READY,
    protocol.RUNNING: RankState.RUNNING,
    protocol.ENDED: RankState.ENDED,
}


def claim(workload_id: UUID, number: int, *, host: Host, now: datetime) -> protocol.Start:
    """The fence: one session of one host gets to start this rank, and gets its spec with it. Asked again it answers again.

    ordered -> claimed. Confirms the start order. Raises NotFound (not placed on this host), Conflict (another
    session has it) or Gone (stopped, ended or lost); after those the host starts nothing.
    """
    with transaction.atomic():
        workload = Workload.objects.filter(pk=workload_id).select_for_update().first()
        rank = workload and workload.ranks.select_related("host__slice__cluster").filter(number=number, host=host).first()
        if not workload or not rank:
            raise NotFound("not-yours", _("This rank is not placed on this host."))
        if workload.wanted == Wanted.STOP or workload.state in WORKLOAD_ENDED or rank.state == RankState.ENDED:
            raise Gone("workload-ended", _("The workload is to stop or has ended."))
        if rank.claimed_session not in (None, host.session):
            raise Conflict("claimed", _("Another session has claimed this rank."))
        try:
            start = _start(workload, rank)
        except PanelError as error:
            refusal = error
        else:
            if rank.state == RankState.ORDERED:
                rank.state, rank.claimed_session, rank.claimed_at = RankState.CLAIMED, host.session, now
                rank.save(update_fields=["state", "claimed_session", "claimed_at"])
                orders.confirm(host.pk, workload.pk, kind=OrderKind.START, now=now)
                Host.objects.filter(pk=host.pk).exclude(unclaimed_at=None).update(unclaimed_at=None)
                workloads.settle(workload, now=now)
            return start
        # The spec cannot be put together (a secret is gone): the rank ends here, and the host hears so.
        workloads.end_rank(rank, cause=protocol.CAUSE_PREPARE_FAILED, detail=refusal.sentence, now=now)
        workloads.stop_the_others(workload, rank, now=now)
        workloads.settle(workload, now=now)
    raise Gone(refusal.code, refusal.sentence)


def take_report(rank_id: int, report: protocol.RankReport, *, now: datetime) -> None:
    """A host's word on one of its ranks. Late and repeated words change nothing.

    Of a lost workload only the end is taken: nothing of it is left on that host.
    """
    with transaction.atomic():
        # Locks go workload first: the rank is read only once its workload is ours.
        workload = Workload.objects.select_for_update().get(ranks__pk=rank_id)
        rank = workload.ranks.select_related("host").get(pk=rank_id)
        if report.final_offsets:
            _note_final_offsets(workload, rank, report.final_offsets)
        to = REPORTED[report.state]
        if to not in RANK_MOVES[rank.state] or (workload.state in WORKLOAD_ENDED and to != RankState.ENDED):
            return
        if to == RankState.ENDED:
            workloads.end_rank(
                rank, cause=report.cause, exit_code=report.exit_code, signal=report.signal, detail=report.detail, now=now
            )
            workloads.stop_the_others(workload, rank, now=now)
        else:
            if to == RankState.PREPARING and report.detail:
                events.record(workload.subject, "rank.preparing", report.detail[:500], at=now, rank=rank.number)
            rank.state, rank.detail = to, report.detail[:500]
            rank.running_at = now if to == RankState.RUNNING else None
            rank.save(update_fields=["state", "detail", "running_at"])
        if workload.state not in WORKLOAD_ENDED:
            workloads.settle(workload, now=now)
        elif to == RankState.ENDED:
            events.record(workload.subject, "rank.gone", f"Nothing of rank {rank.number} is left on {rank.host.name}.", at=now)


def runs_source(host: Host, digest: str) -> bool:
    """Whether living work of this host is made of this source: only then may it have it."""
    living = host.ranks.exclude(state=RankState.ENDED)
    return living.filter(workload__spec_json__source__digest=digest).exists()


def _start(workload: Workload, rank: Rank) -> protocol.Start:
    spec, accelerator = workload.spec, catalogue.CATALOGUE[workload.request.accelerator]
    return protocol.Start(
        workload_id=str(workload.pk),
        rank=rank.number,
        ranks=workload.ranks.count(),
        command=spec.command,
        environment=dict(accelerator.environment)
        | {
            "PANEL_SUBJECT": workload.subject.address,
            "PANEL_RANK": str(rank.number),
            "PANEL_CHIPS": ",".join(map(str, rank.chips)),
        }
        | spec.environment,
        secrets=secrets.reveal(workload.project_id, spec.secrets) if spec.secrets else {},
        chips=rank.chips,
        stop_grace_s=spec.stop_grace_s,
        source=spec.source,
        runtime=spec.runtime,
        files_root=rank.host.slice.cluster.files_root,
        output=spec.output,
        checkpoints=spec.checkpoints,
        lists_files=rank.number == 0 or not rank.host.slice.cluster.files_shared,
    )


def _note_final_offsets(workload: Workload, rank: Rank, offsets: dict[str, int]) -> None:
    for part, offset in offsets.items():
        log = logs.open_log(subject=workload.subject, workload_id=workload.pk, rank=rank.number, part=part)
        logs.finish(log, int(offset))
