from __future__ import annotations

from django.db import models

from agent import protocol
from clusters.models.hosts import Host


class OrderKind(models.TextChoices):
    START = protocol.ORDER_START
    STOP = protocol.ORDER_STOP
    FETCH_FILE = protocol.ORDER_FETCH_FILE


class OrderQuerySet(models.QuerySet["Order"]):
    def open(self) -> OrderQuerySet:
        return self.filter(confirmed_at=None)


class Order(models.Model):
    """What a host is told to do: the outbox. Sent by clusters/dispatch.py, again by clusters/sweep.py.

    Confirmed by its effect: a start by the claim, a stop by the report that ends the rank, a fetch by its first piece.
    """

    host = models.ForeignKey(Host, on_delete=models.CASCADE, related_name="orders")
    kind = models.CharField(max_length=20, choices=OrderKind.choices)
    workload_id = models.UUIDField()  # no foreign key: a host may know a workload that this database does not
    target = models.CharField(max_length=40, blank=True, default="")  # of several of a kind and workload: which fetch
    data = models.JSONField(default=dict)  # agent/protocol.py says what each kind carries
    created_at = models.DateTimeField()
    sent_at = models.DateTimeField(null=True)  # null: to be sent now
    sent_times = models.PositiveIntegerField(default=0)
    confirmed_at = models.DateTimeField(null=True)

    objects = OrderQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["host", "kind", "workload_id", "target"],
                condition=models.Q(confirmed_at=None),
                name="order_once_while_open",
            )
        ]
        indexes = [models.Index(fields=["created_at"], condition=models.Q(confirmed_at=None), name="order_open")]
