"""Whatever hosts say and people ask, in whatever order: no move outside the tables, no error, no chip kept for nothing."""

from __future__ import annotations

import contextlib
import itertools

import pytest
from django.db import transaction
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from agent import protocol
from clusters import sweep, workloads
from clusters.models import Order, Rank, Workload
from clusters.states import RANK_MOVES, WORKLOAD_ENDED, WORKLOAD_MOVES, RankState, WorkloadState, derive
from projects.errors import Conflict, Gone
from tests.clusters import steps
from tests.clusters.steps import after
from tests.factories import a_host

CAUSES = [
    {"cause": protocol.CAUSE_EXITED, "exit_code": 0},
    {"cause": protocol.CAUSE_EXITED, "exit_code": 3},
    {"cause": protocol.CAUSE_SIGNALED, "signal": 11},
    {"cause": protocol.CAUSE_STOPPED, "signal": 15},
    {"cause": protocol.CAUSE_NOT_STARTED},
    {"cause": protocol.CAUSE_PREPARE_FAILED, "detail": "disk full"},
]
ends = st.sampled_from(CAUSES).map(lambda cause: {"state": protocol.ENDED} | cause)
alive = st.sampled_from([protocol.PREPARING, protocol.READY, protocol.RUNNING]).map(lambda state: {"state": state})
number = st.integers(0, 2)
things = st.one_of(
    st.tuples(st.just("claim"), number, st.none()),
    st.tuples(st.just("says"), number, st.one_of(alive, alive, ends)),
    st.tuples(st.just("stop"), st.integers(0, 60), st.none()),
    st.tuples(st.sampled_from(["lose", "abandon"]), st.none(), st.none()),
)


@pytest.mark.django_db
@given(size=st.integers(1, 3), story=st.lists(things, min_size=1, max_size=14), is_claimed=st.booleans())
@hypothesis_settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_story_leaves_the_tables(db, size, story, is_claimed):
    with contextlib.suppress(_Done), transaction.atomic():
        gang = [a_host(chips=1) for _ in range(size)]
        workload = (steps.claimed if is_claimed else steps.ordered)(gang)
        told = _Told(workload)
        for second, (what, which, report) in enumerate(story):
            if what in ("claim", "says") and which >= size:
                continue
            _happens(workload, what, which, report, now=after(second))
            told.look()
        for rank in range(size):
            _ends(workload, rank, told)
        moves = [code.removeprefix("workload.") for code in steps.events_of(workload) if code.startswith("workload.")]
        assert all(to in WORKLOAD_MOVES[was] for was, to in itertools.pairwise(["waiting", *moves]))
        assert {state for state, _ in steps.ranks_of(workload)} == {RankState.ENDED}
        assert steps.state(workload)[0] in WORKLOAD_ENDED
        assert (steps.held_chips(), Order.objects.open().count()) == (0, 0)
        assert all(end is not None for _, _, end in steps.leases(workload))
        raise _Done  # and nothing of it stays for the next story


class _Done(Exception):
    pass


def _happens(workload, what, which, report, *, now):
    match what:
        case "claim":
            with contextlib.suppress(Gone, Conflict):
                steps.claim(workload, which, now=now)
        case "says":
            steps.says(workload, which, now=now, **report)
        case "stop":
            workloads.want_stop(workload.pk, code="canceled", grace_s=which, now=now, by="ada")
        case "abandon" if steps.fresh(workload).wanted == "stop":
            workloads.abandon(workload.pk, now=now)
        case "lose" if steps.fresh(workload).state not in WORKLOAD_ENDED:
            workloads.lose(steps.fresh(workload), host="h", silent_s=900, now=now)


def _ends(workload, rank, told):
    """By its host's word, or, where nobody claimed it, by the sweep."""
    with contextlib.suppress(Gone):
        steps.claim(workload, rank, now=after(100))
    told.look()
    steps.says(workload, rank, now=after(101), **steps.EXITED_WELL)
    sweep.end_unclaimed({}, now=after(1000))
    told.look()


class _Told:
    """What was seen of a workload and its ranks, look by look."""

    def __init__(self, workload: Workload) -> None:
        self.workload = workload
        self.ranks = [state for state, _ in steps.ranks_of(workload)]
        self.wanted = "run"

    def look(self) -> None:
        row = steps.fresh(self.workload)
        ranks = [state for state, _ in steps.ranks_of(self.workload)]
        for was, became in zip(self.ranks, ranks, strict=True):
            assert became == was or became in RANK_MOVES[was]
        if row.state != WorkloadState.LOST:
            assert row.state == derive(ranks, wanted=row.wanted)
        assert not (self.wanted == "stop" and row.wanted == "run")
        held = {rank.host_id for rank in Rank.objects.filter(workload=row).exclude(state=RankState.ENDED)}
        assert set(row.chips.values_list("host_id", flat=True)) == held
        assert set(row.leases.filter(to_ms=None).values_list("host_id", flat=True)) == held
        self.ranks, self.wanted = ranks, row.wanted
