"""Logs and metrics of old work go; whatever lives or is young stays, and jobs keep what became of them."""

from __future__ import annotations

import pytest
from django.core.files.storage import storages

from clusters import retention
from clusters.models import Order, Workload
from monitoring import logs, metrics, segments
from monitoring.metric_chunks import CHUNK_POINTS, Columns
from monitoring.models import Log, LogPiece, LogSegment, MetricChunk, MetricSeries
from tests.clusters import steps
from tests.clusters.steps import after
from tests.factories import NOON, a_host

pytestmark = pytest.mark.django_db
DAY = 86_400
POINTS = Columns([1, 2], [1000, 2000], [0.5, 0.25])


@pytest.fixture(autouse=True)
def _kept(settings):
    settings.LOG_KEEP_DAYS, settings.METRIC_KEEP_DAYS, settings.SAMPLES_KEEP_DAYS = 10, 20, 5


@pytest.fixture
def host(db):
    return a_host(chips=8)


def printed(workload, *, at=0.0, seal=True):
    """A workload with a log, sealed or not, and a metric."""
    log = logs.open_log(subject=workload.subject, workload_id=workload.pk, rank=0, part="output")
    logs.append(log, offset=0, data=b"hello\n", now=after(at))
    if seal:
        logs.finish(log, 6)
        segments.seal(log.pk)
    metrics.append(workload.subject, {"loss": POINTS}, workload_id=workload.pk, rank=0)
    return workload


def ended(host, *, at=0.0, **more):
    workload = printed(steps.running(host), at=at, **more)
    steps.says(workload, now=after(at), **steps.EXITED_WELL)
    return workload


def kept():
    """Workloads that still have a log, and those that still have metrics."""
    return set(Log.objects.values_list("workload_id", flat=True)), set(MetricSeries.objects.values_list("workload_id", flat=True))


def objects():
    storage = storages["logs"]
    return [name for workload in storage.listdir("")[0] for name in storage.listdir(f"{workload}/0/output")[1]]


def forgotten(seconds) -> dict[str, int]:
    """Of each kind how many have gone, where any has."""
    return {kind: count for kind, count in retention.forget_old(now=after(seconds)).items() if count}


def test_what_ended_long_ago_goes_logs_before_metrics(host):
    sealed, unsealed = ended(host), ended(host, seal=False)
    young = ended(host, at=5 * DAY)
    assert forgotten(10 * DAY) == {}
    assert forgotten(10 * DAY + 1) == {"logs": 2}
    assert kept() == ({young.pk}, {sealed.pk, unsealed.pk, young.pk})
    assert (LogPiece.objects.count(), LogSegment.objects.count(), len(objects())) == (0, 1, 1)
    assert forgotten(20 * DAY + 1) == {"logs": 1, "series": 2}
    assert kept() == (set(), {young.pk})
    assert Workload.objects.filter(outcome="succeeded").count() == 3


def test_what_runs_keeps_its_log_however_long_it_is_quiet(host):
    running = printed(steps.running(host))
    assert forgotten(1000 * DAY) == {"orders": 1}  # of its start, which it has followed
    assert kept() == ({running.pk}, {running.pk})


def test_a_lost_workload_of_which_something_may_be_left_keeps_its_log(host):
    workload = printed(steps.running(host))
    Workload.objects.filter(pk=workload.pk).update(state="lost", ended_at=NOON)
    assert retention.forget_old(now=after(1000 * DAY))["logs"] == 0


def test_an_order_that_is_open_stays_however_old_it_is(host):
    steps.claimed(host)
    waiting = steps.ordered(host)
    forgotten(1000 * DAY)
    assert Order.objects.get().workload_id == waiting.pk


def test_zero_keeps_for_ever(host, settings):
    settings.LOG_KEEP_DAYS = settings.METRIC_KEEP_DAYS = settings.SAMPLES_KEEP_DAYS = 0
    workload = ended(host)
    retention.forget_old(now=after(1000 * DAY))
    assert kept() == ({workload.pk}, {workload.pk})


def test_samples_of_hosts_go_by_whole_chunks(host):
    at = [int(after(second).timestamp() * 1000) for second in range(CHUNK_POINTS + 10)]
    metrics.append(host.subject, {"cpu/used_percent": Columns(at, at, [1.0] * len(at))})
    assert MetricChunk.objects.count() == 2
    assert retention.forget_old(now=after(5 * DAY))["chunks"] == 0
    assert retention.forget_old(now=after(6 * DAY))["chunks"] == 1
    assert MetricChunk.objects.get().is_open
    (line,) = metrics.read(host.subject, "cpu/used_percent", by="wall")
    assert sum(bucket.count for bucket in line.buckets) == 10
