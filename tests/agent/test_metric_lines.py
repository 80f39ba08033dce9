from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent import metric_lines


def repr_of(value):
    return repr(value)[:40] if isinstance(value, dict | list) else None


NOW = 1_700_000_000_000


@pytest.mark.parametrize(
    ("line", "points"),
    [
        (b"::metric name=loss step=10::0.43\n", [("loss", 10, NOW, 0.43)]),
        (b"epoch 3 ::metric name=a/b,step=2:: 1e-3 done", [("a/b", 2, NOW, 0.001)]),
        (b"::metric name=loss::nan\n", [("loss", 0, NOW, math.nan)]),
        (b"::metric name=a step=1::1\r::metric name=a step=2::2\n", [("a", 1, NOW, 1.0), ("a", 2, NOW, 2.0)]),
        (b"::progress step=5 total=20\n", [("progress/step", 5, NOW, 5.0), ("progress/total", 5, NOW, 20.0)]),
        (b"::progress step=5\n", [("progress/step", 5, NOW, 5.0)]),
        (b"::metric step=1::2\n", []),
        (b"::metric name=loss step=x::2\n", []),
        (b"::metric name=loss step=1::two\n", []),
        (b"::progress total=5\n", []),
        (b"::metric name=loss step=99999999999999999999::1\n", []),
        (b"::metric name=loss step=1::1e999\n", [("loss", 1, NOW, math.inf)]),
        (b"::metric name=a\x1b[31m\0 step=1::1\n", [("a\N{REPLACEMENT CHARACTER}[31m\N{REPLACEMENT CHARACTER}", 1, NOW, 1.0)]),
        (b"just text\n", []),
    ],
)
def test_points_in_a_line_of_output(line, points):
    found = list(metric_lines.printed(line, NOW))
    assert repr(found) == repr(points)  # NaN is equal to NaN here


@given(st.binary())
def test_no_output_raises(line):
    list(metric_lines.printed(b"::metric " + line, NOW))
    list(metric_lines.printed(b"::progress " + line, NOW))
    list(metric_lines.printed(line, NOW))


@pytest.mark.parametrize(
    ("entry", "points"),
    [
        ({"step": 3, "loss": 0.5, "lr": 1}, [("loss", 3, NOW, 0.5), ("lr", 3, NOW, 1.0)]),
        ({"step": 3, "time": 12.5, "loss": 0.5}, [("loss", 3, 12500, 0.5)]),
        ({"name": "loss", "step": 3, "value": 0.5}, [("loss", 3, NOW, 0.5)]),
        ({"loss": 0.5}, [("loss", 0, NOW, 0.5)]),
        ({"step": 3, "flag": True, "text": "x", "none": None}, []),
        ({"step": "3", "loss": 0.5}, []),
        ([1], []),
        ({"step": 2**62 + 1, "loss": 1}, []),
        ({"huge": 10**400, "loss": 1}, [("loss", 0, NOW, 1.0)]),
        ({"time": 1e300, "loss": 1}, [("loss", 0, NOW, 1.0)]),
        ({"time": -1, "loss": 1}, [("loss", 0, NOW, 1.0)]),
        ({"time": 10**400, "loss": 1}, [("loss", 0, NOW, 1.0)]),
        ({"half \ud800\0\n": 1}, [("half ?\N{REPLACEMENT CHARACTER}\N{REPLACEMENT CHARACTER}", 0, NOW, 1.0)]),
        ({"x" * 300: 1}, [("x" * 200, 0, NOW, 1.0)]),
    ],
    ids=repr_of,
)
def test_points_in_a_line_of_json(entry, points):
    assert list(metric_lines.written([json.dumps(entry).encode() + b"\n"], NOW)) == points


def test_a_line_of_json_that_is_none_is_left_out():
    lines = [
        b'{"step": 1, "loss"\n',
        b"[" * 99_999 + b"\n",
        b'{"step": 1e999, "loss": 1}\n',
        b'{"step": 2, "loss": NaN}\n',
        b'{"step": 3, "loss": 1}\n',
    ]
    assert [point[1] for point in metric_lines.written(lines, NOW)] == [2, 3]
