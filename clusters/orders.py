"""Orders to hosts: written in the transaction that wants them, sent later by dispatch, confirmed by their effect."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from clusters.models import Order
from clusters.models.orders import OrderKind


def start(host_id: UUID, workload_id: UUID, *, rank: int, now: datetime) -> None:
    Order.objects.create(host_id=host_id, kind=OrderKind.START, workload_id=workload_id, data={"rank": rank}, created_at=now)


def stop(host_id: UUID, workload_id: UUID, *, grace_s: int, now: datetime) -> None:
    """Of an open stop the smaller grace stays; a smaller one is sent again."""
    order, made = Order.objects.get_or_create(
        host_id=host_id,
        kind=OrderKind.STOP,
        workload_id=workload_id,
        confirmed_at=None,
        defaults={"created_at": now, "data": {"grace_s": grace_s}},
    )
    if not made and grace_s < order.data["grace_s"]:
        order.data, order.sent_at = {"grace_s": grace_s}, None
        order.save(update_fields=["data", "sent_at"])


def fetch(host_id: UUID, workload_id: UUID, *, fetch_id: int, now: datetime, **place: str) -> None:
    """`place` says which file (protocol.ORDER_FETCH_FILE)."""
    Order.objects.create(
        host_id=host_id,
        kind=OrderKind.FETCH_FILE,
        workload_id=workload_id,
        target=str(fetch_id),
        data={"fetch": fetch_id} | place,
        created_at=now,
    )


def confirm(host_id: UUID, workload_id: UUID, *, now: datetime, kind: str | None = None) -> None:
    """The order's effect was seen. Without a kind: all that concern the rank itself; its files may be asked for until later."""
    found = Order.objects.open().filter(host_id=host_id, workload_id=workload_id)
    found = found.exclude(kind=OrderKind.FETCH_FILE) if kind is None else found.filter(kind=kind)
    found.update(confirmed_at=now)


def confirm_fetch(fetch_id: int, *, now: datetime) -> None:
    """Its host has begun, or nobody waits for it any more."""
    Order.objects.open().filter(kind=OrderKind.FETCH_FILE, target=str(fetch_id)).update(confirmed_at=now)
