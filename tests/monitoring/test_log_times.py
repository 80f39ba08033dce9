"""When bytes were printed: marks of pieces and segments as one sequence."""

from __future__ import annotations

from unittest.mock import patch

from monitoring import log_times, logs, segments

from .conftest import NOON


def test_marks_begin_with_the_last_one_before_and_join_segments_and_pieces(log):
    assert (log_times.marks_around(log, 0, 100), log_times.first_ms(log)) == ([], None)
    logs.append(log, offset=0, data=b"a" * 10, times=[(0, 1000), (5, 1050)], now=NOON)
    assert log_times.first_ms(log) == 1000
    segments.seal(log.pk)
    logs.append(log, offset=10, data=b"b" * 10, times=[(10, 2000), (15, 2050)], now=NOON)
    logs.append(log, offset=20, data=b"c" * 10, times=[], now=NOON)
    assert log_times.first_ms(log) == 1000
    assert log_times.marks_around(log, 0, 100) == [(0, 1000), (5, 1050), (10, 2000), (15, 2050)]
    assert log_times.marks_around(log, 7, 11) == [(5, 1050), (10, 2000)]
    assert log_times.marks_around(log, 25, 30) == [(15, 2050)], "of the piece before: its own has none"


def test_of_many_marks_some_come_evenly(log):
    logs.append(log, offset=0, data=b"x" * 100, times=[(n, n) for n in range(100)], now=NOON)
    with patch.object(log_times, "MOST_MARKS", 10):
        assert log_times.marks_around(log, 0, 100) == [(n, n) for n in range(0, 100, 10)]


def test_marks_are_read_in_four_queries_whatever_their_number(log, django_assert_num_queries):
    for n in range(5):
        logs.append(log, offset=n, data=b"x", times=[(n, n)], now=NOON)
        if n % 2:
            segments.seal(log.pk)
    with django_assert_num_queries(4):
        assert len(log_times.marks_around(log, 0, 5)) == 5
