"""What old work has left goes: logs, metrics and followed orders, each by its age. What it was and how it ended stays."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

from django.conf import settings

from clusters.models import Order, Rank, Workload
from clusters.states import RankState
from monitoring import retention

logger = logging.getLogger(__name__)
ASKED_AT_ONCE = 500
ORDERS_KEPT = timedelta(days=30)  # nobody asks for one that was followed, but who looks into what went wrong


def forget_old(*, now: datetime) -> dict[str, int]:
    """One look at everything; safe twice, and at any moment. Returns how much of each kind went."""
    gone = {"logs": 0, "series": 0, "chunks": 0, "orders": 0}
    if settings.LOG_KEEP_DAYS:
        before = now - timedelta(days=settings.LOG_KEEP_DAYS)
        for log_id in retention.logs_of(_over(retention.workloads_with_logs(before), before)):
            try:
                retention.forget_log(log_id)
            except OSError:  # the storage's trouble with one: the others go, and it goes tomorrow
                logger.exception("not forgotten log=%d", log_id)
            else:
                gone["logs"] += 1
    if settings.METRIC_KEEP_DAYS:
        before = now - timedelta(days=settings.METRIC_KEEP_DAYS)
        for workload_id in _over(retention.workloads_with_metrics(), before):
            gone["series"] += retention.forget_metrics(workload_id)
    if settings.SAMPLES_KEEP_DAYS:
        gone["chunks"] = retention.forget_samples(now - timedelta(days=settings.SAMPLES_KEEP_DAYS))
    gone["orders"] = retention.delete_by_parts(Order.objects.filter(confirmed_at__lt=now - ORDERS_KEPT))
    retention.give_back()
    retention.count_anew()
    logger.info("forgot old logs=%(logs)d series=%(series)d chunks=%(chunks)d orders=%(orders)d", gone)
    return gone


def _over(workload_ids: Sequence[UUID], before: datetime) -> list[UUID]:
    """Of these the ones that had ended by then, and of which nothing is left on any host: no more will come."""
    found: list[UUID] = []
    for start in range(0, len(workload_ids), ASKED_AT_ONCE):
        asked = workload_ids[start : start + ASKED_AT_ONCE]
        living = Rank.objects.filter(workload_id__in=asked).exclude(state=RankState.ENDED).values("workload_id")
        ended = Workload.objects.filter(pk__in=asked, ended_at__lt=before).exclude(pk__in=living)
        found += ended.values_list("pk", flat=True)
        known = set(Workload.objects.filter(pk__in=asked).values_list("pk", flat=True))
        found += [workload_id for workload_id in asked if workload_id not in known]  # what they were of is gone
    return found
