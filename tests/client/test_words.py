from __future__ import annotations

from datetime import datetime, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.client.fakes import a_job
from tpu_panel.cli import words

NOON = datetime(2026, 3, 1, 12, tzinfo=timezone.utc)  # noqa: UP017  as the client has it


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0 s"), (-5, "0 s"), (59.9, "59 s"), (192, "3 min 12 s"), (3600, "1 h 0 min"), (90_000, "1 d 1 h")],
)
def test_a_duration_is_told_in_its_two_largest_units(seconds, text):
    assert words.duration(seconds) == text


@pytest.mark.parametrize(
    ("at", "text"),
    [
        ("2026-03-01T11:59:58Z", "just now"),
        ("2026-03-01T11:59:00.5Z", "59 s ago"),
        ("2026-03-01T11:56:48+00:00", "3 min ago"),
        ("2026-02-27T12:00:00Z", "2 d ago"),
        ("2026-03-01T12:00:01Z", "just now"),
        (None, ""),
    ],
)
def test_a_moment_is_told_by_how_long_ago_it_was(at, text):
    assert words.ago(at, NOON) == text


def test_the_time_that_a_job_ran():
    assert words.run_time(a_job(started_at=None), NOON) == ""
    assert words.run_time(a_job(started_at="2026-03-01T11:59:00Z"), NOON) == "1 min 0 s"
    assert words.run_time(a_job(started_at="2026-03-01T11:00:00Z", ended_at="2026-03-01T11:00:07Z"), NOON) == "7 s"


@pytest.mark.parametrize(
    ("count", "text"), [(None, "unknown"), (0, "0 B"), (1023, "1023 B"), (1536, "1.5 KiB"), (2**40, "1.0 TiB")]
)
def test_a_size_has_its_unit(count, text):
    assert words.size(count) == text


@pytest.mark.parametrize(("value", "text"), [(None, "NaN"), ("Infinity", "Infinity"), (0.123456789, "0.123457"), (3, "3")])
def test_a_measured_value_is_told_short(value, text):
    assert words.number(value) == text


def test_progress_is_told_as_far_as_it_is_known():
    found = [words.progress(a_job(progress=p)) for p in (None, {"step": 7, "percent": None}, {"step": 7, "percent": 26})]
    assert found == ["", "step 7", "26 %"]


def test_a_name_can_do_nothing_to_the_terminal():
    assert words.plain("a\x1b]0;title\x07b\u202ec\nd\x9be") == "a�]0;title�b�c�d�e"
    assert words.plain("模型 é 👩\u200d💻") == "模型 é 👩\u200d💻"


@pytest.mark.parametrize(("text", "columns"), [("abc", 3), ("模型", 4), ("e\u0301", 1), ("", 0)])
def test_a_width_is_in_columns(text, columns):
    assert words.width(text) == columns


@pytest.mark.parametrize(
    ("text", "columns", "short"),
    [
        ("abcdefghij", 10, "abcdefghij"),
        ("abcdefghij", 7, "abc…hij"),
        ("模型模型模型", 7, "模…模型"),
        ("abcdef", 3, "abc"),
        ("x", 0, ""),
    ],
)
def test_what_is_too_long_is_cut_in_the_middle(text, columns, short):
    assert words.cut(text, columns) == short


@given(st.text(), st.integers(0, 40))
def test_what_is_cut_fits(text, columns):
    assert words.width(words.cut(text, columns)) <= columns
    assert words.width(words.cut_end(text, columns)) <= columns
