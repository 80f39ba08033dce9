from datetime import timedelta

import pytest

from clusters import scheduling, silence, sweep, workloads
from clusters.models import Fetch, Host, Order
from clusters.states import HostState
from projects.errors import Gone
from tests.clusters import steps
from tests.clusters.steps import after
from tests.factories import NOON, a_cluster, a_host, a_workload

pytestmark = pytest.mark.django_db


def swept(*, at, reading=True):
    if reading:
        steps.the_inbox_has_read(until=at)
    sweep.sweep(now=at)


# -- Ordered -------------------------------------------------------------------------------------------------


def test_an_order_that_nobody_claims_ends_after_a_minute_and_frees_its_chips():
    host = a_host(name="tpu-1", heard_at=after(60))
    workload = steps.ordered(host)
    swept(at=after(59.9))
    assert (steps.state(workload)[0], steps.held_chips(workload)) == ("ordered", 1)
    swept(at=after(60))
    assert steps.state(workload) == ("exited", "run", "not-started", "unclaimed")
    assert steps.ranks_of(workload) == [("ended", "not-started")]
    assert (steps.held_chips(), steps.leases(workload), steps.open_orders(host)) == (0, [(1, 0, 60)], [])
    assert steps.fresh(workload).reason.startswith("Host tpu-1 did not take the order within 60 s")
    with pytest.raises(Gone):
        steps.claim(workload, now=after(61))


def test_a_job_is_not_given_again_to_a_host_that_let_it_pass_while_another_has_room():
    deaf, other = a_host(name="deaf", heard_at=after(60)), a_host(name="other", heard_at=after(60))
    for _ in range(2):  # each time a try of its own
        assert steps.ordered(deaf).ranks.get().host == deaf
    swept(at=after(60))
    assert deaf.subject.events.filter(code="host.unclaimed").count() == 2
    again = a_workload(now=after(60))
    scheduling.schedule(now=after(60))
    assert again.ranks.get().host == other
    steps.claim(steps.ordered(deaf, now=after(61)), now=after(61))
    assert list(Host.objects.exclude(unclaimed_at=None)) == []


def test_an_order_to_a_host_that_fell_silent_ends_after_half_a_minute():
    host = a_host(heard_at=NOON)
    workload = steps.ordered(host)
    swept(at=after(30))
    assert steps.state(workload)[0] == "ordered"
    swept(at=after(30.1))
    assert steps.state(workload) == ("exited", "run", "not-started", "host-silent-at-start")
    assert steps.held_chips() == 0


def test_the_panels_own_absence_ends_no_order_for_silence():
    workload = steps.ordered(a_host(heard_at=after(-3000)))
    steps.the_inbox_has_read(since=after(-5), until=after(20))
    sweep.sweep(now=after(20))
    assert steps.state(workload)[0] == "ordered"


def test_a_claim_that_came_in_time_stays():
    workload = steps.claimed(a_host(heard_at=after(200)))
    swept(at=after(200))
    assert (steps.state(workload)[0], steps.ranks_of(workload)) == ("preparing", [("claimed", "")])


def test_a_gang_of_which_one_is_not_claimed_is_stopped_whole():
    claimer, other = (a_host(heard_at=after(60)) for _ in range(2))
    workload = steps.ordered([claimer, other])
    steps.claim(workload, 0)
    swept(at=after(60))
    assert steps.ranks_of(workload) == [("claimed", ""), ("ended", "not-started")]
    assert steps.state(workload) == ("stopping", "stop", "", "unclaimed")
    assert steps.open_orders(claimer) == [("stop", {"grace_s": 0})]
    assert steps.held_chips(workload) == 1


# -- Deadlines of what was claimed ---------------------------------------------------------------------------


def overdue(workload, seconds):
    """Its state just before the deadline and at it, and why."""
    for host in Host.objects.all():
        Host.objects.filter(pk=host.pk).update(heard_at=after(seconds))
    swept(at=after(seconds - 0.1))
    before = steps.state(workload)[:2]
    swept(at=after(seconds))
    return before, steps.state(workload), steps.fresh(workload).reason


def test_preparing_takes_ten_minutes_at_most():
    workload = steps.claimed(stop_grace_s=12)
    steps.says(workload, state="preparing", detail="fetching the source")
    assert overdue(workload, 600) == (
        ("preparing", "run"),
        ("stopping", "stop", "", "prepare-deadline"),
        "Preparing took longer than 600 s (step: fetching the source).",
    )
    assert steps.open_orders(workload.ranks.get().host_id) == [("stop", {"grace_s": 12})]


def test_with_a_runtime_to_build_preparing_may_take_an_hour():
    workload = steps.claimed(runtime={"name": "torch", "digest": "d"})
    assert overdue(workload, 3600) == (
        ("preparing", "run"),
        ("stopping", "stop", "", "prepare-deadline"),
        "Preparing took longer than 3600 s (step: unknown).",
    )


def test_the_barrier_holds_for_ten_minutes():
    gang = [a_host(), a_host()]
    workload = steps.claimed(gang)
    for rank in (0, 1):
        steps.says(workload, rank, state="ready")
    assert overdue(workload, 600) == (
        ("ready", "run"),
        ("stopping", "stop", "", "barrier-deadline"),
        "Not all ranks were ready within 600 s.",
    )
    assert [steps.open_orders(host) for host in gang] == [[("stop", {"grace_s": 30})]] * 2


def test_what_runs_is_stopped_at_its_own_timeout():
    workload = steps.running(timeout_s=90)
    assert overdue(workload, 90) == (
        ("running", "run"),
        ("stopping", "stop", "", "timed-out"),
        "It timed out after 90 s.",
    )


def test_without_a_timeout_it_runs_for_ever():
    workload = steps.running(a_host(heard_at=after(10**7)))
    swept(at=after(10**7))
    assert steps.state(workload)[:2] == ("running", "run")
    assert not Order.objects.open().exists()


def test_what_waits_has_no_deadline():
    workload = a_workload(chips=99)
    swept(at=after(10**6))
    assert steps.state(workload)[:2] == ("waiting", "run")


def test_stopping_stays_until_its_host_says_that_nothing_is_left():
    workload = steps.running(a_host(heard_at=after(10**6)))
    workloads.want_stop(workload.pk, code="canceled", grace_s=30, now=NOON, by="ada")
    swept(at=after(10**6))
    assert (steps.state(workload), steps.held_chips(workload)) == (("stopping", "stop", "", "canceled"), 1)


# -- Silent hosts --------------------------------------------------------------------------------------------


def test_work_on_a_host_silent_for_so_long_is_lost_and_its_chips_stay_held():
    host = a_host(name="tpu-1", cluster=a_cluster(lost_after_s=120))
    workload = steps.running(host)
    swept(at=after(119.9))
    assert steps.state(workload)[0] == "running"
    swept(at=after(120))
    assert steps.state(workload) == ("lost", "stop", "", "host-lost")
    assert steps.fresh(workload).reason.startswith("Host tpu-1 was silent for 120 s.")
    assert (steps.held_chips(workload), steps.leases(workload)) == (1, [(1, 0, None)])
    version = steps.fresh(workload).version
    swept(at=after(500))
    assert steps.fresh(workload).version == version


def test_a_cluster_may_never_give_up():
    workload = steps.running(a_host(cluster=a_cluster(lost_after_s=None)))
    swept(at=after(10**6))
    assert (steps.state(workload)[0], Order.objects.open().count()) == ("running", 0)


def test_the_panels_own_absence_loses_nothing():
    workload = steps.running(a_host(heard_at=NOON))
    steps.the_inbox_has_read(since=after(10_000), until=after(10_800))
    sweep.sweep(now=after(10_800))
    assert steps.state(workload)[0] == "running"
    sweep.sweep(now=after(99_999))  # the sweep runs, and nobody reads
    assert steps.state(workload)[0] == "running"
    steps.the_inbox_has_read(since=after(10_000), until=after(10_900))
    sweep.sweep(now=after(10_900))
    assert steps.state(workload)[0] == "lost"


def test_one_silent_host_loses_the_gang_and_the_others_are_told_to_end_it():
    cluster = a_cluster()
    silent, other = a_host(cluster=cluster), a_host(cluster=cluster, heard_at=after(900))
    workload = steps.running([silent, other])
    swept(at=after(900))
    assert steps.state(workload)[0] == "lost"
    assert steps.open_orders(other) == [("stop", {"grace_s": 0})]
    steps.says(workload, 1, now=after(901), **steps.STOPPED)
    assert steps.held_chips(workload) == 1


def test_what_was_to_stop_on_a_silent_host_is_lost_too():
    workload = steps.running(a_host())
    workloads.want_stop(workload.pk, code="canceled", grace_s=30, now=NOON, by="ada")
    swept(at=after(900))
    assert steps.state(workload) == ("lost", "stop", "", "host-lost")


# -- Sent again ----------------------------------------------------------------------------------------------


@pytest.fixture
def sent(valkey):
    """An open order that was sent at noon for the first time."""
    host = a_host(heard_at=after(1))
    steps.ordered(host)
    Order.objects.update(sent_at=NOON, sent_times=1)
    return host


def resent(host, *, at, heard_at=None):
    Host.objects.filter(pk=host.pk).update(heard_at=heard_at or at)
    steps.the_inbox_has_read(until=at)
    sweep.resend(silence.all_silences(), now=at)
    return Order.objects.get().sent_at is None


@pytest.mark.parametrize(("times", "seconds"), [(1, 2), (2, 4), (3, 8), (5, 32), (6, 60), (40, 60)])
def test_an_order_without_effect_is_sent_again_after_ever_longer_times(sent, times, seconds):
    Order.objects.update(sent_times=times)
    assert not resent(sent, at=after(seconds - 0.01))
    assert resent(sent, at=after(seconds + 0.01))
    assert Order.objects.get().sent_times == times


def test_a_host_that_was_not_heard_since_gets_nothing(sent):
    assert not resent(sent, at=after(10), heard_at=NOON - timedelta(seconds=1))
    assert not resent(sent, at=after(10), heard_at=NOON)
    assert resent(sent, at=after(10), heard_at=after(0.1))


def test_a_silent_host_gets_nothing_until_its_first_word(sent):
    assert not resent(sent, at=after(40), heard_at=after(1))
    assert resent(sent, at=after(40), heard_at=after(40))


def test_an_order_that_still_lies_in_the_hosts_list_is_not_doubled(sent, valkey):
    valkey.client().lpush(f"host:{sent.pk}:orders", "an order")
    assert not resent(sent, at=after(60))
    valkey.client().delete(f"host:{sent.pk}:orders")
    assert resent(sent, at=after(60))


def test_what_has_had_its_effect_is_not_sent_again(sent):
    Order.objects.update(confirmed_at=after(1))
    assert not resent(sent, at=after(60))


def test_a_retired_host_keeps_the_sweep_from_nothing(valkey):
    retired = a_host()
    steps.ordered(retired)
    Host.objects.filter(pk=retired.pk).update(state=HostState.RETIRED)
    workload = steps.ordered(a_host(heard_at=after(60)))
    swept(at=after(60))
    assert steps.state(workload)[2] == "not-started"


# -- Files ---------------------------------------------------------------------------------------------------


def test_a_file_that_does_not_come_has_failed_after_ten_minutes():
    host = a_host(heard_at=after(600), name="tpu-1")
    fetch = steps.a_fetch(steps.a_file(steps.running(host, **steps.PLACED)))
    swept(at=after(599))
    assert Fetch.objects.get(pk=fetch.pk).state == "wanted"
    swept(at=after(600))
    assert (Fetch.objects.get(pk=fetch.pk).state, steps.open_orders(host)) == ("failed", [])
