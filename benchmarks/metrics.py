"""100,000 points of 10 names: from a JSON-lines file to stored chunks (host and panel timed apart), and out again as buckets.

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
from pathlib import Path
from uuid import uuid4

NAMES = [f"metric/{i}" for i in range(10)]
STEPS = 10_000
BUCKETS = 1000


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
    return {
        "points": points,
        "host_points_a_second": round(points / host_s),
        "store_points_a_second": round(points / panel_s),
        "bytes_a_point": round(stored / points, 1),
        "out_buckets": len(found.buckets),
        "out_ms": round(out_s * 1000, 1),
        "plain_rows_a_second": round(points / raw_s),
        "ratio_store_to_plain_rows": round(raw_s / panel_s, 2),
    }


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
