"""Metrics that a program prints or writes as lines, with no library of ours:

::metric name=loss step=10::0.43          anywhere in its output
::progress step=10 total=500              the same, for the bar and the time left
{"step": 10, "loss": 0.43, "lr": 1e-3}    a line of the file that PANEL_METRICS names; "time" in Unix seconds, if wanted
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator

from agent.protocol import LAST_MS, PROGRESS_STEP, PROGRESS_TOTAL, STEP_LIMIT, UNREADABLE, is_point

METRIC = re.compile(rb"::metric ([^:\r\n]{1,300})::\s*([^\s]{1,40})")
PROGRESS = re.compile(rb"::progress ([^\r\n]{1,200})")
PAIR = re.compile(rb"([a-z]+)=([^\s,]+)")
MOST_NAME = 200

Point = tuple[str, int, int, float]  # name, step, Unix milliseconds, value


def printed(line: bytes, wall_ms: int) -> Iterator[Point]:
    """Points in one line of output. What looks like one and is none is just output."""
    if b"::" not in line:
        return
    for found in METRIC.finditer(line):
        pairs, value = _pairs(found[1]), _number(found[2])
        step = _whole(pairs.get("step", "0"))
        if "name" in pairs and step is not None and value is not None:
            yield named(pairs["name"]), step, wall_ms, value
    for found in PROGRESS.finditer(line):
        pairs = _pairs(found[1])
        step, total = _whole(pairs.get("step", "")), _whole(pairs.get("total", ""))
        if step is not None:
            yield PROGRESS_STEP, step, wall_ms, float(step)
        if step is not None and total is not None:
            yield PROGRESS_TOTAL, step, wall_ms, float(total)


def written(lines: Iterable[bytes], now_ms: int) -> Iterator[Point]:
    """Points of JSON lines; one that cannot be read is left out, as its writer may have died in the middle of it."""
    for line in lines:
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if not isinstance(entry, dict):
            continue
        step, wall_ms = entry.pop("step", 0), moment_ms(entry.pop("time", None), now_ms)
        if isinstance(entry.get("name"), str) and "value" in entry:
            entry = {entry["name"]: entry["value"]}
        for name, value in entry.items():
            if name and not isinstance(value, bool) and is_point(step, wall_ms, value):
                yield named(name), step, wall_ms, float(value)


def named(text: str) -> str:
    """A metric's name in one line and of characters that can be kept, whatever a program calls it."""
    whole = text.encode(errors="replace").decode()
    return UNREADABLE.sub("\N{REPLACEMENT CHARACTER}", whole)[:MOST_NAME]


def moment_ms(seconds: object, now_ms: int) -> int:
    """Unix seconds as milliseconds; now for what no calendar holds."""
    is_moment = isinstance(seconds, (int, float)) and 0 <= seconds <= LAST_MS / 1000  # NaN is not
    return int(seconds * 1000) if is_moment else now_ms  # type: ignore[operator]


def _pairs(text: bytes) -> dict[str, str]:
    return {name.decode(): value.decode("utf-8", "replace") for name, value in PAIR.findall(text)}


def _whole(text: str) -> int | None:
    try:
        found = int(text)
    except ValueError:
        return None
    return found if abs(found) <= STEP_LIMIT else None


def _number(text: bytes) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
