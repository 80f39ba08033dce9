from __future__ import annotations

import json
import math

from hypothesis import given
from hypothesis import strategies as st

from monitoring.buckets import Bucket, bucketed
from monitoring.metric_chunks import Columns

NAN = float("nan")
NUMBER = st.floats(min_value=-1e6, max_value=1e6)


def of(values: list[float], steps: list[int] | None = None) -> Columns:
    steps = list(range(len(values))) if steps is None else steps
    return Columns(steps, [1000 * step for step in steps], values)


def test_few_points_are_shown_as_they_are():
    assert bucketed(of([3.0, 1.0]), by="step", start=0, end=1, buckets=10) == [
        Bucket(x=0, count=1, nan_count=0, least=3.0, greatest=3.0, mean=3.0, last=3.0),
        Bucket(x=1, count=1, nan_count=0, least=1.0, greatest=1.0, mean=1.0, last=1.0),
    ]


def test_many_points_become_buckets_of_equal_width():
    found = bucketed(of([float(i) for i in range(100)]), by="step", start=0, end=99, buckets=4)
    assert [(b.x, b.count, b.least, b.greatest, b.mean, b.last) for b in found] == [
        (24, 25, 0.0, 24.0, 12.0, 24.0),
        (49, 25, 25.0, 49.0, 37.0, 49.0),
        (74, 25, 50.0, 74.0, 62.0, 74.0),
        (99, 25, 75.0, 99.0, 87.0, 99.0),
    ]


def test_nan_is_counted_and_left_out_of_the_numbers():
    found = bucketed(of([1.0, NAN, 3.0, NAN]), by="step", start=0, end=3, buckets=2)
    assert [(b.nan_count, b.least, b.greatest, b.mean, b.last) for b in found] == [
        (1, 1.0, 1.0, 1.0, None),
        (1, 3.0, 3.0, 3.0, None),
    ]


def test_infinities_are_numbers_and_travel_as_texts():
    (found,) = bucketed(of([1.0, float("inf")], [5, 5]), by="step", start=5, end=5, buckets=1)
    assert (found.least, found.greatest, found.mean) == (1.0, math.inf, math.inf)
    assert json.loads(json.dumps(found.as_json(), allow_nan=False))["greatest"] == "Infinity"


def test_a_run_that_went_back_is_put_in_order():
    found = bucketed(of([1.0, 2.0, 3.0, 9.0], [0, 1, 2, 1]), by="step", start=0, end=2, buckets=10)
    assert [(b.x, b.last) for b in found] == [(0, 1.0), (1, 2.0), (1, 9.0), (2, 3.0)]


def test_the_time_axis_is_another_column():
    assert [b.x for b in bucketed(of([1.0, 2.0, 3.0]), by="wall", start=1000, end=2000, buckets=10)] == [1000, 2000]


@given(st.lists(st.tuples(st.integers(0, 500), NUMBER), min_size=1), st.integers(1, 50), st.integers(0, 500), st.integers(0, 500))
def test_buckets_hold_each_point_of_the_range_once(points, buckets, start, end):
    steps, values = [step for step, _ in points], [value for _, value in points]
    found = bucketed(of(values, steps), by="step", start=start, end=end, buckets=buckets)
    inside = [value for step, value in points if start <= step <= end]
    assert len(found) <= max(buckets, 0)
    assert sum(bucket.count for bucket in found) == len(inside)
    assert [bucket.x for bucket in found] == sorted(bucket.x for bucket in found)
    if inside:
        assert min(b.least for b in found) == min(inside)
        assert max(b.greatest for b in found) == max(inside)
        assert math.isclose(sum(b.mean * b.count for b in found), math.fsum(inside), rel_tol=1e-9, abs_tol=1e-3)


def test_on_a_relative_axis_x_counts_from_the_origin():
    found = bucketed(of([1.0, 2.0, 3.0]), by="relative", start=0, end=2000, buckets=10, origin=1000)
    assert [(b.x, b.last) for b in found] == [(0, 2.0), (1000, 3.0)]


def test_on_a_logarithmic_axis_buckets_grow_with_x_and_what_is_below_one_is_left_out():
    found = bucketed(of([float(i) for i in range(1001)]), by="step", start=0, end=1000, buckets=3, is_log=True)
    assert [(b.x, b.count) for b in found] == [(10, 10), (100, 90), (1000, 900)]


@given(st.lists(st.integers(-10, 10**12), min_size=1, max_size=200), st.integers(1, 20))
def test_on_a_logarithmic_axis_each_point_is_in_one_bucket(steps, buckets):
    steps = sorted(steps)
    found = bucketed(of([1.0] * len(steps), steps), by="step", start=steps[0], end=steps[-1], buckets=buckets, is_log=True)
    assert sum(b.count for b in found) == sum(step >= 1 for step in steps)
    assert len(found) <= max(buckets, 0)
