import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from clusters import hosts, scheduling, workloads
from clusters.models import Chip, Order, Workload
from clusters.placement import Choice, Place
from clusters.states import HostState
from projects.actors import Actor
from tests.clusters import steps
from tests.clusters.steps import after
from tests.factories import NOON, a_cluster, a_host, a_user, a_workload

pytestmark = pytest.mark.django_db


def chips_of(host):
    return list(Chip.objects.filter(host=host).order_by("number").values_list("workload_id", flat=True))


def reason(workload):
    return Workload.objects.values_list("state", "reason_code", "reason_data").get(pk=workload.pk)


def test_what_fits_is_ordered_with_its_chips_rank_lease_order_and_event():
    host = a_host(name="tpu-1", chips=3)
    workload = a_workload(chips=2)
    assert scheduling.schedule(now=after(5)) == 1
    assert chips_of(host) == [workload.pk, workload.pk, None]
    rank = workload.ranks.get()
    assert (rank.number, rank.host, rank.chips, rank.state, rank.claimed_session) == (0, host, [0, 1], "ordered", None)
    assert steps.leases(workload) == [(2, 5, None)]
    order = Order.objects.get()
    assert (order.host, order.kind, order.workload_id, order.data) == (host, "start", workload.pk, {"rank": 0})
    assert (order.created_at, order.sent_at, order.sent_times, order.confirmed_at) == (after(5), None, 0, None)
    workload.refresh_from_db()
    assert (workload.state, workload.version, workload.followed_version) == ("ordered", 2, 0)
    assert (workload.ordered_at, workload.moved_at, workload.queued_at) == (after(5), after(5), NOON)
    assert workload.reason == "Placed on tpu-1."
    event = workload.subject.events.get()
    assert (event.code, event.sentence, event.at) == ("workload.ordered", "Placed on tpu-1.", after(5))


def test_a_second_pass_places_nothing_again():
    a_host(chips=4)
    workload = a_workload()
    assert (scheduling.schedule(now=NOON), scheduling.schedule(now=after(1))) == (1, 0)
    assert (steps.held_chips(workload), Order.objects.count(), steps.fresh(workload).version) == (1, 1, 2)


def test_the_line_goes_by_priority_then_by_when_it_was_joined():
    a_host(chips=1)
    late = a_workload(queued_at=after(2), now=NOON)
    early = a_workload(queued_at=after(1), now=after(9))
    urgent = a_workload(queued_at=after(9), priority=5)
    assert list(Workload.objects.waiting()) == [urgent, early, late]
    scheduling.schedule(now=after(10))
    assert [steps.state(one)[0] for one in (urgent, early, late)] == ["ordered", "waiting", "waiting"]


def test_what_waits_is_told_why_and_nothing_else_of_it_changes():
    host = a_host(chips=2)
    large, small = a_workload(chips=2), a_workload(chips=1)
    never = a_workload(chips=3)
    scheduling.schedule(now=after(5))
    assert reason(small) == ("waiting", "chips-busy", {"accelerator": "cpu", "chips": 1, "free": 0, "total": 2})
    assert reason(never) == ("waiting", "too-large", {"accelerator": "cpu", "chips": 3, "largest": 2})
    assert (steps.fresh(small).version, steps.events_of(small), steps.leases(small)) == (1, [], [])
    assert chips_of(host) == [large.pk, large.pk]
    assert not small.ranks.exists() and not never.ranks.exists()


def test_a_reason_is_written_only_when_it_has_changed():
    a_host(chips=1)
    waiting = [a_workload() for _ in range(4)][1:]
    scheduling.schedule(now=NOON)
    with CaptureQueriesContext(connection) as queries:
        scheduling.schedule(now=after(1))
    (update,) = [q["sql"] for q in queries if q["sql"].startswith("UPDATE")]  # one for all three
    assert "reason_code" in update
    assert {reason(one)[1] for one in waiting} == {"chips-busy"}


@pytest.mark.parametrize(
    ("unfit", "code"),
    [
        ({"state": HostState.CORDONED}, "hosts-cordoned"),
        ({"state": HostState.ENROLLED}, "no-host"),
        ({"state": HostState.RETIRED}, "no-host"),
        ({"heard_at": after(-15.5)}, "hosts-silent"),
    ],
)
def test_nothing_is_placed_on_a_host_that_may_not_take_it(unfit, code):
    steps.the_inbox_has_read(until=NOON)
    host = a_host(**unfit)
    workload = a_workload()
    assert scheduling.schedule(now=NOON) == 0
    assert reason(workload)[:2] == ("waiting", code)
    assert chips_of(host) == [None, None]
    assert not Order.objects.exists()


def test_a_host_that_was_heard_within_the_limit_takes_work():
    steps.the_inbox_has_read(until=NOON)
    a_host(heard_at=after(-15))
    assert a_workload() and scheduling.schedule(now=NOON) == 1


def test_what_asks_for_a_cluster_gets_that_one():
    one, two = a_cluster(name="one"), a_cluster(name="two")
    a_host(cluster=one)
    host = a_host(cluster=two)
    workload = a_workload(cluster="two")
    scheduling.schedule(now=NOON)
    assert workload.ranks.get().host == host


def test_what_is_to_stop_is_not_placed():
    a_host()
    workload = a_workload()
    line = list(Workload.objects.waiting())  # what a pass has read before the stop came
    workloads.want_stop(workload.pk, code="canceled", grace_s=30, now=NOON, by="ada")
    host = a_host()
    assert not scheduling._apply(line[0].pk, Choice((Place(host.pk, (0,)),)), now=NOON)
    assert steps.state(workload) == ("exited", "stop", "stopped", "canceled")
    assert steps.held_chips() == 0 and not Order.objects.exists()


def test_a_plan_whose_chips_are_taken_takes_none_of_them(caplog):
    first, second = a_host(chips=1), a_host(chips=2)
    other = steps.ordered(second)
    workload = a_workload()
    choice = Choice((Place(first.pk, (0,)), Place(second.pk, (0, 1))))
    assert not scheduling._apply(workload.pk, choice, now=NOON)
    assert (chips_of(first), chips_of(second)) == ([None], [other.pk, None])
    assert steps.state(workload)[0] == "waiting"
    assert not workload.ranks.exists() and steps.leases(workload) == [] and steps.open_orders(first) == []
    assert f"chips of a plan were taken workload={workload.pk}" in caplog.text


def test_a_gang_gets_a_rank_a_host_in_order():
    gang = [a_host(name=name) for name in ("b", "a")]
    workload = steps.ordered(gang)
    assert [(rank.number, rank.host, rank.chips) for rank in workload.ranks.order_by("number")] == [
        (0, gang[0], [0]),
        (1, gang[1], [0]),
    ]
    assert [steps.open_orders(host) for host in gang] == [[("start", {"rank": 0})], [("start", {"rank": 1})]]
    assert (workload.reason, workload.place) == ("Placed on a, b.", "b, a")
    assert steps.leases(workload) == [(1, 0, None), (1, 0, None)]


def test_a_pass_costs_the_same_queries_however_many_wait(django_assert_num_queries):
    a_host(chips=1)
    for waiting in (2, 6):
        while Workload.objects.waiting().count() < waiting:
            a_workload(chips=2)
        with django_assert_num_queries(5):  # line, chips, loop, hosts, one reason for all
            scheduling.schedule(now=NOON)
    Workload.objects.all().delete()
    with django_assert_num_queries(1):
        assert scheduling.schedule(now=NOON) == 0


def test_freed_chips_go_to_who_waits(db):
    host = a_host(chips=1)
    running, waiting = steps.running(host), a_workload()
    scheduling.schedule(now=after(1))
    assert reason(waiting)[1] == "chips-busy"
    steps.says(running, now=after(2), **steps.EXITED_WELL)
    scheduling.schedule(now=after(3))
    assert chips_of(host) == [waiting.pk]
    assert steps.leases(running) == [(1, 0, 2)]


def test_an_uncordoned_host_is_in_the_next_pass():
    operator, host = Actor(user=a_user(is_superuser=True)), a_host(state=HostState.CORDONED)
    a_workload()
    assert scheduling.schedule(now=NOON) == 0
    hosts.uncordon(host=host, by=operator, now=NOON)
    assert scheduling.schedule(now=NOON) == 1


def test_a_request_that_cannot_be_read_keeps_no_other_waiting():
    host = a_host(chips=1)
    broken, sound = a_workload(now=NOON), a_workload(now=NOON)
    Workload.objects.filter(pk=broken.pk).update(request_json={"chips": "many"})
    assert scheduling.schedule(now=NOON) == 1
    assert (steps.state(broken)[0], steps.state(sound)[0], Chip.objects.filter(host=host, workload=None).count()) == (
        "waiting",
        "ordered",
        0,
    )
