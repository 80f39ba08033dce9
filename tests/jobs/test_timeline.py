"""How a job's time was spent, drawn as one line."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs import timeline
from jobs.timeline import Try
from tests.clusters.steps import after


def a_try(number=1, *, at=0, ordered=None, running=None, ended=None, failed=False):
    """Moments in seconds after noon."""
    moments = [None if second is None else after(second) for second in (ordered, running, ended)]
    return Try(number, after(at), *moments, failed=failed)


def drawn(*tries, now, **more):
    """(kind, seconds, attempt) of each segment."""
    return [(one.kind, one.seconds, one.attempt) for one in timeline.segments(tries, now=after(now), **more)]


def test_a_job_that_waits_is_one_segment_that_grows():
    assert drawn(a_try(), now=5) == [("queued", 5, 1)]
    assert timeline.segments([a_try()], now=after(5))[0].width == 100


def test_a_job_that_runs_shows_what_it_did_before_and_what_is_left():
    one = a_try(ordered=2, running=10)
    assert drawn(one, now=30, left_s=60) == [("queued", 2, 1), ("prepare", 8, 1), ("run", 20, 1), ("left", 60, 1)]
    assert drawn(one, now=30) == [("queued", 2, 1), ("prepare", 8, 1), ("run", 20, 1)]


def test_what_has_ended_does_not_grow_and_has_nothing_left():
    one = a_try(ordered=2, running=10, ended=20)
    assert drawn(one, now=1000, left_s=60) == [("queued", 2, 1), ("prepare", 8, 1), ("run", 10, 1)]
    assert drawn(a_try(ended=3), now=1000) == [("queued", 3, 1)]
    assert drawn(a_try(ordered=1, ended=3), now=1000) == [("queued", 1, 1), ("prepare", 2, 1)]


def test_attempts_follow_one_another_with_the_delay_between_them():
    first = a_try(1, ordered=1, running=2, ended=5, failed=True)
    second = a_try(2, at=15, ordered=16, running=20)
    assert drawn(first, second, now=30) == [
        ("queued", 1, 1),
        ("prepare", 1, 1),
        ("failed", 3, 1),
        ("delay", 10, 2),
        ("queued", 1, 2),
        ("prepare", 4, 2),
        ("run", 10, 2),
    ]


def test_labels_name_attempts_where_there_are_several_and_never_overlap():
    line = timeline.segments([a_try(ordered=50, running=75, ended=100)], now=after(100))
    assert [label.words for label in timeline.labels(line)] == ["queued", "preparing", "running"]
    line = timeline.segments([a_try(ordered=1, running=2, ended=100)], now=after(100))
    assert [label.words for label in timeline.labels(line)] == ["running"]
    line = timeline.segments([a_try(ordered=5, running=99, ended=100)], now=after(100))
    assert [label.words for label in timeline.labels(line)] == ["preparing"]  # not "queued", which leaves it no room
    line = timeline.segments(
        [a_try(1, ordered=0, running=0, ended=50, failed=True), a_try(2, at=50, ordered=50, running=50)], now=after(100)
    )
    assert [label.words for label in timeline.labels(line)] == ["attempt 1", "attempt 2"]


def test_nothing_has_happened_yet():
    assert drawn(a_try(), now=0) == []
    assert timeline.labels([]) == []


@pytest.mark.parametrize(("age", "again"), [(0, 2), (1, 2), (20, 5), (1000, 15)])
def test_a_young_line_is_drawn_again_sooner(age, again):
    line = timeline.segments([a_try(ordered=0, running=0)], now=after(age), left_s=1000)
    assert timeline.drawn_again_after_s(line) == again


SECONDS = st.integers(0, 100_000)


@st.composite
def tries(draw):
    made, at = [], 0
    for number in range(1, draw(st.integers(1, 6)) + 1):
        moments = [at := at + draw(SECONDS) for _ in range(4)]
        come = draw(st.integers(0, 3))
        made.append(
            Try(
                number,
                after(moments[0]),
                *[after(moments[i]) if come >= i else None for i in (1, 2)],
                ended_at=after(moments[3]),
                failed=draw(st.booleans()),
            )
        )
        at = moments[3]
    return made, after(at) + timedelta(seconds=draw(SECONDS))


@given(tries())
def test_segments_fill_the_line_in_order_and_stand_on_nobody(drawn_tries):
    given_tries, now = drawn_tries
    line = timeline.segments(given_tries, now=now)
    x = 0.0
    for segment in line:
        assert abs(segment.x - x) < 0.01 and segment.width > 0 and segment.seconds > 0
        x += segment.width
    assert not line or abs(x - 100) < 0.1
    assert all(one.end == two.start or one.end < two.start for one, two in zip(line, line[1:], strict=False))
    stood = [(label.x, len(label.words) * timeline.CHARACTER) for label in timeline.labels(line)]
    assert all(x1 + w1 < x2 for (x1, w1), (x2, _) in zip(stood, stood[1:], strict=False))
