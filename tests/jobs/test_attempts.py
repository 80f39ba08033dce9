"""A job follows its workload: whatever was missed, the next look brings it to the same end."""

from __future__ import annotations

import pytest

from clusters import hosts, scheduling, sweep, workloads
from clusters.models import Workload
from jobs import attempt_rows, attempts, services
from jobs.models import Attempt, Job
from jobs.states import JobState
from projects.actors import Actor
from tests.clusters import steps
from tests.clusters.steps import after
from tests.factories import NOON, a_host, a_job, a_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def host(db):
    return a_host(name="tpu-1", heard_at=after(10_000))


@pytest.fixture
def job(host):
    return a_job()


def look(job, *, at=0.0):
    """Its state after one look of the follower."""
    attempts.follow(now=after(at))
    return row(job).state


def row(job):
    return Job.objects.for_display().get(pk=job.pk)


def codes(job):
    return [code for code in job.subject.events.order_by("seq").values_list("code", flat=True) if code.startswith("job.")]


def on_its_way(job, *, to):
    """The workload of its present attempt, brought to `ordered`, `claimed` or `running`."""
    workload = row(job).workload
    scheduling.schedule(now=NOON)
    if to != "ordered":
        steps.claim(workload)
    if to == "running":
        steps.says(workload, state="running", now=after(1))
    return steps.fresh(workload)


def test_a_job_goes_with_its_workload(job):
    seen = [look(job)]
    workload = on_its_way(job, to="ordered")
    seen.append(look(job))
    steps.claim(workload)
    seen.append(look(job))
    steps.says(workload, state="running", now=after(7))
    seen.append(look(job, at=8))
    steps.says(workload, now=after(20), **steps.EXITED_WELL)
    seen.append(look(job, at=21))
    assert seen == ["queued", "starting", "starting", "running", "succeeded"]
    ended = row(job)
    assert (ended.started_at, ended.ended_at, ended.moved_at) == (after(7), after(21), after(21))
    assert ended.why == ("succeeded", "The command ended with exit code 0.")
    assert codes(job) == ["job.queued", "job.starting", "job.running", "job.succeeded"]


def test_what_was_followed_is_not_followed_again(job):
    on_its_way(job, to="running")
    assert attempts.follow(now=NOON) == 1
    assert attempts.follow(now=after(1)) == 0
    assert (row(job).moved_at, codes(job)) == (NOON, ["job.queued", "job.running"])


def test_a_follower_that_was_away_the_whole_time_tells_the_end_and_when_it_ran(job):
    workload = on_its_way(job, to="running")
    steps.says(workload, now=after(3), **steps.FAILED)
    assert look(job, at=9) == "failed"
    assert (row(job).started_at, codes(job)) == (after(1), ["job.queued", "job.failed"])
    assert row(job).why[1] == "The command ended with exit code 7 on tpu-1."


def test_a_command_that_was_never_said_to_run_did_not_start(job):
    workload = on_its_way(job, to="claimed")
    steps.says(workload, state="ended", cause="prepare-failed", detail="disk full")
    assert (look(job), row(job).started_at) == ("failed", None)


def test_a_crash_before_the_version_is_noted_is_only_a_delay(job, monkeypatch):
    on_its_way(job, to="running")
    with monkeypatch.context() as patch:
        patch.setattr(workloads, "mark_followed", lambda *_: 1 / 0)
        assert look(job) == "queued"  # all or nothing
    assert codes(job) == ["job.queued"]
    assert look(job, at=1) == "running"
    assert codes(job) == ["job.queued", "job.running"]


def test_one_that_cannot_be_followed_delays_no_other(job, caplog, monkeypatch):
    other = a_job()
    workload = row(job).workload
    for one in (job, other):
        workloads.want_stop(row(one).workload.pk, code="panel-stopped", grace_s=0, now=NOON)
    take_news = attempts._take_news
    monkeypatch.setattr(attempts, "_take_news", lambda one, *rest, **more: 1 / 0 if one == job else take_news(one, *rest, **more))
    attempts.follow(now=NOON)
    assert (row(job).state, row(other).state) == ("queued", "canceled")
    assert f"cannot follow workload={workload.pk}" in caplog.text


def test_a_version_read_before_a_move_leaves_the_move_to_the_next_look(job):
    """The workload moves between reading and noting: the note is of what was read."""
    workload = on_its_way(job, to="claimed")
    read = Workload.objects.get(pk=workload.pk)
    steps.says(workload, state="running")
    workloads.mark_followed(workload.pk, read.version)
    assert look(job) == "running"


def test_one_look_takes_a_bounded_number(monkeypatch, host):
    monkeypatch.setattr(attempts, "BATCH", 2)
    for _ in range(3):
        a_job()
    assert [attempts.follow(now=NOON) for _ in range(3)] == [2, 1, 0]


# -- Not started ---------------------------------------------------------------------------------------------


def test_a_job_that_no_host_took_goes_back_to_its_old_place_in_the_line(job):
    first = on_its_way(job, to="ordered")
    assert look(job) == "starting"
    steps.the_inbox_has_read(until=after(60))
    sweep.sweep(now=after(60))
    assert steps.state(first)[2] == "not-started"
    assert look(job, at=61) == "queued"
    back = row(job)
    assert back.workload != first
    assert (back.workload.state, back.workload.queued_at, back.workload.created_at) == ("waiting", NOON, after(61))
    assert back.workload.spec.output.endswith(f"/{job.pk}/2") and back.workload.spec.checkpoints == first.spec.checkpoints
    tries = list(Attempt.objects.filter(job=job).values_list("number", "workload", "counted"))
    assert tries == [(1, first.pk, False), (2, back.workload_id, True)]  # the one that nobody took spends nothing
    later = a_job(now=after(30))
    assert list(Workload.objects.waiting()) == [back.workload, row(later).workload]
    assert codes(job) == ["job.queued", "job.starting", "job.queued"]


def test_looked_at_twice_it_goes_back_once(job):
    workload = on_its_way(job, to="ordered")
    steps.the_inbox_has_read(until=after(60))
    sweep.sweep(now=after(60))
    attempts.follow(now=after(61))
    Workload.objects.filter(pk=workload.pk).update(followed_version=0)  # as after a crash
    attempts.follow(now=after(62))
    assert (row(job).state, Attempt.objects.filter(job=job).count(), Workload.objects.waiting().count()) == ("queued", 2, 1)


def test_a_canceled_job_that_no_host_took_does_not_go_back(job):
    workload = on_its_way(job, to="ordered")
    user = a_user(is_superuser=True, username="ada")
    sweep.end_unclaimed({}, now=after(60))
    assert steps.state(workload)[2] == "not-started"
    services.cancel(job=row(job), by=Actor(user=user), now=after(61))
    assert look(job, at=62) == "canceled"
    assert (Attempt.objects.count(), row(job).why[1]) == (1, "Canceled by ada.")


# -- Drained -------------------------------------------------------------------------------------------------


@pytest.fixture
def operator(db):
    return Actor(user=a_user(is_superuser=True, username="ada"))


@pytest.mark.parametrize("to", ["ordered", "claimed", "running"])
def test_a_job_of_a_drained_host_goes_back_to_its_old_place_and_spends_no_try(job, host, operator, to):
    first = on_its_way(job, to=to)
    look(job)
    hosts.drain(host=host, reason="new disk", by=operator, now=after(10))
    if to != "ordered":
        assert look(job, at=11) == "stopping"
        steps.says(first, **steps.STOPPED, now=after(12))
    assert look(job, at=13) == "queued"
    back = row(job)
    assert (back.workload.state, back.workload.queued_at) == ("waiting", NOON)
    assert list(Attempt.objects.filter(job=job).values_list("number", "counted", "retried_as")) == [(1, False, ""), (2, True, "")]
    assert (
        attempt_rows.of_job(back, list(back.attempts.select_related("workload")))[1].why
        == "the host of the one before was drained"
    )


def test_a_drained_job_that_had_succeeded_stays_so(job, host, operator):
    first = on_its_way(job, to="running")
    hosts.drain(host=host, reason="new disk", by=operator, now=after(10))
    steps.says(first, state="ended", cause="exited", exit_code=0, now=after(11))
    assert look(job, at=12) == "succeeded"


def test_a_job_that_is_canceled_while_its_host_is_drained_does_not_go_back(job, host, operator):
    first = on_its_way(job, to="running")
    look(job)
    hosts.drain(host=host, reason="new disk", by=operator, now=after(10))
    look(job, at=11)
    services.cancel(job=row(job), by=operator, now=after(12))
    steps.says(first, **steps.STOPPED, now=after(13))
    assert look(job, at=14) == "canceled"
    assert Attempt.objects.filter(job=job).count() == 1


def test_a_job_that_was_canceled_before_its_host_is_drained_stays_so(job, host, operator):
    first = on_its_way(job, to="running")
    look(job)
    services.cancel(job=row(job), by=operator, now=after(9))
    assert hosts.drain(host=host, reason="new disk", by=operator, now=after(10)) == 0
    steps.says(first, **steps.STOPPED, now=after(13))
    assert look(job, at=14) == "canceled"


def test_what_the_old_workload_does_later_is_no_news_of_the_job(job):
    first = on_its_way(job, to="ordered")
    sweep.end_unclaimed({}, now=after(60))
    look(job, at=61)
    Workload.objects.filter(pk=first.pk).update(version=99)
    assert look(job, at=62) == "queued"
    assert Workload.objects.get(pk=first.pk).followed_version == 99


# -- Ends ----------------------------------------------------------------------------------------------------


def test_a_lost_workload_fails_its_job(job):
    workload = on_its_way(job, to="running")
    workloads.lose(workload, host="tpu-1", silent_s=900, now=after(900))
    assert look(job, at=901) == "failed"
    assert row(job).why[0] == "host-lost"


def test_a_lost_workload_fails_a_job_that_was_to_stop(job):
    workload = on_its_way(job, to="running")
    services.cancel(job=row(job), by=Actor(user=a_user()), now=after(2))
    workloads.lose(steps.fresh(workload), host="tpu-1", silent_s=900, now=after(900))
    assert (look(job, at=901), row(job).why[0]) == ("failed", "host-lost")


@pytest.mark.parametrize("code", ["timed-out", "prepare-deadline"])
def test_what_the_panel_stopped_by_itself_has_failed_and_says_why(job, code):
    workload = on_its_way(job, to="running")
    workloads.want_stop(workload.pk, code=code, grace_s=0, now=after(2), seconds=90, step="x")
    assert (look(job, at=2), row(job).why[0]) == ("stopping", code)
    steps.says(workload, now=after(3), **steps.STOPPED)
    assert (look(job, at=4), row(job).why[0]) == ("failed", code)


def test_what_an_operator_stopped_with_all_the_rest_is_canceled(job):
    workload = on_its_way(job, to="running")
    workloads.want_stop(workload.pk, code="panel-stopped", grace_s=0, now=after(2))
    steps.says(workload, now=after(3), **steps.STOPPED)
    assert (look(job, at=4), row(job).why[0]) == ("canceled", "panel-stopped")


def test_an_abandoned_job_is_canceled(job):
    workload = on_its_way(job, to="running")
    services.cancel(job=row(job), by=Actor(user=a_user(username="ada")), now=after(2))
    workloads.abandon(workload.pk, now=after(3))
    assert (look(job, at=4), row(job).why[1]) == ("canceled", "Canceled by ada.")


def test_a_job_that_has_ended_stays_as_it_is(job):
    workload = on_its_way(job, to="running")
    steps.says(workload, **steps.EXITED_WELL)
    look(job, at=1)
    Workload.objects.filter(pk=workload.pk).update(version=99, outcome="failed")
    assert (look(job, at=9), row(job).ended_at) == ("succeeded", after(1))


# -- Moved ---------------------------------------------------------------------------------------------------


def test_a_move_that_the_table_does_not_have_is_a_bug(job):
    Job.objects.filter(pk=job.pk).update(state="stopping")
    with pytest.raises(ValueError, match="cannot move stopping -> running"):
        attempts.move(row(job), JobState.RUNNING, code="", data={}, now=NOON)
    assert row(job).state == "stopping"


def test_of_two_moves_from_the_same_state_one_wins(job):
    one, other = row(job), row(job)
    assert attempts.move(one, JobState.STARTING, code="", data={}, now=after(1))
    assert not attempts.move(other, JobState.RUNNING, code="", data={}, now=after(2))
    assert (row(job).state, row(job).moved_at, codes(job)) == ("starting", after(1), ["job.queued", "job.starting"])
    assert not attempts.move(one, JobState.STARTING, code="", data={}, now=after(3))
    assert row(job).moved_at == after(1)


def test_a_queued_jobs_reason_is_renewed_by_each_pass(job, host):
    large = a_job(resources={"chips": 99})
    scheduling.schedule(now=NOON)
    assert row(large).why == ("too-large", "No host is large enough: it asks for 99 slots of cpu on one, and the largest has 2.")
