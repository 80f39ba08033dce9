"""Sends orders that are due to their hosts' Celery queues; after commit, from the scheduler loop only.

An order that is lost on the way is the sweep's business: Redis may be wiped at any time.
"""

from __future__ import annotations

import logging
from datetime import datetime

import redis
from celery import current_app
from django.db import transaction
from django.db.models import F
from kombu import Queue

from agent import protocol
from clusters.models import Order
from clusters.models.orders import OrderKind
from clusters.states import HostState

logger = logging.getLogger(__name__)
BATCH = 500  # orders a tick


def dispatch(*, now: datetime) -> int:
    """Publish every order whose `sent_at` is null, oldest first; returns how many went out.

    Stops at the first failure until the next tick: a broker that is away would hold up each of them.
    """
    due = Order.objects.open().filter(sent_at=None).exclude(host__state=HostState.RETIRED).order_by("created_at", "pk")[:BATCH]
    sent: list[Order] = []
    for order in due:
        try:
            publish(order)
        except redis.exceptions.ResponseError as error:  # of this host's list alone: the inbox mends it
            logger.warning("order not taken order=%s host=%s error=%r", order.pk, order.host_id, error)
            continue
        except Exception as error:  # kombu raises what its transports raise
            logger.warning("order not sent order=%s host=%s error=%r", order.pk, order.host_id, error)
            break
        sent.append(order)
    _note_sent(sent, now=now)
    return len(sent)


def _note_sent(sent: list[Order], *, now: datetime) -> None:
    """In one go; what was changed while it was on its way (a stop with less grace) stays to be sent."""
    starts = [order.pk for order in sent if order.kind == OrderKind.START]
    changes = {"sent_at": now, "sent_times": F("sent_times") + 1}
    with transaction.atomic():
        if starts:
            Order.objects.filter(pk__in=starts, sent_at=None).update(**changes)
        for order in sent:
            if order.kind != OrderKind.START:
                Order.objects.filter(pk=order.pk, sent_at=None, data=order.data).update(**changes)


def publish(order: Order) -> None:
    """One Celery message straight onto the host's list: ids and a grace, no spec and no secret."""
    current_app.send_task(
        protocol.ORDER_TASK,
        args=[order.pk, order.kind, str(order.workload_id), order.data],
        queue=Queue(protocol.orders_key(str(order.host_id)), no_declare=True),  # an object, else Celery wants it configured
        declare=[],
        retry=False,
        ignore_result=True,
    )
