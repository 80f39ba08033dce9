"""States of hosts, workloads, ranks and fetches, and the moves between them. docs/states.md is drawn from the tables here."""

from __future__ import annotations

from django.db.models import TextChoices
from django.utils.translation import gettext_lazy as _


class HostState(TextChoices):
    # in: enrolment.enrol; out: sessions.open_session; rescue: none needed, it holds nothing
    ENROLLED = "enrolled", _("enrolled")
    # in: sessions.open_session, hosts.uncordon; out: hosts.cordon, hosts.retire; rescue: silence keeps work away
    READY = "ready", _("ready")
    # in: hosts.cordon; out: hosts.uncordon, hosts.retire; rescue: an admin
    CORDONED = "cordoned", _("cordoned")
    # in: hosts.retire; out: enrolment.enrol (the same machine again)
    RETIRED = "retired", _("retired")


class WorkloadState(TextChoices):
    # in: workloads.create; out: scheduling.schedule, workloads.want_stop; rescue: each pass renews its reason
    WAITING = "waiting", _("waiting")
    # in: scheduling.schedule; out: ranks.claim; rescue: sweep ends it when nobody claims
    ORDERED = "ordered", _("ordered")
    # in: ranks.claim; out: rank reports; rescue: sweep stops it at its deadline
    PREPARING = "preparing", _("preparing")
    # in: rank reports; out: rank reports; rescue: sweep stops it at the barrier's deadline
    READY = "ready", _("ready")
    # in: rank reports; out: rank reports; rescue: the spec's timeout; sweep, when its host is lost
    RUNNING = "running", _("running")
    # in: workloads.want_stop; out: rank reports; rescue: the host's KILL; then an admin (workloads.abandon)
    STOPPING = "stopping", _("stopping")
    # in: the report that ends its last rank
    EXITED = "exited", _("exited")
    # in: sweep, when a host was silent for its cluster's lost_after_s
    LOST = "lost", _("lost")


class RankState(TextChoices):
    # in: scheduling.schedule; out: ranks.claim; rescue: sweep
    ORDERED = "ordered", _("ordered")
    # in: ranks.claim; out: rank reports; rescue: sweep
    CLAIMED = "claimed", _("claimed")
    # in and out: rank reports; rescue: sweep
    PREPARING = "preparing", _("preparing")
    # in and out: rank reports; rescue: sweep
    READY = "ready", _("ready")
    # in and out: rank reports; rescue: the spec's timeout, lost_after_s
    RUNNING = "running", _("running")
    # in: rank reports, sweep (never claimed), sessions.open_session (host rebooted)
    ENDED = "ended", _("ended")


class Wanted(TextChoices):
    """What the panel wants of a workload; set by the panel alone, and only ever from run to stop."""

    RUN = "run", _("run")
    STOP = "stop", _("stop")


class Outcome(TextChoices):
    """How an exited workload ended, for its owner to act on."""

    NONE = "", _("none yet")
    SUCCEEDED = "succeeded", _("succeeded")
    FAILED = "failed", _("failed")
    STOPPED = "stopped", _("stopped")
    NOT_STARTED = "not-started", _("not started")


class FetchState(TextChoices):
    # in: fetches.want; out: fetches.take_piece, fetches.refused_by_host; rescue: sweep, after FETCH_STALL_S
    WANTED = "wanted", _("wanted")
    # in and out: fetches.take_piece, fetches.refused_by_host; rescue: sweep, FETCH_STALL_S after its last piece
    COMING = "coming", _("coming")
    # in: fetches.take_piece; dropped after FETCH_KEEP_S (fetches.drop_old)
    COMPLETE = "complete", _("complete")
    # in: fetches.refused_by_host, fetches.give_up_stalled; dropped as the complete ones
    FAILED = "failed", _("failed")


W, R, H, F = WorkloadState, RankState, HostState, FetchState

WORKLOAD_MOVES: dict[str, frozenset[str]] = {
    W.WAITING: frozenset({W.ORDERED, W.EXITED}),
    W.ORDERED: frozenset({W.PREPARING, W.READY, W.RUNNING, W.STOPPING, W.EXITED, W.LOST}),
    W.PREPARING: frozenset({W.READY, W.RUNNING, W.STOPPING, W.EXITED, W.LOST}),
    W.READY: frozenset({W.RUNNING, W.STOPPING, W.EXITED, W.LOST}),
    W.RUNNING: frozenset({W.STOPPING, W.EXITED, W.LOST}),
    W.STOPPING: frozenset({W.EXITED, W.LOST}),
    W.EXITED: frozenset(),
    W.LOST: frozenset(),
}
# A host may report late and skip: a short command is over before "running" was shipped.
RANK_MOVES: dict[str, frozenset[str]] = {
    R.ORDERED: frozenset({R.CLAIMED, R.ENDED}),
    R.CLAIMED: frozenset({R.PREPARING, R.READY, R.RUNNING, R.ENDED}),
    R.PREPARING: frozenset({R.READY, R.RUNNING, R.ENDED}),
    R.READY: frozenset({R.RUNNING, R.ENDED}),
    R.RUNNING: frozenset({R.ENDED}),
    R.ENDED: frozenset(),
}
HOST_MOVES: dict[str, frozenset[str]] = {
    H.ENROLLED: frozenset({H.READY, H.CORDONED, H.RETIRED}),
    H.READY: frozenset({H.CORDONED, H.RETIRED}),
    H.CORDONED: frozenset({H.READY, H.RETIRED}),
    H.RETIRED: frozenset({H.ENROLLED}),
}

FETCH_MOVES: dict[str, frozenset[str]] = {
    F.WANTED: frozenset({F.COMING, F.COMPLETE, F.FAILED}),
    F.COMING: frozenset({F.COMPLETE, F.FAILED}),
    F.COMPLETE: frozenset(),
    F.FAILED: frozenset(),
}

FETCH_OPEN = frozenset({F.WANTED, F.COMING})
WORKLOAD_ENDED = frozenset({W.EXITED, W.LOST})
WORKLOAD_ON_HOSTS = frozenset({W.ORDERED, W.PREPARING, W.READY, W.RUNNING, W.STOPPING})


def derive(ranks: list[str], *, wanted: str) -> str:
    """The state of a workload that was placed, from the states of its ranks and from what the panel wants.

    The least advanced living rank speaks for all: a gang of which one still prepares is preparing.
    """
    living = [rank for rank in ranks if rank != R.ENDED]
    if not living:
        return W.EXITED
    if wanted == Wanted.STOP:
        return W.STOPPING
    least = min(living, key=list(RANK_MOVES).index)
    return {R.ORDERED: W.ORDERED, R.CLAIMED: W.PREPARING, R.PREPARING: W.PREPARING, R.READY: W.READY, R.RUNNING: W.RUNNING}[
        RankState(least)
    ]
