"""An agent's session: which instance, on which boot, speaks for a host. One at a time."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db import transaction
from django.utils.translation import gettext as _

from agent import protocol
from clusters import silence, workloads
from clusters.models import Host, Workload
from clusters.states import HostState, RankState
from monitoring import events
from monitoring.announcements import wake
from projects.errors import Conflict

SECOND_AGENT = "host.second-agent"


def open_session(host: Host, *, instance_id: str, boot_id: str, agent_version: str, now: datetime) -> int:
    """The session number that every call and message of this agent carries. enrolled -> ready.

    The same instance on the same boot (an agent that was restarted) keeps its number, so that a claim in flight
    can be asked for again. Another instance or boot raises Conflict while the old one was heard lately; after that
    it gets a new number, and the ranks of the old one have ended.
    """
    with transaction.atomic():
        # No key: a stop holds the workload and writes an order that refers to the host; it must not wait for us.
        host = Host.objects.select_for_update(of=("self",), no_key=True).select_related("subject").get(pk=host.pk)
        same = (host.instance_id, host.boot_id) == (instance_id, boot_id)
        refused = not same and silence.has_living_agent(host, now=now)
        if refused:
            _note_second(host, now)
        else:
            _admit(host, same=same, instance_id=instance_id, boot_id=boot_id, agent_version=agent_version, now=now)
    if refused:
        raise Conflict(
            "second-agent",
            _("Another agent speaks for host %(host)s; it was heard %(ago)s s ago. Stop one of them.")
            % {"host": host.name, "ago": int((now - host.heard_at).total_seconds()) if host.heard_at else 0},
        )
    return host.session


def _note_second(host: Host, now: datetime) -> None:
    """One event a minute: the refused agent asks again and again."""
    if not host.subject.events.filter(code=SECOND_AGENT, at__gt=now - timedelta(minutes=1)).exists():
        events.record(host.subject, SECOND_AGENT, f"A second agent says that it is {host.name}, and was refused.", at=now)


def _admit(host: Host, *, same: bool, instance_id: str, boot_id: str, agent_version: str, now: datetime) -> None:
    if not same:
        if host.session:
            _end_ranks(host, protocol.CAUSE_HOST_REBOOTED if host.boot_id != boot_id else protocol.CAUSE_HOST_STATE_LOST, now=now)
        host.session += 1
        host.instance_id, host.boot_id = instance_id, boot_id
        events.record(
            host.subject, "host.session", f"Agent {agent_version} speaks for {host.name}.", at=now, session=host.session
        )
    if host.state == HostState.ENROLLED:
        host.state = HostState.READY
    host.heard_at, host.agent_version = now, agent_version
    host.save(update_fields=["session", "instance_id", "boot_id", "state", "heard_at", "agent_version"])
    wake("scheduler")


def _end_ranks(host: Host, cause: str, *, now: datetime) -> None:
    """The processes of the old boot or instance are gone: so are their ranks, and with them their chips.

    Ranks that nobody had claimed stay: the new session may claim them.
    """
    started = [RankState.CLAIMED, RankState.PREPARING, RankState.READY, RankState.RUNNING]
    for workload_id in sorted(host.ranks.filter(state__in=started).values_list("workload_id", flat=True)):
        workload = Workload.objects.locked(workload_id)
        rank = workload.ranks.select_related("host").get(host=host)
        if rank.state not in started:
            continue
        workloads.end_rank(rank, cause=cause, now=now)
        workloads.stop_the_others(workload, rank, now=now)
        if not workload.ended_at:
            workloads.settle(workload, now=now)
