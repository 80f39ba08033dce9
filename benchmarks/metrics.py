"""100,000 points of 10 names: from a JSON-lines file to stored chunks (host and panel timed apart), and out again as buckets;
a million points of one name, whole and zoomed; and a page and a search of 10,000 names.

    python -m benchmarks.metrics

Prints JSON. The baseline of the same run writes the same numbers as rows of three columns into a plain SQLite table.
"""

from __future__ import annotations

import json
import math
import os
import sqlite3
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

NAMES = [f"metric/{i}" for i in range(10)]
STEPS = 10_000
BUCKETS = 1000
MANY_POINTS = 1_000_000


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.environ["PANEL_VAR"] = folder
        os.environ["DJANGO_SETTINGS_MODULE"] = "controlpanel.settings"
        os.environ["REDIS_URL"] = "redis://127.0.0.1:1/0"  # nobody watches
        import django

        django.setup()
        from django.core.management import call_command

        call_command("migrate", verbosity=0)
        figures = measure(Path(folder))
    print(json.dumps(figures, indent=2))


def measure(folder: Path) -> dict[str, float]:
    from agent.folders import WorkloadFolder
    from agent.meter import Meter
    from agent.protocol import PointsLine
    from monitoring import metrics, subjects
    from monitoring.metric_chunks import Columns
    from monitoring.models import MetricChunk

    place = WorkloadFolder(folder / str(uuid4()))
    place.path.mkdir()
    place.make_rank_folder()
    with place.metrics_file.open("w") as file:
        for step in range(STEPS):
            file.write(
                json.dumps({"step": step, "time": 1.7e9 + step * 0.05} | {n: noisy(i, step) for i, n in enumerate(NAMES)}) + "\n"
            )
    points = STEPS * len(NAMES)

    began = time.perf_counter()
    meter = Meter(place, folder / "output")
    while meter.read(is_last=True):
        pass
    host_s = time.perf_counter() - began

    lines = meter.points_path.read_bytes().splitlines()
    subject = subjects.ensure(kind="job", key="1", title="benchmark")
    began = time.perf_counter()
    series: dict[str, tuple[list[int], list[int], list[float]]] = {}
    for line in lines:
        for name, columns in PointsLine.from_line(line).series.items():
            known = series.setdefault(name, ([], [], []))
            for mine, new in zip(known, columns, strict=True):
                mine.extend(new)  # type: ignore[arg-type]
    metrics.append(subject, {name: Columns(*columns) for name, columns in series.items()}, workload_id=uuid4())
    panel_s = time.perf_counter() - began

    stored = sum(len(chunk.data) for chunk in MetricChunk.objects.all())
    began = time.perf_counter()
    (found,) = metrics.read(subject, NAMES[0], buckets=BUCKETS)
    out_s = time.perf_counter() - began
    raw_s = baseline(folder / "plain.sqlite3")
    long, many = long_series(), many_names()
    return {
        "points": points,
        "host_points_a_second": round(points / host_s),
        "store_points_a_second": round(points / panel_s),
        "bytes_a_point": round(stored / points, 1),
        "out_buckets": len(found.buckets),
        "out_ms": round(out_s * 1000, 1),
        **long,
        **many,
        "plain_rows_a_second": round(points / raw_s),
        "ratio_store_to_plain_rows": round(raw_s / panel_s, 2),
    }


def long_series() -> dict[str, float]:
    """Milliseconds for the buckets of a million points, and of a thousandth of them."""
    from monitoring import metrics, subjects
    from monitoring.metric_chunks import Columns

    subject = subjects.ensure(kind="job", key="2", title="benchmark")
    steps, workload_id = range(MANY_POINTS), uuid4()
    metrics.append(subject, {"loss": Columns(steps, steps, [noisy(0, step) for step in steps])}, workload_id=workload_id)
    asked = {
        "million_points_ms": {},
        "million_points_log_ms": {"is_log": True},
        "million_points_relative_ms": {"by": "relative"},
        "million_points_zoomed_ms": {"start": MANY_POINTS // 2, "end": MANY_POINTS // 2 + MANY_POINTS // 1000},
    }
    return {
        name: milliseconds(lambda how=how: metrics.read(subject, "loss", buckets=BUCKETS, **how)) for name, how in asked.items()
    }


def many_names() -> dict[str, float]:
    from monitoring import metric_charts, subjects
    from monitoring.models import MetricSeries

    subject = subjects.ensure(kind="job", key="3", title="benchmark")
    workload_id = uuid4()
    rows = [MetricSeries(subject=subject, workload_id=workload_id, name=f"layer_{n}/norm_{n}") for n in range(10_000)]
    MetricSeries.objects.bulk_create(rows)
    return {
        "page_of_10000_names_ms": milliseconds(lambda: metric_charts.find(subject, {})),
        "search_of_10000_names_ms": milliseconds(lambda: metric_charts.find(subject, {"q": "layer 777"})),
    }


def milliseconds(do: Callable[[], object]) -> float:
    """The least of three times."""
    times = []
    for _ in range(3):
        began = time.perf_counter()
        do()
        times.append(time.perf_counter() - began)
    return round(min(times) * 1000, 1)


def baseline(path: Path) -> float:
    """Seconds that plain rows take."""
    database = sqlite3.connect(path)
    database.execute("PRAGMA journal_mode=WAL")
    database.execute("CREATE TABLE points (name TEXT, step INTEGER, wall INTEGER, value REAL)")
    rows = [(name, step, step * 50, noisy(i, step)) for i, name in enumerate(NAMES) for step in range(STEPS)]
    began = time.perf_counter()
    with database:
        database.executemany("INSERT INTO points VALUES (?, ?, ?, ?)", rows)
    return time.perf_counter() - began


def noisy(number: int, step: int) -> float:
    return math.exp(-step / 3000) + math.sin(step * (number + 1) * 12.9898) * 0.05


if __name__ == "__main__":
    main()
