"""What is stored of old work goes: in short transactions, so that nobody waits for it, and so that the disk gets it back."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connection, transaction
from django.db.models import QuerySet

from monitoring import objects
from monitoring.models import NO_WORKLOAD, Log, LogPiece, LogSegment, MetricChunk, MetricSeries

logger = logging.getLogger(__name__)
ROWS_A_COMMIT = 500
LOOKED_AT = 1000  # rows of each index, so that it takes no longer with many
FREED_PAGES = 2000  # given back by SQLite at a time


def forget_log(log_id: int) -> None:
    """All of one log: pieces in short transactions, then its row, then its objects. Safe twice.

    A crash in between leaves objects without a row, which segments.sweep_objects finds.
    """
    names = list(LogSegment.objects.filter(log_id=log_id).values_list("name", flat=True))
    delete_by_parts(LogPiece.objects.filter(log_id=log_id))
    with transaction.atomic():
        Log.objects.filter(pk=log_id).delete()
    for name in names:
        objects.delete(name)


def logs_of(workload_ids: Iterable[UUID]) -> list[int]:
    return list(Log.objects.filter(workload_id__in=list(workload_ids)).order_by("pk").values_list("pk", flat=True))


def workloads_with_logs(stored_before: datetime) -> list[UUID]:
    """Those whose logs have had no new byte since then; whether they have ended is for others to say."""
    rows = Log.objects.exclude(last_at__gte=stored_before).order_by("workload_id")
    return list(rows.values_list("workload_id", flat=True).distinct())


def workloads_with_metrics() -> list[UUID]:
    rows = MetricSeries.objects.exclude(workload_id=NO_WORKLOAD).order_by("workload_id")
    return list(rows.values_list("workload_id", flat=True).distinct())


def forget_metrics(workload_id: UUID) -> int:
    """All series of one workload; returns how many."""
    series = list(MetricSeries.objects.filter(workload_id=workload_id).values_list("pk", flat=True))
    for pk in series:
        delete_by_parts(MetricChunk.objects.filter(series_id=pk))
        with transaction.atomic():
            MetricSeries.objects.filter(pk=pk).delete()
    return len(series)


def forget_samples(before: datetime) -> int:
    """Points of hosts that are older: whole chunks, the open one stays. Returns how many chunks went."""
    old = MetricChunk.objects.filter(
        series__workload_id=NO_WORKLOAD, is_open=False, greatest_ms__lt=int(before.timestamp() * 1000)
    )
    return delete_by_parts(old)


def give_back() -> None:
    """SQLite keeps freed pages for itself until it is told (auto_vacuum=INCREMENTAL); PostgreSQL has its own vacuum."""
    if connection.vendor != "sqlite":
        return
    with connection.cursor() as cursor:
        while True:
            free = cursor.execute("PRAGMA freelist_count").fetchone()[0]
            if not free:
                return
            cursor.execute(f"PRAGMA incremental_vacuum({FREED_PAGES})").fetchall()
            if cursor.execute("PRAGMA freelist_count").fetchone()[0] >= free:  # the file was made without auto_vacuum
                return


def count_anew() -> None:
    """SQLite's planner knows how many rows a condition leaves from when it was last told to look; PostgreSQL looks by itself."""
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.execute(f"PRAGMA analysis_limit={LOOKED_AT}")
            cursor.execute("ANALYZE")


def delete_by_parts(rows: QuerySet[Any]) -> int:
    """At most ROWS_A_COMMIT a transaction; returns how many."""
    count = 0
    while ids := list(rows.order_by("pk").values_list("pk", flat=True)[:ROWS_A_COMMIT]):
        with transaction.atomic():
            rows.model.objects.filter(pk__in=ids).delete()
        count += len(ids)
    return count
