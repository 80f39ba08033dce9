from __future__ import annotations

import uuid

import pytest
from django.db import IntegrityError, connection
from django.test.utils import CaptureQueriesContext

from monitoring import metrics
from monitoring.metric_chunks import CHUNK_POINTS, Columns
from monitoring.models import NO_WORKLOAD, MetricChunk, MetricSeries

FIRST, SECOND = uuid.UUID(int=1), uuid.UUID(int=2)


def points(count: int, start: int = 0) -> Columns:
    steps = list(range(start, start + count))
    return Columns(steps, [1000 * step for step in steps], [float(step) for step in steps])


def test_points_come_out_as_they_went_in(world):
    metrics.append(world.subject, {"loss": points(3)}, workload_id=FIRST)
    metrics.append(world.subject, {"loss": points(2, 3)}, workload_id=FIRST)
    (line,) = metrics.read(world.subject, "loss")
    assert (line.workload_id, line.rank) == (FIRST, 0)
    assert [(bucket.x, bucket.last) for bucket in line.buckets] == [(step, float(step)) for step in range(5)]
    (row,) = metrics.page(world.subject, limit=9)
    assert (row.head, row.last_step, row.last_ms, row.last_value) == (5, 4, 4000, 4.0)


@pytest.mark.parametrize("batch", [1, 97, 1000, CHUNK_POINTS, 10_000])
def test_chunks_are_full_but_for_the_last(world, batch):
    total = 10_000 if batch > 1 else 50
    for start in range(0, total, batch):
        metrics.append(world.subject, {"loss": points(min(batch, total - start), start)}, workload_id=FIRST)
    rows = list(MetricChunk.objects.order_by("start").values_list("start", "count", "is_open"))
    expected = [
        (start, min(CHUNK_POINTS, total - start), total - start < CHUNK_POINTS) for start in range(0, total, CHUNK_POINTS)
    ]
    assert rows == expected
    (line,) = metrics.read(world.subject, "loss", buckets=total)
    assert [bucket.last for bucket in line.buckets] == [float(step) for step in range(total)]


def test_each_attempt_and_rank_draws_its_own_line(world):
    metrics.append(world.subject, {"loss": points(2)}, workload_id=FIRST)
    metrics.append(world.subject, {"loss": points(3)}, workload_id=SECOND)
    metrics.append(world.subject, {"loss": points(4)}, workload_id=SECOND, rank=1)
    assert [(line.workload_id, line.rank, len(line.buckets)) for line in metrics.read(world.subject, "loss")] == [
        (FIRST, 0, 2),
        (SECOND, 0, 3),
        (SECOND, 1, 4),
    ]
    assert metrics.heads(world.subject) == {"loss": 9}


def test_a_range_reads_the_chunks_that_it_needs(world, django_assert_num_queries):
    metrics.append(world.subject, {"loss": points(20_000)}, workload_id=FIRST)
    with django_assert_num_queries(2):
        (line,) = metrics.read(world.subject, "loss", start=9_000, end=9_009)
    assert [bucket.x for bucket in line.buckets] == list(range(9_000, 9_010))


def test_nan_is_stored_and_no_last_value(world):
    metrics.append(world.subject, {"loss": Columns([0], [0], [float("nan")])}, workload_id=FIRST)
    (line,) = metrics.read(world.subject, "loss")
    assert (line.buckets[0].nan_count, line.buckets[0].last) == (1, None)
    assert metrics.page(world.subject, limit=9)[0].last_value is None


def test_names_that_are_none_and_too_many_names_are_left_out(world, monkeypatch):
    monkeypatch.setattr(metrics, "MAX_SERIES", 2)
    metrics.append(
        world.subject, {"b": points(1), "a": points(1), "c": points(1), "": points(1), "x" * 201: points(1)}, workload_id=FIRST
    )
    assert [row.name for row in metrics.page(world.subject, limit=9)] == ["a", "b"]


def test_a_page_of_series_goes_on_behind_any_of_them_and_reads_no_further(world):
    for workload_id, rank in ((FIRST, 0), (FIRST, 1), (SECOND, 0)):
        metrics.append(world.subject, {name: points(1) for name in "abc"}, workload_id=workload_id, rank=rank)
    places = [(row.name, str(row.workload_id), row.rank) for row in metrics.page(world.subject, limit=20)]
    assert places == sorted(places) and len(places) == 9
    for number, place in enumerate(places):
        behind = metrics.page(world.subject, after=place, limit=2)
        assert [(row.name, str(row.workload_id), row.rank) for row in behind] == places[number + 1 : number + 3]
    with CaptureQueriesContext(connection) as queries:
        metrics.page(world.subject, after=places[3], limit=2)
    (sql,) = [query["sql"] for query in queries]
    assert sql.endswith("LIMIT 2")
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.execute("EXPLAIN QUERY PLAN " + sql)
            assert [step[-1] for step in cursor.fetchall()] == [
                "SEARCH monitoring_metricseries USING INDEX series_by_name (subject_id=? AND name>?)"
            ]


def test_a_series_stands_once_and_a_chunk_at_its_place(world):
    metrics.append(world.subject, {"loss": points(1)})
    row = MetricSeries.objects.get()
    assert row.workload_id == NO_WORKLOAD
    with pytest.raises(IntegrityError, match="series_once_a_rank|UNIQUE"):
        MetricSeries.objects.create(subject=world.subject, name="loss")


@pytest.mark.parametrize(
    "change", [{"start": 0, "is_open": False}, {"start": 9, "is_open": True}, {"start": 9, "is_open": False, "count": 0}]
)
def test_chunks_neither_overlap_nor_are_two_open_nor_empty(world, change):
    metrics.append(world.subject, {"loss": points(1)})
    chunk = MetricChunk.objects.get()
    chunk.pk = None
    for name, value in change.items():
        setattr(chunk, name, value)
    with pytest.raises(IntegrityError):
        chunk.save(force_insert=True)


@pytest.mark.parametrize("change", [{"rank": -1}, {"head": -1}])
def test_a_series_has_no_negative_numbers(world, change):
    with pytest.raises(IntegrityError):
        MetricSeries.objects.create(subject=world.subject, name="loss", **change)
