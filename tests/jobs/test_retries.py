"""What is tried again, by whose fault it was."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent import protocol
from clusters import reasons, scheduling, sweep, workloads
from jobs import attempts, retries, services
from jobs.models import Attempt, Job
from jobs.retries import Again, Budget, Cause, Policy
from projects.actors import Actor
from projects.errors import Invalid
from tests.clusters import steps
from tests.clusters.steps import after
from tests.factories import NOON, a_cluster, a_host, a_job, a_user

# -- The decision --------------------------------------------------------------------------------------------

BUDGETS = st.builds(Budget, times=st.integers(0, 100), delay_s=st.integers(0, 86_400))
POLICIES = st.builds(Policy, user_code=BUDGETS, host_lost=BUDGETS)
SPENT = st.fixed_dictionaries({}, optional={cause.value: st.integers(0, 100) for cause in Cause})


@given(POLICIES, st.sampled_from(sorted(reasons.SENTENCES)), SPENT)
def test_a_budget_is_never_overdrawn_and_pays_for_its_own_cause_alone(policy, code, spent):
    again = retries.decide(policy, code, spent)
    if code not in retries.CAUSES:
        assert again is None
        return
    budget, used = policy.budget(retries.CAUSES[code]), spent.get(retries.CAUSES[code], 0)
    assert (again is not None) == (used < budget.times)
    if again is not None:
        assert again == Again(retries.CAUSES[code], budget.delay_s, budget.times - used - 1)


@given(POLICIES)
def test_a_policy_comes_back_from_json(policy):
    assert Policy.from_json(policy.to_json()) == policy


def test_every_cause_is_a_reason_that_exists():
    assert set(retries.CAUSES) <= set(reasons.SENTENCES)
    assert "preempted" in reasons.SENTENCES and "preempted" not in retries.CAUSES


@pytest.mark.parametrize(
    ("said", "path"),
    [
        ({"weather": {}}, "retries.weather"),
        ({"user_code": 3}, "retries.user_code"),
        ({"user_code": {"time": 3}}, "retries.user_code.time"),
        ({"user_code": {"times": -1}}, "retries.user_code.times"),
        ({"user_code": {"times": True}}, "retries.user_code.times"),
        ({"user_code": {"times": "3"}}, "retries.user_code.times"),
        ({"host_lost": {"times": 101}}, "retries.host_lost.times"),
        ({"host_lost": {"delay_s": 86_401}}, "retries.host_lost.delay_s"),
    ],
)
def test_what_is_no_policy_is_refused_by_its_path(said, path):
    with pytest.raises(Invalid) as error:
        Policy.from_json(said)
    assert set(error.value.fields) == {path}


# -- A job ---------------------------------------------------------------------------------------------------


@pytest.fixture
def host(db):
    return a_host(name="tpu-1", cluster=a_cluster(lost_after_s=100), heard_at=after(10_000))


def launched(**budgets):
    return a_job(retries={cause: {"times": times, "delay_s": delay_s} for cause, (times, delay_s) in budgets.items()})


def row(job):
    return Job.objects.for_display().get(pk=job.pk)


def run(job, *, at, **end):
    """Place, claim and end the present attempt; one look of the follower after it. Returns the job."""
    scheduling.schedule(now=after(at))
    workload = row(job).workload
    steps.claim(workload, now=after(at))
    steps.says(workload, state=protocol.RUNNING, now=after(at))
    attempts.follow(now=after(at))
    steps.says(workload, now=after(at), **end)
    attempts.follow(now=after(at))
    return row(job)


def look(*, at):
    return attempts.begin_due(now=after(at))


def tries(job):
    return list(Attempt.objects.filter(job=job).values_list("number", "counted", "retried_as"))


def test_a_job_without_a_budget_fails_at_once(host):
    assert run(launched(), at=0, **steps.FAILED).state == "failed"


def test_user_code_is_tried_again_after_its_delay_and_fails_when_the_budget_is_spent(host):
    job = launched(user_code=(2, 30))
    waiting = run(job, at=0, **steps.FAILED)
    assert (waiting.state, waiting.retry_at, waiting.ended_at, steps.held_chips()) == ("queued", after(30), None, 0)
    assert waiting.why == (
        "retrying",
        "Attempt 1 failed: The command ended with exit code 7 on tpu-1. The next begins 30 s later; 1 more could follow.",
    )
    assert [look(at=at) for at in (29, 30, 31)] == [0, 1, 0]
    assert (row(job).retry_at, row(job).why[0]) == (None, "no-pass-yet")
    assert run(job, at=40, **steps.FAILED).retry_at == after(70)
    look(at=70)
    failed = run(job, at=80, **steps.FAILED)
    assert (failed.state, failed.why[0], failed.ended_at) == ("failed", "exit-code", after(80))
    assert tries(job) == [(1, True, "user_code"), (2, True, "user_code"), (3, True, "")]


def test_a_try_that_succeeds_ends_it_well(host):
    job = launched(user_code=(2, 0))
    run(job, at=0, **steps.FAILED)
    look(at=0)
    assert run(job, at=1, **steps.EXITED_WELL).state == "succeeded"
    codes = [
        code for code in job.subject.events.order_by("seq").values_list("code", flat=True) if not code.startswith("workload.")
    ]
    assert codes == [
        "job.queued",
        "job.running",
        "job.queued",
        "attempt.begun",
        "job.running",
        "job.succeeded",
    ]


def test_each_cause_has_its_own_budget_and_a_host_that_fails_costs_nobody_their_place(host):
    job = launched(user_code=(1, 10), host_lost=(1, 20))
    run(job, at=0, state=protocol.ENDED, cause=protocol.CAUSE_HOST_REBOOTED)
    look(at=20)
    assert row(job).workload.queued_at == NOON
    run(job, at=30, **steps.FAILED)
    look(at=40)
    assert row(job).workload.queued_at == after(40)
    assert run(job, at=50, state=protocol.ENDED, cause=protocol.CAUSE_HOST_STATE_LOST).state == "failed"
    assert tries(job) == [(1, True, "host_lost"), (2, True, "user_code"), (3, True, "")]


def test_a_job_whose_host_was_lost_goes_on_elsewhere_while_the_lost_chips_stay_held(host):
    job = launched(host_lost=(1, 0))
    scheduling.schedule(now=NOON)
    lost = row(job).workload
    steps.claim(lost)
    steps.says(lost, state=protocol.RUNNING)
    host.heard_at = NOON
    host.save()
    steps.the_inbox_has_read(until=after(101))
    sweep.lose_silent({host.pk: 101}, now=after(101))
    attempts.follow(now=after(101))
    other = a_host(name="tpu-2", cluster=host.slice.cluster, heard_at=after(10_000))
    look(at=101)
    scheduling.schedule(now=after(102))
    again = row(job).workload
    assert again.pk != lost.pk
    assert (again.place, steps.held_chips(lost), steps.held_chips(again)) == (other.name, 1, 1)
    assert again.spec.output != lost.spec.output  # what still runs there writes elsewhere
    assert again.spec.checkpoints == lost.spec.checkpoints


@pytest.mark.parametrize("end", [{"cause": protocol.CAUSE_COMMAND_NOT_FOUND}, {"cause": protocol.CAUSE_PREPARE_FAILED}])
def test_what_would_fail_again_is_not_tried_again(host, end):
    job = launched(user_code=(5, 0), host_lost=(5, 0))
    assert run(job, at=0, state=protocol.ENDED, **end).state == "failed"


def test_a_canceled_job_is_not_tried_again_however_its_command_ends(host):
    job = launched(user_code=(5, 0), host_lost=(5, 0))
    scheduling.schedule(now=NOON)
    workload = row(job).workload
    steps.claim(workload)
    steps.says(workload, state=protocol.RUNNING)
    attempts.follow(now=NOON)
    services.cancel(job=row(job), by=Actor(user=a_user()), now=after(1))
    steps.says(workload, now=after(2), **steps.FAILED)
    attempts.follow(now=after(2))
    assert (row(job).has_ended, row(job).retry_at, tries(job)) == (True, None, [(1, True, "")])


def test_a_job_that_stops_for_another_reason_and_is_canceled_is_canceled(host):
    job = launched(host_lost=(5, 0))
    scheduling.schedule(now=NOON)
    workload = row(job).workload
    steps.claim(workload)
    steps.says(workload, state=protocol.RUNNING)
    attempts.follow(now=NOON)
    workloads.want_stop(workload.pk, code="timed-out", grace_s=30, now=after(1), seconds=1)
    attempts.follow(now=after(1))
    services.cancel(job=row(job), by=Actor(user=a_user(username="ada")), now=after(2))
    assert row(job).why == ("canceled", "Canceled by ada.")
    steps.says(workload, now=after(3), state=protocol.ENDED, cause=protocol.CAUSE_HOST_REBOOTED)
    attempts.follow(now=after(3))
    assert (row(job).has_ended, tries(job)) == (True, [(1, True, "")])


def test_what_a_deadline_has_ended_is_not_tried_again(host):
    job = launched(user_code=(5, 0), host_lost=(5, 0))
    scheduling.schedule(now=NOON)
    workload = row(job).workload
    steps.claim(workload)
    steps.says(workload, state=protocol.RUNNING)
    workloads.want_stop(workload.pk, code="timed-out", grace_s=30, now=after(1), seconds=1)
    steps.says(workload, now=after(3), state=protocol.ENDED, cause=protocol.CAUSE_HOST_REBOOTED)
    attempts.follow(now=after(3))
    assert (row(job).state, tries(job)) == ("failed", [(1, True, "")])


def test_a_job_that_waits_to_try_again_is_canceled_at_once(host):
    job = launched(user_code=(5, 60))
    run(job, at=0, **steps.FAILED)
    services.cancel(job=row(job), by=Actor(user=a_user(username="ada")), now=after(5))
    canceled = row(job)
    assert (canceled.state, canceled.retry_at, canceled.why) == ("canceled", None, ("canceled", "Canceled by ada."))
    assert (look(at=1000), len(tries(job))) == (0, 1)


def test_one_that_was_over_before_anybody_looked_is_tried_again_too(host):
    job = launched(user_code=(1, 0))
    scheduling.schedule(now=NOON)
    workload = row(job).workload
    steps.claim(workload)
    steps.says(workload, **steps.FAILED)
    attempts.follow(now=after(1))
    assert (row(job).state, row(job).retry_at) == ("queued", after(1))


def test_a_launch_goes_before_the_definition_cause_by_cause(db):
    made = a_job(retries={"user_code": {"times": 1}})
    made.version.__class__.objects.filter(pk=made.version.pk).update(
        retries={"user_code": {"times": 9}, "host_lost": {"times": 3, "delay_s": 5}}
    )
    made.version.refresh_from_db()
    again = services.launch(
        project=made.project,
        version=made.version,
        values={"command": "true"},
        resources={},
        retries={"user_code": {"times": 2}},
        by=Actor(user=a_user()),
        now=NOON,
    )
    assert again.retries == Policy(user_code=Budget(2, 10), host_lost=Budget(3, 5))
