"""Rows for people: as wide as the terminal, with what is long cut, and figures to the right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tpu_panel.cli import words
from tpu_panel.cli.terminal import Terminal

GAP = "  "
LEAST = 6  # columns that are left of what is cut


@dataclass(frozen=True)
class Column:
    """`gives`: it is cut when the table is too wide; those that give most go first. A `state` has its mark and colour."""

    title: str
    is_figure: bool = False
    gives: int = 0
    is_state: bool = False
    is_sentence: bool = False  # loses its end, not its middle


def lines(terminal: Terminal, columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> list[str]:
    """The table's lines, its head first. Columns that are empty throughout are left out."""
    texts = [
        [f"{terminal.mark(text)} {text}" if c.is_state and text else text for c, text in zip(columns, row, strict=True)]
        for row in rows
    ]
    texts = [[words.plain(text) for text in row] for row in texts]
    shown = [i for i in range(len(columns)) if not rows or any(row[i] for row in texts)]
    widths = _widths(terminal.columns, [columns[i] for i in shown], [[row[i] for i in shown] for row in texts])
    head = GAP.join(_fit(columns[i], columns[i].title, width) for i, width in zip(shown, widths, strict=True)).rstrip()
    found = [terminal.paint(head, "grey")]
    for row, text in zip(rows, texts, strict=True):
        cells = [
            _painted(terminal, columns[i], row[i], _fit(columns[i], text[i], width))
            for i, width in zip(shown, widths, strict=True)
        ]
        found.append(GAP.join(cells).rstrip())
    return found


def pairs(terminal: Terminal, rows: Sequence[tuple[str, str]]) -> list[str]:
    """Names and values, a line each, without what is empty. Values are as they come: they may be painted."""
    wide = max((words.width(name) for name, value in rows if value), default=0)
    return [f"{terminal.paint(name + ' ' * (wide - words.width(name)), 'grey')}{GAP}{value}" for name, value in rows if value]


def _widths(room: int, columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> list[int]:
    widths = [max([words.width(c.title), *(words.width(row[i]) for row in rows)]) for i, c in enumerate(columns)]
    too_many = sum(widths) + len(GAP) * (len(columns) - 1) - room
    for i in sorted(range(len(columns)), key=lambda i: -columns[i].gives):
        if too_many > 0 and columns[i].gives:
            given = min(too_many, max(0, widths[i] - max(LEAST, words.width(columns[i].title))))
            widths[i] -= given
            too_many -= given
    return widths


def _fit(column: Column, text: str, columns: int) -> str:
    text = words.cut_end(text, columns) if column.is_sentence else words.cut(text, columns)
    padding = " " * (columns - words.width(text))
    return padding + text if column.is_figure else text + padding


def _painted(terminal: Terminal, column: Column, value: str, text: str) -> str:
    return terminal.paint(text, words.STATES.get(value, ("", "", "grey"))[2]) if column.is_state else text
