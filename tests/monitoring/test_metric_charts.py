"""Which names share a chart, in which order charts come, and a page of them."""

from __future__ import annotations

from uuid import UUID

import pytest

from monitoring import metric_charts, metrics
from monitoring.metric_charts import Chart, Name, grouped
from monitoring.metric_chunks import Columns
from monitoring.models import MetricSeries
from projects.errors import Invalid

FIRST, SECOND = UUID(int=1), UUID(int=2)
POINT = Columns([1], [1000], [0.5])


def titles(found) -> list[str]:
    return [chart.title for chart in found.charts]


def test_loss_comes_first_runs_share_a_chart_and_the_systems_come_last():
    assert grouped(["system.cpu_percent", "train/accuracy", "lr", "train/loss", "val_loss"]) == [
        Chart("loss", False, [Name("train/loss", "train"), Name("val_loss", "validation")]),
        Chart("accuracy", False, [Name("train/accuracy", "train")]),
        Chart("lr", False, [Name("lr", "")]),
        Chart("system.cpu_percent", True, [Name("system.cpu_percent", "")]),
    ]


def test_a_hosts_samples_of_one_thing_share_a_chart():
    names = ["host.network_sent_bytes_per_s", "host.memory_used_bytes", "host.memory_total_bytes", "host.cpu_percent"]
    assert [(chart.title, [one.line for one in chart.names]) for chart in grouped(names)] == [
        ("host.cpu_percent", [""]),
        ("host.memory_bytes", ["total", "used"]),
        ("host.network_bytes_per_s", ["sent"]),
    ]


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("a/b/val_loss", ("loss", "a/b validation")),
        ("val_", ("val_", "")),
        ("/", ("", "")),
        ("x\nloss", ("x\nloss", "")),
    ],
)
def test_odd_names_have_their_chart(name, parts):
    assert metric_charts.parts(name) == parts
    assert grouped([name])[0].names[0].name == name


def test_pages_go_on_where_the_one_before_ended(world):
    metrics.append(world.subject, dict.fromkeys(("b", "a", "loss", "progress/step", "system.processes"), POINT))
    first = metric_charts.find(world.subject, {"limit": "2"})
    assert (titles(first), first.count, first.last_ms) == (["loss", "a"], 4, 1000)
    metrics.append(world.subject, {"accuracy": POINT, "aa": POINT})  # the one comes before, the other behind
    second = metric_charts.find(world.subject, {"limit": "2", "cursor": str(first.cursor)})
    assert titles(second) == ["aa", "b"]
    third = metric_charts.find(world.subject, {"limit": "2", "cursor": str(second.cursor)})
    assert (titles(third), third.cursor) == (["system.processes"], None)


def test_a_search_wants_each_of_its_words_in_the_name(world):
    metrics.append(world.subject, dict.fromkeys(("train/layer_1/norm", "val/layer_1/norm", "train/loss"), POINT))
    found = metric_charts.find(world.subject, {"q": " LAYER  train "})
    assert [(chart.title, [one.name for one in chart.names]) for chart in found.charts] == [("norm", ["train/layer_1/norm"])]
    assert (metric_charts.find(world.subject, {"q": "%"}).count, metric_charts.find(world.subject, {"q": ""}).count) == (0, 2)


@pytest.mark.parametrize("query", [{"q": "x" * 201}, {"limit": "many"}, {"cursor": "made-up"}])
def test_a_wrong_question_is_named(world, query):
    with pytest.raises(Invalid) as error:
        metric_charts.find(world.subject, query)
    assert set(error.value.fields) == set(query)


def test_a_cursor_is_of_its_search_alone(world):
    metrics.append(world.subject, {"a": POINT, "b": POINT})
    cursor = str(metric_charts.find(world.subject, {"limit": "1"}).cursor)
    with pytest.raises(Invalid):
        metric_charts.find(world.subject, {"limit": "1", "cursor": cursor, "q": "a"})


def test_it_says_who_has_measured_and_takes_two_queries_with_ten_thousand_names(world, django_assert_num_queries):
    rows = [MetricSeries(subject=world.subject, name=f"layer_{n}/norm_{n}", workload_id=FIRST, last_ms=n) for n in range(9_999)]
    MetricSeries.objects.bulk_create([*rows, MetricSeries(subject=world.subject, name="loss", workload_id=SECOND)])
    with django_assert_num_queries(2):
        found = metric_charts.find(world.subject, {})
    assert (found.count, len(found.charts), found.workload_ids, found.last_ms) == (10_000, 50, {FIRST, SECOND}, 9_998)
    assert titles(found)[0] == "loss"
