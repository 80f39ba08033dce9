"""Points for the pixels that there are: each bucket with its least, greatest, mean and last value. Pure, no database."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from operator import gt
from typing import Any

from monitoring.metric_chunks import Columns


@dataclass(frozen=True)
class Bucket:
    """The points of one stretch of the x-axis. `least`, `greatest` and `mean` leave NaN out, and are None without a number."""

    x: int  # of its last point: a step, or milliseconds
    count: int
    nan_count: int
    least: float | None
    greatest: float | None
    mean: float | None
    last: float | None  # None: NaN

    def as_json(self) -> dict[str, Any]:
        """Infinities as texts, which JSON has not as numbers."""
        return {name: _plain(value) for name, value in asdict(self).items()}


def bucketed(
    points: Columns, *, by: str, start: int, end: int, buckets: int, origin: int = 0, is_log: bool = False
) -> list[Bucket]:
    """At most `buckets` of the points with start <= x <= end, in the order of x.

    `by` is "step", "wall", or "relative": wall less `origin`. The buckets are equally wide, or with `is_log` on a logarithmic
    axis, which has no place for x < 1. Points that were written out of order (a run that went back to a checkpoint) are put
    in order first.
    """
    xs, values = xs_of(points, by=by, origin=origin), points.values
    if any(map(gt, xs, islice(xs, 1, None))):
        order = sorted(range(len(xs)), key=xs.__getitem__)  # stable: of equal x the later stays last
        xs, values = [xs[i] for i in order], [values[i] for i in order]
    if is_log:
        start = max(start, 1)
    first, last = bisect_left(xs, start), bisect_left(xs, end + 1)
    if last - first <= buckets:
        return [_bucket(xs[i], values[i : i + 1]) for i in range(first, last)]
    found = []
    for edge in _edges(start, end + 1, buckets, is_log=is_log):
        upto = bisect_left(xs, edge, first, last)
        if upto > first:
            found.append(_bucket(xs[upto - 1], values[first:upto]))
        first = upto
    return found


def xs_of(points: Columns, *, by: str, origin: int) -> Sequence[int]:
    if by == "step":
        return points.steps
    return points.walls if by == "wall" else [wall - origin for wall in points.walls]


def _edges(start: int, end: int, count: int, *, is_log: bool) -> Iterator[float]:
    """Where buckets of [start, end) end."""
    for number in range(1, count):
        yield start * (end / start) ** (number / count) if is_log else start + -(-(end - start) * number // count)
    yield end


def _bucket(x: int, values: Sequence[float]) -> Bucket:
    numbers: Sequence[float] = values
    if math.isnan(sum(values)):  # a NaN, or infinities of both signs
        numbers = [value for value in values if not math.isnan(value)]
    last = None if math.isnan(values[-1]) else values[-1]
    nan_count = len(values) - len(numbers)
    if not numbers:
        return Bucket(x, len(values), nan_count, None, None, None, last)
    mean = math.fsum(numbers) / len(numbers) if all(map(math.isfinite, (min(numbers), max(numbers)))) else sum(numbers)
    return Bucket(x, len(values), nan_count, min(numbers), max(numbers), None if math.isnan(mean) else mean, last)


def _plain(value: float | None) -> float | str | None:
    if isinstance(value, float) and math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return value
