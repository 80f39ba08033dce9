import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusters.states import (
    FETCH_MOVES,
    HOST_MOVES,
    RANK_MOVES,
    WORKLOAD_ENDED,
    WORKLOAD_MOVES,
    WORKLOAD_ON_HOSTS,
    FetchState,
    HostState,
    RankState,
    Wanted,
    WorkloadState,
    derive,
)

R, W = RankState, WorkloadState
rank_states = st.sampled_from(R.values)


@pytest.mark.parametrize(
    ("ranks", "state"),
    [
        ([R.ORDERED], W.ORDERED),
        ([R.CLAIMED], W.PREPARING),
        ([R.PREPARING], W.PREPARING),
        ([R.READY], W.READY),
        ([R.RUNNING], W.RUNNING),
        ([R.ENDED], W.EXITED),
        ([R.RUNNING, R.ORDERED], W.ORDERED),
        ([R.READY, R.CLAIMED, R.RUNNING], W.PREPARING),
        ([R.READY, R.RUNNING], W.READY),
        ([R.ENDED, R.RUNNING], W.RUNNING),
        ([R.ENDED, R.ENDED], W.EXITED),
    ],
)
def test_the_least_advanced_living_rank_speaks_for_the_workload(ranks, state):
    assert derive(ranks, wanted=Wanted.RUN) == state


@given(st.lists(rank_states, min_size=1, max_size=6))
def test_a_workload_that_is_to_stop_is_stopping_until_nothing_of_it_is_left(ranks):
    has_left = all(rank == R.ENDED for rank in ranks)
    assert derive(ranks, wanted=Wanted.STOP) == (W.EXITED if has_left else W.STOPPING)


@given(ranks=st.lists(rank_states, min_size=1, max_size=5), data=st.data())
def test_a_rank_that_moves_never_takes_its_workload_out_of_the_table(ranks, data):
    """From any state that ranks can have to any that one more move gives, whatever the panel wants by then."""
    number = data.draw(st.integers(0, len(ranks) - 1))
    moves = sorted(RANK_MOVES[ranks[number]])
    moved = [*ranks[:number], data.draw(st.sampled_from(moves)) if moves else R.ENDED, *ranks[number + 1 :]]
    before = data.draw(st.sampled_from(Wanted.values))
    now = data.draw(st.sampled_from(Wanted.values)) if before == Wanted.RUN else Wanted.STOP
    was, became = derive(ranks, wanted=before), derive(moved, wanted=now)
    assert became == was or became in WORKLOAD_MOVES[was]


@pytest.mark.parametrize(
    ("choices", "moves"),
    [(HostState, HOST_MOVES), (WorkloadState, WORKLOAD_MOVES), (RankState, RANK_MOVES), (FetchState, FETCH_MOVES)],
)
def test_each_table_knows_every_state_and_reaches_it(choices, moves):
    assert list(moves) == list(choices.values)
    assert {to for reached in moves.values() for to in reached} >= set(choices.values[1:])
    assert all(state not in reached for state, reached in moves.items())


def test_what_has_ended_stays_so():
    assert {state for state, moves in WORKLOAD_MOVES.items() if not moves} == WORKLOAD_ENDED
    assert {state for state, moves in RANK_MOVES.items() if not moves} == {R.ENDED}
    assert set(W.values) == WORKLOAD_ENDED | WORKLOAD_ON_HOSTS | {W.WAITING}
