"""The last lines of a log as a person reads them."""

from __future__ import annotations

from monitoring import logs
from monitoring.last_lines import MOST_BYTES, LastLine, last_lines

from .conftest import NOON


def written(log, data: bytes):
    logs.append(log, offset=log.head_offset, data=data, now=NOON)
    log.refresh_from_db()
    return log


def test_they_have_their_numbers_and_no_colours_and_each_its_last_state(log):
    written(log, b"one\ntwo\n\x1b[31mred\x1b[0m\n 10 %\r 20 %\nopen")
    assert last_lines(log, 3) == [LastLine(3, "red"), LastLine(4, " 20 %"), LastLine(5, "open")]
    assert last_lines(log, 100)[0] == LastLine(1, "one")


def test_of_nothing_there_are_none_and_of_an_empty_line_there_is_one(log):
    assert last_lines(log, 3) == []
    assert last_lines(written(log, b"\n"), 3) == [LastLine(1, "")]


def test_what_reaches_back_too_far_is_left_out_whole(log):
    long = b"x" * (MOST_BYTES - 10)
    written(log, b"first\n" + long + b"\nlast\n")
    assert [line.text for line in last_lines(log, 3)] == [long.decode()[:2000], "last"]
    written(log, b"y" * 100 + b"\n")
    assert [(line.number, line.text[:9]) for line in last_lines(log, 3)] == [(3, "last"), (4, "y" * 9)]


def test_one_line_that_is_longer_still_shows_its_end(log):
    written(log, b"a" * MOST_BYTES + b"the end")
    assert last_lines(log, 5)[0].number == 1
    assert len(last_lines(log, 5)) == 1
