import pytest
from django.db import transaction

from agent import protocol
from clusters import workloads
from clusters.models import Order, Workload
from clusters.specs import Request, Spec
from clusters.states import WorkloadState
from projects.errors import Gone
from tests.clusters import steps
from tests.clusters.steps import after
from tests.factories import NOON, a_host, a_project, a_subject, a_workload

pytestmark = pytest.mark.django_db


def stop(workload, *, grace_s=30, now=NOON, code="canceled", **data):
    workloads.want_stop(workload.pk, code=code, grace_s=grace_s, now=now, **data or {"by": "ada"})


# -- Made ----------------------------------------------------------------------------------------------------


def test_a_workload_begins_to_wait_for_its_owner():
    project = a_project()
    subject = a_subject(project=project, kind="replica")
    spec = Spec(command=["true"], secrets=["KEY"], timeout_s=9)
    made = workloads.create(
        project=project,
        subject=subject,
        request=Request("cpu", 2, "one"),
        spec=spec,
        now=after(9),
        queued_at=after(1),
        priority=3,
    )
    workload = steps.fresh(made)
    assert (workload.state, workload.wanted, workload.outcome, workload.version) == ("waiting", "run", "", 1)
    assert (workload.queued_at, workload.created_at, workload.moved_at) == (after(1), after(9), after(9))
    assert (workload.request, workload.spec, workload.priority) == (Request("cpu", 2, "one"), spec, 3)
    assert (workload.owner_kind, workload.reason) == ("replica", "The scheduler has not looked at it yet.")
    assert list(Workload.objects.not_followed("replica")) == [workload]
    assert list(Workload.objects.not_followed("job")) == []


# -- Moved ---------------------------------------------------------------------------------------------------


def test_a_move_writes_state_reason_version_moment_and_event():
    workload = steps.claimed()
    assert workloads.move(workload, WorkloadState.RUNNING, code="", data={}, now=after(7))
    row = steps.fresh(workload)
    assert (row.state, row.version, row.running_at, row.moved_at, row.ended_at) == ("running", 4, after(7), after(7), None)
    assert (workload.state, workload.running_at) == ("running", after(7))
    event = workload.subject.events.last()
    assert (event.code, event.sentence, event.data) == ("workload.running", "", {"workload": str(workload.pk), "reason": ""})


def test_of_two_moves_from_the_same_state_one_wins():
    seen_by_one, seen_by_other = (steps.claimed(), None)
    seen_by_other = steps.fresh(seen_by_one)
    assert workloads.move(seen_by_one, WorkloadState.READY, code="", data={}, now=NOON)
    assert not workloads.move(seen_by_other, WorkloadState.RUNNING, code="", data={}, now=NOON)
    assert steps.state(seen_by_one)[0] == "ready"
    assert steps.fresh(seen_by_one).version == 4
    assert steps.events_of(seen_by_one) == ["workload.ordered", "workload.preparing", "workload.ready"]


def test_a_move_that_the_table_does_not_have_is_a_bug():
    workload = a_workload()
    with pytest.raises(ValueError, match="cannot move waiting -> running"):
        workloads.move(workload, WorkloadState.RUNNING, code="", data={}, now=NOON)
    assert (steps.state(workload)[0], steps.fresh(workload).version) == ("waiting", 1)


def test_what_was_followed_is_the_version_that_was_read():
    workload = steps.claimed()  # version 3
    workloads.mark_followed(workload.pk, 2)
    assert list(Workload.objects.not_followed("job")) == [workload]
    workloads.mark_followed(workload.pk, 3)
    workloads.mark_followed(workload.pk, 1)  # a slower one
    assert steps.fresh(workload).followed_version == 3
    assert not Workload.objects.not_followed("job").exists()


# -- Stopped -------------------------------------------------------------------------------------------------


def test_a_stop_of_what_waits_ends_it_at_once():
    workload = a_workload()
    stop(workload, now=after(1))
    assert steps.state(workload) == ("exited", "stop", "stopped", "canceled")
    row = steps.fresh(workload)
    assert (row.ended_at, row.reason, row.version) == (after(1), "Canceled by ada.", 2)
    assert not Order.objects.exists()


def test_a_stop_before_the_claim_needs_no_host():
    host = a_host()
    workload = steps.ordered(host)
    stop(workload, now=after(3))
    assert steps.state(workload) == ("exited", "stop", "stopped", "canceled")
    assert steps.ranks_of(workload) == [("ended", "not-started")]
    assert (steps.held_chips(), steps.leases(workload), steps.open_orders(host)) == (0, [(1, 0, 3)], [])
    with pytest.raises(Gone):
        steps.claim(workload, now=after(4))


def test_a_stop_after_the_claim_tells_the_host_and_frees_nothing_yet():
    host = a_host()
    workload = steps.running(host)
    stop(workload, grace_s=20, now=after(3))
    assert steps.state(workload) == ("stopping", "stop", "", "canceled")
    assert steps.ranks_of(workload) == [("running", "")]
    assert (steps.held_chips(workload), steps.leases(workload)) == (1, [(1, 0, None)])
    assert steps.open_orders(host) == [("stop", {"grace_s": 20})]
    steps.says(workload, now=after(5), **steps.STOPPED)
    assert steps.state(workload) == ("exited", "stop", "stopped", "canceled")
    assert (steps.held_chips(), steps.leases(workload), steps.open_orders(host)) == (0, [(1, 0, 5)], [])


def test_asked_again_the_first_reason_and_the_smallest_grace_stay():
    host = a_host()
    workload = steps.running(host)
    for second, (code, grace_s) in enumerate([("canceled", 30), ("timed-out", 5), ("canceled", 60)]):
        stop(workload, code=code, grace_s=grace_s, now=after(second))
    row = steps.fresh(workload)
    assert (row.stop_code, row.stop_data, row.stop_grace_s) == ("canceled", {"by": "ada"}, 5)
    assert steps.open_orders(host) == [("stop", {"grace_s": 5})]
    assert steps.events_of(workload).count("workload.stopping") == 1
    assert (row.moved_at, row.version) == (NOON, 5)


def test_a_stop_of_what_has_ended_changes_nothing():
    workload = steps.running()
    steps.says(workload, **steps.EXITED_WELL)
    before = steps.fresh(workload)
    stop(workload, now=after(9))
    after_it = steps.fresh(workload)
    assert (after_it.wanted, after_it.version, after_it.outcome) == ("run", before.version, "succeeded")
    assert not Order.objects.open().exists()


def test_a_stop_of_a_half_claimed_gang_ends_the_one_and_tells_the_other():
    claimer, other = a_host(), a_host()
    workload = steps.ordered([claimer, other])
    steps.claim(workload, 0)
    stop(workload)
    assert steps.state(workload) == ("stopping", "stop", "", "canceled")
    assert steps.ranks_of(workload) == [("claimed", ""), ("ended", "not-started")]
    assert [chip.workload_id for host in (claimer, other) for chip in host.chips.order_by("number")] == [
        workload.pk,
        None,
        None,
        None,
    ]
    assert (steps.open_orders(claimer), steps.open_orders(other)) == ([("stop", {"grace_s": 30})], [])


# -- Gangs ---------------------------------------------------------------------------------------------------


def test_one_rank_that_fails_takes_the_others_with_it_and_is_the_reason():
    gang = [a_host(name="a"), a_host(name="b"), a_host(name="c")]
    workload = steps.running(gang, stop_grace_s=12)
    steps.says(workload, 1, now=after(1), **steps.FAILED)
    assert steps.state(workload) == ("stopping", "stop", "", "rank-ended")
    assert steps.held_chips(workload) == 2
    assert [steps.open_orders(host) for host in gang] == [[("stop", {"grace_s": 12})], [], [("stop", {"grace_s": 12})]]
    steps.says(workload, 0, now=after(2), state="ended", cause="signaled", signal=15)  # the echo
    steps.says(workload, 2, now=after(3), **steps.STOPPED)
    assert steps.state(workload) == ("exited", "stop", "failed", "exit-code")
    assert steps.fresh(workload).reason == "The command ended with exit code 7 on b."
    assert (steps.held_chips(), steps.leases(workload)) == (0, [(1, 0, 2), (1, 0, 1), (1, 0, 3)])


def test_a_rank_that_ends_well_lets_the_others_finish():
    workload = steps.running([a_host(), a_host()])
    steps.says(workload, 0, now=after(1), **steps.EXITED_WELL)
    assert steps.state(workload)[:2] == ("running", "run")
    assert (steps.held_chips(workload), Order.objects.open().count()) == (1, 0)
    steps.says(workload, 1, now=after(2), **steps.EXITED_WELL)
    assert steps.state(workload) == ("exited", "run", "succeeded", "succeeded")


@pytest.mark.parametrize(
    ("end", "outcome", "reason"),
    [
        (steps.EXITED_WELL, "succeeded", "The command ended with exit code 0."),
        (steps.FAILED, "failed", "The command ended with exit code 7 on tpu-1."),
        (
            {"state": "ended", "cause": "signaled", "signal": 11},
            "failed",
            "The command was ended by signal 11 (SIGSEGV) on tpu-1.",
        ),
        (
            {"state": "ended", "cause": "signaled", "signal": 250},
            "failed",
            "The command was ended by signal 250 (unknown) on tpu-1.",
        ),
        (
            {"state": "ended", "cause": "out-of-memory", "signal": 9},
            "failed",
            "The kernel of tpu-1 ran out of memory and killed the command.",
        ),
        (
            {"state": "ended", "cause": "command-not-found", "detail": "no such file"},
            "failed",
            "The command could not be started on tpu-1: no such file",
        ),
        (
            {"state": "ended", "cause": "prepare-failed", "detail": "disk full"},
            "failed",
            "Preparing failed on tpu-1: disk full",
        ),
        (
            {"state": "ended", "cause": "supervisor-lost"},
            "failed",
            "Its supervisor on tpu-1 was killed, and the command ended with it.",
        ),
        (
            {"state": "ended", "cause": "folder-gone"},
            "failed",
            "Its folder on tpu-1 was deleted while it ran, so it was ended; its last output may be lost.",
        ),
        ({"state": "ended", "cause": "stopped", "signal": 9}, "stopped", "It was stopped."),
    ],
)
def test_how_it_ended_is_told(end, outcome, reason):
    workload = steps.running(a_host(name="tpu-1"))
    steps.says(workload, **end)
    row = steps.fresh(workload)
    assert (row.state, row.outcome, row.reason) == ("exited", outcome, reason)


def test_what_ended_by_itself_while_it_was_to_stop_is_what_its_exit_says():
    workload = steps.running()
    stop(workload)
    steps.says(workload, **steps.EXITED_WELL)
    assert steps.state(workload) == ("exited", "stop", "succeeded", "succeeded")


# -- Lost ----------------------------------------------------------------------------------------------------


def lose(workload, host):
    with transaction.atomic():
        workloads.lose(Workload.objects.locked(workload.pk), host=host.name, silent_s=900, now=after(900))


def test_a_lost_workload_holds_its_chips_and_its_hosts_are_told_to_end_it():
    silent, other = a_host(name="tpu-1"), a_host()
    workload = steps.running([silent, other])
    lose(workload, silent)
    assert steps.state(workload) == ("lost", "stop", "", "host-lost")
    row = steps.fresh(workload)
    assert row.reason.startswith("Host tpu-1 was silent for 900 s.")
    assert (row.ended_at, steps.held_chips(workload), steps.leases(workload)) == (after(900), 2, [(1, 0, None)] * 2)
    assert [steps.open_orders(host) for host in (silent, other)] == [[("stop", {"grace_s": 0})]] * 2
    with pytest.raises(Gone):
        steps.claim(workload)


def test_the_ranks_of_a_lost_gang_free_their_chips_as_they_end_and_it_stays_lost():
    silent, other = a_host(), a_host()
    workload = steps.running([silent, other])
    lose(workload, silent)
    steps.says(workload, 1, now=after(901), **steps.STOPPED)
    assert (steps.state(workload)[0], steps.held_chips(workload), steps.open_orders(other)) == ("lost", 1, [])
    steps.says(workload, 0, now=after(2000), **steps.EXITED_WELL)
    assert steps.state(workload) == ("lost", "stop", "", "host-lost")
    assert (steps.held_chips(), steps.leases(workload)) == (0, [(1, 0, 2000), (1, 0, 901)])
    assert steps.events_of(workload)[-2:] == ["rank.gone", "rank.gone"]


# -- Abandoned -----------------------------------------------------------------------------------------------


def test_an_abandoned_workload_frees_its_chips_without_its_host():
    host = a_host()
    workload = steps.running(host)
    stop(workload)
    workloads.abandon(workload.pk, now=after(60))
    assert steps.state(workload) == ("exited", "stop", "stopped", "abandoned")
    assert steps.ranks_of(workload) == [("ended", protocol.CAUSE_STOPPED)]
    assert (steps.held_chips(), steps.leases(workload)) == (0, [(1, 0, 60)])
    version = steps.fresh(workload).version
    workloads.abandon(workload.pk, now=after(70))
    steps.says(workload, now=after(80), **steps.EXITED_WELL)  # the host's late word
    assert (steps.fresh(workload).version, steps.leases(workload)) == (version, [(1, 0, 60)])
    assert steps.state(workload) == ("exited", "stop", "stopped", "abandoned")


def test_an_abandoned_lost_workload_frees_its_chips_and_stays_lost():
    host = a_host()
    workload = steps.running(host)
    lose(workload, host)
    workloads.abandon(workload.pk, now=after(1000))
    assert (steps.state(workload), steps.held_chips()) == (("lost", "stop", "", "host-lost"), 0)
    assert steps.ranks_of(workload) == [("ended", "stopped")]


def test_a_stop_that_was_asked_for_before_the_placement_was_committed_ends_its_lease_where_it_began(db):
    workload = steps.ordered(now=after(1))
    workloads.want_stop(workload.pk, code="canceled", grace_s=0, now=after(0.9), by="ada")
    assert (steps.state(workload)[0], steps.leases(workload)) == ("exited", [(1, 1, 1)])
