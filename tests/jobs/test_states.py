from clusters.states import WORKLOAD_ENDED, WORKLOAD_MOVES, WorkloadState
from jobs.attempts import WHILE_IT_LIVES
from jobs.states import ENDED, MOVES, JobState


def test_the_table_knows_every_state_and_reaches_it():
    assert list(MOVES) == list(JobState.values)
    assert {to for reached in MOVES.values() for to in reached} == set(JobState.values)
    assert {state for state, moves in MOVES.items() if not moves} == ENDED
    assert all(state not in moves for state, moves in MOVES.items())


def test_a_job_that_is_to_stop_goes_on_in_another_try_or_never():
    assert MOVES[JobState.STOPPING] == ENDED | {JobState.QUEUED}


def test_a_job_can_follow_every_move_of_its_workload():
    """However many moves of a living workload it has missed."""
    assert set(WHILE_IT_LIVES) == set(WorkloadState) - WORKLOAD_ENDED

    def later(state, seen=frozenset()):
        for to in WORKLOAD_MOVES[state] - seen - WORKLOAD_ENDED:
            yield to
            yield from later(to, seen | {to})

    for state, job_state in WHILE_IT_LIVES.items():
        for to in later(state):
            assert WHILE_IT_LIVES[to] == job_state or WHILE_IT_LIVES[to] in MOVES[job_state], (state, to)
