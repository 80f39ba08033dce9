import uuid

import pytest

from clusters import orders
from clusters.models import Order
from tests.clusters.steps import after, open_orders
from tests.factories import NOON, a_host

pytestmark = pytest.mark.django_db
WORKLOAD = uuid.UUID(int=17)


def test_a_start_names_its_rank():
    host = a_host()
    orders.start(host.pk, WORKLOAD, rank=3, now=NOON)
    order = Order.objects.get()
    assert (order.host, order.kind, order.workload_id, order.data) == (host, "start", WORKLOAD, {"rank": 3})
    assert (order.created_at, order.sent_at, order.sent_times, order.confirmed_at) == (NOON, None, 0, None)


def test_of_an_open_stop_the_smaller_grace_wins_and_is_sent_again():
    host = a_host()
    orders.stop(host.pk, WORKLOAD, grace_s=30, now=NOON)
    Order.objects.update(sent_at=after(1), sent_times=1)
    for grace_s in (30, 40):
        orders.stop(host.pk, WORKLOAD, grace_s=grace_s, now=after(2))
        assert Order.objects.values_list("data", "sent_at").get() == ({"grace_s": 30}, after(1))
    orders.stop(host.pk, WORKLOAD, grace_s=0, now=after(3))
    order = Order.objects.get()
    assert (order.data, order.sent_at, order.sent_times, order.created_at) == ({"grace_s": 0}, None, 1, NOON)


def test_a_stop_that_was_confirmed_may_be_ordered_anew():
    host = a_host()
    orders.stop(host.pk, WORKLOAD, grace_s=0, now=NOON)
    orders.confirm(host.pk, WORKLOAD, now=after(1))
    orders.stop(host.pk, WORKLOAD, grace_s=30, now=after(2))
    assert list(Order.objects.order_by("pk").values_list("data", "confirmed_at")) == [
        ({"grace_s": 0}, after(1)),
        ({"grace_s": 30}, None),
    ]


def test_a_confirmation_is_of_one_host_one_workload_and_perhaps_one_kind():
    host, other = a_host(), a_host()
    for one in (host, other):
        for workload in (WORKLOAD, uuid.UUID(int=18)):
            orders.start(one.pk, workload, rank=0, now=NOON)
            orders.stop(one.pk, workload, grace_s=1, now=NOON)
    orders.confirm(host.pk, WORKLOAD, now=after(1), kind="start")
    assert Order.objects.get(confirmed_at=after(1)).kind == "start"
    orders.confirm(host.pk, WORKLOAD, now=after(2))
    confirmed = Order.objects.exclude(confirmed_at=None).order_by("pk")
    assert list(confirmed.values_list("host", "workload_id", "kind", "confirmed_at")) == [
        (host.pk, WORKLOAD, "start", after(1)),
        (host.pk, WORKLOAD, "stop", after(2)),
    ]
    assert (len(open_orders(host)), len(open_orders(other))) == (2, 4)


def test_several_files_of_one_workload_may_be_wanted_and_outlast_its_end():
    host = a_host()
    place = {"files_root": "/files", "folder": "vit/17/1", "path": "model.bin"}
    for fetch_id in (17, 18):
        orders.fetch(host.pk, WORKLOAD, fetch_id=fetch_id, now=NOON, **place)
    orders.stop(host.pk, WORKLOAD, grace_s=0, now=NOON)
    orders.confirm(host.pk, WORKLOAD, now=after(1))
    assert open_orders(host) == [("fetch-file", {"fetch": 17} | place), ("fetch-file", {"fetch": 18} | place)]
    orders.confirm_fetch(17, now=after(2))
    assert [data["fetch"] for _kind, data in open_orders(host)] == [18]
