from __future__ import annotations

import re

import pytest

from tests.client.fakes import a_terminal
from tpu_panel.cli import tables, words
from tpu_panel.cli.tables import Column

COLUMNS = [
    Column("job", is_figure=True),
    Column("state", is_state=True),
    Column("name", gives=1),
    Column("empty"),
    Column("why", gives=2, is_sentence=True),
]
ROWS = [
    ["7", "running", "模型 training run of the week", "", ""],
    ["128", "failed", "digits", "", "The command ended with exit code 3."],
]


def test_a_table_is_lined_up_and_leaves_out_what_is_empty():
    assert tables.lines(a_terminal(), COLUMNS, ROWS) == [
        "job  state      name                           why",
        "  7  ● running  模型 training run of the week",
        "128  ✗ failed   digits                         The command ended with exit code 3.",
    ]


def test_it_fits_the_terminal_and_what_gives_most_goes_first():
    lines = tables.lines(a_terminal(is_tty=True, COLUMNS="60", NO_COLOR="1"), COLUMNS, ROWS)
    assert max(map(words.width, lines)) == 60
    assert "模型 training run of the week" in lines[1]
    assert lines[2].endswith("The command …")


@pytest.mark.parametrize("columns", range(20, 120, 7))
def test_it_fits_wherever_it_can(columns):
    lines = tables.lines(a_terminal(is_tty=True, COLUMNS=str(columns), NO_COLOR="1"), COLUMNS, ROWS)
    assert max(map(words.width, lines)) <= max(columns, 38)  # what must not be cut has its place


def test_a_pipe_gets_all_of_it():
    long = [["1", "queued", "x" * 500, "", "y" * 500]]
    assert len(tables.lines(a_terminal(), COLUMNS, long)[1]) > 1000


def test_states_have_colour_on_a_terminal_and_the_columns_stay_in_line():
    lines = tables.lines(a_terminal(is_tty=True, COLUMNS="100"), COLUMNS, ROWS)
    assert "\x1b[34m● running\x1b[0m" in lines[1] and "\x1b[31m✗ failed \x1b[0m" in lines[2]
    bare = [re.sub(r"\x1b\[[0-9]*m", "", line) for line in lines]
    assert bare == tables.lines(a_terminal(), COLUMNS, ROWS)


@pytest.mark.parametrize("environ", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_colour_is_left_out_where_it_is_not_wanted(environ):
    assert "\x1b" not in "".join(tables.lines(a_terminal(is_tty=True, COLUMNS="100", **environ), COLUMNS, ROWS))


def test_where_only_ascii_can_be_written_the_marks_are_ascii():
    lines = tables.lines(a_terminal(encoding="ascii"), COLUMNS[:2], [["1", state] for state in ("queued", "succeeded", "failed")])
    assert [line.split()[1] for line in lines[1:]] == ["o", "+", "x"]


def test_a_name_of_another_does_nothing_to_the_terminal():
    (_head, line) = tables.lines(a_terminal(), COLUMNS, [["1", "queued", "\x1b[2Jboo\u202e", "", "a\nb"]])
    assert line == "  1  ○ queued  �[2Jboo�  a�b"


def test_pairs_leave_out_what_is_empty():
    assert tables.pairs(a_terminal(), [("job", "17"), ("progress", ""), ("why", "because")]) == ["job  17", "why  because"]
