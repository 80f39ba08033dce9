from __future__ import annotations

import base64
import json
import time
import uuid

import pytest
from celery import Celery, current_app

from clusters import dispatch, orders
from clusters.models import Order
from clusters.states import HostState
from controlpanel.celery import app as panel
from tests.clusters.steps import after
from tests.factories import NOON, a_host

pytestmark = pytest.mark.django_db
WORKLOAD = uuid.UUID(int=17)


@pytest.fixture
def broker_at():
    """broker_at(url): publish as the panel does, but there."""
    before, made = current_app._get_current_object(), []

    def use(url: str) -> None:
        app = Celery("tests", broker=url, set_as_current=True)
        app.conf.broker_transport_options = panel.conf.broker_transport_options
        made.append(app)

    yield use
    before.set_current()
    for app in made:
        app.close()


def messages(valkey, host):
    """What lies in the host's list, oldest first: (headers, args)."""
    found = [json.loads(text) for text in valkey.client().lrange(f"host:{host.pk}:orders", 0, -1)][::-1]
    bodies = [json.loads(_decoded(message)) for message in found]
    return [(message["headers"], body[0]) for message, body in zip(found, bodies, strict=True)]


def _decoded(message):
    return base64.b64decode(message["body"]) if message["properties"]["body_encoding"] == "base64" else message["body"]


def test_an_order_lies_in_its_hosts_list_as_a_task_with_ids_only(valkey, broker_at):
    broker_at(valkey.url)
    host, other = a_host(), a_host()
    orders.start(host.pk, WORKLOAD, rank=2, now=NOON)
    orders.stop(host.pk, WORKLOAD, grace_s=5, now=after(1))
    assert dispatch.dispatch(now=after(3)) == 2
    start, stop = Order.objects.order_by("pk")
    found = messages(valkey, host)
    assert [headers["task"] for headers, _ in found] == ["agent.worker.take_order"] * 2
    assert [args for _, args in found] == [
        [start.pk, "start", str(WORKLOAD), {"rank": 2}],
        [stop.pk, "stop", str(WORKLOAD), {"grace_s": 5}],
    ]
    assert messages(valkey, other) == []
    assert [(order.sent_at, order.sent_times, order.confirmed_at) for order in (start, stop)] == [(after(3), 1, None)] * 2
    assert sorted(valkey.client().keys("*orders*")) == [f"host:{host.pk}:orders".encode()]


def test_what_was_sent_is_not_sent_again_until_it_is_due(valkey, broker_at):
    broker_at(valkey.url)
    host = a_host()
    orders.start(host.pk, WORKLOAD, rank=0, now=NOON)
    assert (dispatch.dispatch(now=NOON), dispatch.dispatch(now=after(1))) == (1, 0)
    Order.objects.update(sent_at=None)  # as the sweep does
    assert dispatch.dispatch(now=after(2)) == 1
    assert Order.objects.values_list("sent_at", "sent_times").get() == (after(2), 2)
    assert len(messages(valkey, host)) == 2


def test_nothing_goes_to_retired_hosts_or_for_what_had_its_effect(valkey, broker_at):
    broker_at(valkey.url)
    retired, host = a_host(state=HostState.RETIRED), a_host()
    for one in (retired, host):
        orders.start(one.pk, WORKLOAD, rank=0, now=NOON)
    orders.confirm(host.pk, WORKLOAD, now=NOON)
    assert dispatch.dispatch(now=after(1)) == 0
    assert valkey.client().keys("host:*") == []


def test_a_broker_that_is_away_leaves_all_orders_to_be_sent_and_costs_no_time(broker_at, caplog):
    broker_at("redis://127.0.0.1:1/0")
    for _ in range(3):
        orders.start(a_host().pk, WORKLOAD, rank=0, now=NOON)
    begun = time.monotonic()
    assert dispatch.dispatch(now=after(1)) == 0
    assert time.monotonic() - begun < 1
    assert list(Order.objects.values_list("sent_at", "sent_times")) == [(None, 0)] * 3
    assert caplog.text.count("order not sent") == 1  # it stops at the first


def test_a_broker_that_comes_back_gets_what_was_left(valkey, broker_at):
    host = a_host()
    orders.start(host.pk, WORKLOAD, rank=0, now=NOON)
    broker_at("redis://127.0.0.1:1/0")
    assert dispatch.dispatch(now=after(1)) == 0
    broker_at(valkey.url)
    assert dispatch.dispatch(now=after(2)) == 1
    assert len(messages(valkey, host)) == 1


def test_a_tick_sends_a_bounded_number_oldest_first(valkey, broker_at, monkeypatch):
    broker_at(valkey.url)
    monkeypatch.setattr(dispatch, "BATCH", 2)
    late, early, middle = a_host(), a_host(), a_host()
    for host, second in ((late, 9), (early, 1), (middle, 5)):
        orders.start(host.pk, WORKLOAD, rank=0, now=after(second))
    assert dispatch.dispatch(now=after(10)) == 2
    assert [len(messages(valkey, host)) for host in (early, middle, late)] == [1, 1, 0]
    assert dispatch.dispatch(now=after(11)) == 1
