from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tpu_panel import sse
from tpu_panel.sse import Event

STREAM = (
    "retry: 1000\n\nevent: attempt\ndata: {}\n\n: still here\n\nid: 1:5\nevent: log\ndata: grö\x85\u2028ßer\n\n"
    "event: gap\ndata: a\ndata: b\n\ndata: nameless\n\nevent: cut\ndata: never ended\n"
).encode()
EVENTS = [
    Event("attempt", "{}", ""),
    None,
    Event("log", "grö\x85\u2028ßer", "1:5"),
    Event("gap", "a\nb", "1:5"),
    Event("message", "nameless", "1:5"),
]


def test_events_are_read_and_one_that_is_cut_off_is_none():
    assert list(sse.events([STREAM])) == EVENTS


def test_line_ends_of_either_kind_are_taken():
    assert list(sse.events([STREAM.replace(b"\n", b"\r\n")])) == EVENTS


@given(st.lists(st.integers(0, len(STREAM))))
def test_it_does_not_matter_where_the_network_cuts(cuts):
    places = [0, *sorted(cuts), len(STREAM)]
    assert list(sse.events(STREAM[a:b] for a, b in zip(places, places[1:], strict=False))) == EVENTS


@pytest.mark.parametrize("line", ["data", "data:", "data: ", "event: x", "unknown: y", ""])
def test_an_event_without_data_is_none(line):
    found = list(sse.events([f"{line}\n\n".encode()]))
    assert found == ([Event("message", "", "")] if line.startswith("data") else [])
