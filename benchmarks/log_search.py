"""A log of 1 GB: how soon is its end, a line or a moment on the screen, and how fast is it searched and downloaded?

    python -m benchmarks.log_search [--lines 10000000] [--looks 100]

Starts a panel of its own, makes the log directly in its store (benchmarks/large_log.py), and asks over HTTP as a viewer and a
script do. Prints JSON. The baseline of the same run is `grep -c` on the same bytes in one file; what it counts must be what
the panel counts. `unpack_mb_s` is what reading and decompressing all segments takes alone, in one process.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx

from benchmarks import large_log
from benchmarks.launch import spread
from tests.road.world import a_world

SCREEN_BYTES = 256 * 1024  # what the viewer asks for at once (static/js/log_source.js)
QUESTIONS: dict[str, tuple[dict[str, str], list[str]]] = {  # name -> what the panel is asked, what grep is
    "rare_word": ({"q": "needle", "case": "true"}, ["-F", "needle"]),
    "rare_word_any_case": ({"q": "NEEDLE"}, ["-i", "-F", "NEEDLE"]),
    "frequent_word": ({"q": "training", "case": "true"}, ["-F", "training"]),
    "rare_regex": (
        {"q": r"loss 0\.1234\d+, .* 3 s wait$", "mode": "regex", "case": "true"},
        ["-E", r"loss 0\.1234[0-9]+, .* 3 s wait$"],
    ),
    "frequent_regex": ({"q": r"loss 0\.\d+5,", "mode": "regex", "case": "true"}, ["-E", r"loss 0\.[0-9]+5,"]),
    "no_hit": ({"q": "nowhere to be found", "case": "true"}, ["-F", "nowhere to be found"]),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lines", type=int, default=10_000_000)
    parser.add_argument("--looks", type=int, default=100)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, a_world(Path(name)) as world:
        folder = Path(name)
        number = world.launch("true")
        environment = world.environment | {"REDIS_URL": world.redis_url}
        log = large_log.fill(environment, number, options.lines, copy=folder / "copy.log")
        client = httpx.Client(base_url=world.client.base_url, headers=world.client.headers, timeout=120)
        figures = {
            "log": log | {"segment_bytes": large_log.SEGMENT_BYTES},
            "screens_ms": screens(client, f"jobs/{number}/log", log, options.looks),
            "searches": {name: search(client, f"jobs/{number}/log", log, folder / "copy.log", name) for name in QUESTIONS},
            "unpack_mb_s": unpack(environment, number, log),
            "downloads_mb_s": downloads(client, f"jobs/{number}/log", folder / "copy.log"),
        }
    print(json.dumps(figures, indent=2))


def screens(client: httpx.Client, log_path: str, log: dict[str, int], looks: int) -> dict[str, Any]:
    """As the viewer does: the end; and the place of a line, of a moment, or of the next hit, with the bytes around it."""
    chance = random.Random(1)

    def around(query: dict[str, Any]) -> None:
        place = client.get(f"{log_path}/place", params=query).raise_for_status().json()
        show(place["offset"])

    def show(offset: int) -> None:
        window = {"offset": max(0, offset - SCREEN_BYTES // 2), "limit": SCREEN_BYTES}
        answer = client.get(log_path, params=window).raise_for_status()
        assert int(answer.headers["X-Log-Line"]) >= 0 and len(answer.content) > 0

    def moment() -> str:
        return datetime.fromtimestamp(chance.randint(log["first_ms"], log["last_ms"]) / 1000, UTC).isoformat()

    return {
        "end": spread(
            timed(lambda: client.get(log_path, params={"tail": SCREEN_BYTES}).raise_for_status()) for _ in range(looks)
        ),
        "by_line": spread(timed(lambda: around({"line": chance.randrange(log["lines"])})) for _ in range(looks)),
        "by_time": spread(timed(lambda: around({"at": moment()})) for _ in range(looks)),
        "by_offset": spread(timed(lambda: show(chance.randrange(log["bytes"]))) for _ in range(looks)),
    }


def search(client: httpx.Client, log_path: str, log: dict[str, int], copy: Path, name: str) -> dict[str, Any]:
    query, words = QUESTIONS[name]
    path = f"{log_path}/search"

    def count() -> tuple[int, int, float]:
        """(lines, answers, the longest answer's milliseconds)"""
        cursor, answers, longest = "", 0, 0.0
        while True:
            began = time.perf_counter()
            answer = client.get(path, params=query | {"limit": 0, "cursor": cursor}).raise_for_status().json()
            answers, longest = answers + 1, max(longest, (time.perf_counter() - began) * 1000)
            cursor = answer["next_cursor"]
            if not cursor:
                return answer["count"], answers, longest

    newest_ms = timed(lambda: client.get(path, params=query | {"limit": 50, "direction": "backward"}).raise_for_status())
    began = time.perf_counter()
    lines, answers, longest_ms = count()
    took = time.perf_counter() - began
    began = time.perf_counter()
    grep = subprocess.run(
        ["grep", "-c", *words, str(copy)], env={"LC_ALL": "C"} | {"PATH": os.environ["PATH"]}, capture_output=True, check=False
    )
    grep_took = time.perf_counter() - began
    assert int(grep.stdout) == lines, f"{name}: grep counts {grep.stdout.decode()}, the panel {lines}"
    return {
        "lines": lines,
        "answers": answers,
        "longest_answer_ms": round(longest_ms),
        "newest_50_ms": round(newest_ms, 1),
        "mb_s": round(log["bytes"] / 1e6 / took),
        "grep_mb_s": round(log["bytes"] / 1e6 / grep_took),
        "ratio_to_grep": round(took / grep_took, 1),
    }


def unpack(environment: dict[str, str], number: int, log: dict[str, int]) -> int:
    program = f"""
import time
from jobs.models import Job
from monitoring import objects
from monitoring.models import LogSegment
segments = LogSegment.objects.filter(log__subject=Job.objects.get(pk={number}).subject)
rows = list(segments.order_by("offset").values_list("name", "size_bytes"))
began = time.perf_counter()
for name, size in rows:
    objects.load(name, size)
print("took", time.perf_counter() - began)
"""
    shell = [sys.executable, "manage.py", "shell", "-v", "0", "-c", program]
    done = subprocess.run(shell, env=environment, capture_output=True, text=True, check=True)
    return round(log["bytes"] / 1e6 / float(done.stdout.split()[-1]))


def downloads(client: httpx.Client, log_path: str, copy: Path) -> dict[str, Any]:
    """Whole, and the lines that match; beside them what `cat` takes to the same pipe's end."""

    def rate(path: str, query: dict[str, str]) -> tuple[int, float]:
        began, size = time.perf_counter(), 0
        with client.stream("GET", path, params=query) as answer:
            first_ms = (time.perf_counter() - began) * 1000
            for data in answer.iter_raw():
                size += len(data)
        return round(size / 1e6 / (time.perf_counter() - began)), round(first_ms, 1)

    whole, first_ms = rate(log_path, {})
    matching, _first_ms = rate(f"{log_path}/matching-lines", {"q": "training", "case": "true"})
    began = time.perf_counter()
    size = len(subprocess.run(["cat", str(copy)], capture_output=True, check=True).stdout)
    cat = round(size / 1e6 / (time.perf_counter() - began))
    return {
        "whole": whole,
        "first_byte_ms": first_ms,
        "matching_lines": matching,
        "cat": cat,
        "ratio_whole_to_cat": round(cat / whole, 1),
    }


def timed(do: Callable[[], Any]) -> float:
    """Milliseconds."""
    began = time.perf_counter()
    do()
    return (time.perf_counter() - began) * 1000


if __name__ == "__main__":
    main()
