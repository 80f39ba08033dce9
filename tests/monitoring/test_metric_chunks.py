from __future__ import annotations

import math
import struct

from hypothesis import example, given
from hypothesis import strategies as st

from monitoring.metric_chunks import Columns, open_bytes, packed_bytes, read_open, read_packed

INT = st.integers(min_value=-(2**63), max_value=2**63 - 1)
POINTS = st.lists(st.tuples(INT, INT, st.floats(allow_nan=True, allow_infinity=True)), max_size=200)


def columns(points: list[tuple[int, int, float]]) -> Columns:
    return Columns(*(list(column) for column in zip(*points, strict=True))) if points else Columns([], [], [])


def bits(points: Columns) -> tuple:
    return list(points.steps), list(points.walls), [struct.pack("<d", value) for value in points.values]


@given(POINTS)
@example([(-(2**63), 0, 0.0), (2**63 - 1, 0, 0.0)])
def test_a_chunk_gives_back_its_points_to_the_bit(points):
    given_points = columns(points)
    assert bits(read_open(open_bytes(given_points))) == bits(given_points)
    assert bits(read_packed(packed_bytes(given_points))) == bits(given_points)


def test_a_packed_chunk_of_a_training_takes_less_than_twelve_bytes_a_point():
    points = Columns(
        list(range(4096)), [1_700_000_000_000 + 37 * i for i in range(4096)], [math.exp(-i / 1000) for i in range(4096)]
    )
    assert len(packed_bytes(points)) / 4096 < 12
