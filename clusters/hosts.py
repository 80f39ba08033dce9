"""What an operator does with clusters and hosts: make, cordon, uncordon, retire. The lookup and the right are one call."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.translation import gettext as _

from agent import protocol
from clusters import catalogue, workloads
from clusters.models import Cluster, Host, Workload
from clusters.states import HOST_MOVES, HostState, RankState, Wanted
from monitoring import events
from monitoring.announcements import wake
from projects import audit
from projects.access import check_operator, is_operator  # noqa: F401  its own words: hosts.is_operator
from projects.actors import Actor
from projects.errors import Conflict, Invalid, NotFound

VERBS = {HostState.CORDONED: "host.cordon", HostState.READY: "host.uncordon", HostState.RETIRED: "host.retire"}  # by the audit
DRAINED = "drained"  # a stop code of workloads: nobody's fault, to be started elsewhere


def get_host(actor: Actor, host_id: str, *, edit: bool = False) -> Host:
    """A host, visible to every signed-in user; only a superuser's token or session of scope admin may change it."""
    try:
        host = Host.objects.select_related("slice__cluster", "subject").filter(pk=UUID(host_id)).first()
    except ValueError:
        host = None
    if host is None or not actor.user.is_authenticated:
        raise NotFound("no-such-host", _("There is no such host."))
    if edit:
        check_operator(actor)
    return host


def hold(host_ids: Iterable[UUID]) -> dict[UUID, Host]:
    """Their rows, locked until the transaction ends: meanwhile none is cordoned, drained or retired, and no work placed there.

    They are locked in the order of their ids, and before any workload.
    """
    rows = Host.objects.select_for_update(of=("self",), no_key=True).filter(pk__in=list(host_ids)).order_by("pk")
    return {host.pk: host for host in rows}


def create_cluster(
    *, name: str, accelerator: str, lost_after_s: int | None, files_root: str = "", files_shared: bool = False, by: Actor
) -> Cluster:
    """A cluster without hosts; `lost_after_s` None: work on a silent host never counts as lost. Raises Invalid at the field."""
    cluster = Cluster(
        name=name, accelerator=accelerator, lost_after_s=lost_after_s, files_root=files_root, files_shared=files_shared
    )
    try:
        cluster.full_clean(exclude={"lost_after_s"} if lost_after_s is None else None)  # Django takes null for a blank form field
    except ValidationError as error:
        raise Invalid({field: " ".join(messages) for field, messages in error.message_dict.items()}) from None
    if accelerator not in catalogue.CATALOGUE:
        raise Invalid({"accelerator": _("There is no such accelerator.")})
    if files_root and not files_root.startswith("/"):
        raise Invalid({"files_root": _("A folder's whole path is needed.")})
    with transaction.atomic():
        cluster.save(force_insert=True)
        audit.record("cluster.create", by=by, subject=("cluster", str(cluster.pk), name))
    return cluster


def cordon(*, host: Host, reason: str, by: Actor, now: datetime) -> None:
    """ready -> cordoned: nothing new is placed on it; what runs goes on."""
    _move(host, HostState.CORDONED, f"Cordoned: {reason}", by=by, now=now, cordon_reason=reason)


def reason_of(body: Any) -> str:
    """Why a host is cordoned, of a form or of a JSON object. Raises Invalid."""
    reason = body.get("reason") if isinstance(body, Mapping) else None
    if not isinstance(reason, str) or not 1 <= len(reason.strip()) <= 300 or not reason.isprintable():
        raise Invalid({"reason": _("A text of 1 to 300 characters is needed.")})
    return reason.strip()


def drain(*, host: Host, reason: str, by: Actor, now: datetime) -> int:
    """Cordon it, and ask what runs on it to stop, each within its own grace; its owner starts it elsewhere. Returns how many.

    Safe to repeat: what was asked is not asked anew, and what a crash left out is.
    """
    with transaction.atomic():
        hold([host.pk])  # what is being placed there is found, or comes too late to be
        host.refresh_from_db(fields=["state", "cordon_reason"])
        if host.state != HostState.CORDONED:
            cordon(host=host, reason=reason, by=by, now=now)
        living = host.ranks.exclude(state=RankState.ENDED).filter(workload__ended_at=None, workload__wanted=Wanted.RUN)
        found = list(Workload.objects.filter(ranks__in=living).order_by("pk"))
        pieces = "piece of work is" if len(found) == 1 else "pieces of work are"
        sentence = f"Drained: {len(found)} {pieces} to stop."  # kept in English, told by event_words.py
        audit.record("host.drain", by=by, subject=host.subject, count=len(found), reason=reason)
        events.record(host.subject, "host.drain", sentence, at=now, by_name=by.user.get_username())
    for workload in found:
        grace_s = workload.spec.stop_grace_s
        workloads.want_stop(workload.pk, code=DRAINED, grace_s=grace_s, now=now, host=host.name, note=reason)
    return len(found)


def uncordon(*, host: Host, by: Actor, now: datetime) -> None:
    """cordoned -> ready."""
    _move(host, HostState.READY, "Uncordoned.", by=by, now=now, cordon_reason="")


def retire(*, host: Host, by: Actor, now: datetime) -> None:
    """Any state -> retired: it is gone for good. Frees chips held for lost work; refused while it runs something else."""
    with transaction.atomic():
        hold([host.pk])
        living = host.ranks.exclude(state=RankState.ENDED).select_related("workload")
        if any(not rank.workload.ended_at for rank in living):
            raise Conflict("host-in-use", _("Work runs on this host. Cancel it, or cordon the host and wait."))
        for workload_id in sorted(rank.workload_id for rank in living):
            workload = Workload.objects.locked(workload_id)
            for rank in workload.ranks.filter(host=host).exclude(state=RankState.ENDED):
                workloads.end_rank(rank, cause=protocol.CAUSE_HOST_STATE_LOST, detail="retired", now=now)
        _move(host, HostState.RETIRED, "Retired.", by=by, now=now)


def _move(host: Host, to: HostState, sentence: str, *, by: Actor, now: datetime, **changes: str) -> None:
    with transaction.atomic():
        if to not in HOST_MOVES[host.state]:
            raise Conflict("host-state", _("The host is %(state)s.") % {"state": host.state}, state=host.state)
        won = Host.objects.filter(pk=host.pk, state=host.state).update(state=to, **changes)
        if not won:
            raise Conflict("host-state", _("Someone else changed the host just now."))
        host.refresh_from_db()
        events.record(host.subject, f"host.{to}", sentence, at=now, by_name=by.user.get_username())
        audit.record(VERBS[to], by=by, subject=host.subject, sentence=sentence)
        wake("scheduler")
