"""What is read of bytes, and where it stands: the same on the page and in a search."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import time

import pytest
from django.conf import settings

from monitoring.log_text import Shown, plain, raw_spans, shown

PARTS = [
    b"a",
    b"word ",
    "größe 温度 🙂".encode(),
    b"\xff",
    b"\xe2\x82",
    b"\x00",
    b"\x07",
    b"\x1b",
    b"\x1b[31m",
    b"\x1b[38;2;1;2;3m",
    b"\x1b[0m",
    b"\x1b[?25h",
    b"\x1b[10;5H",
    b"\x1b(B",
    b"\x1b]0;title\x07",
    b"\x1b]8;;http://a\x1b\\",
    b"\x1bPsixel\x1b\\",
    b"\x1b]unfinished",
    b"\x1b[12;",
    b"\r",
    b"\r",
    b"\t",
    b"[",
    b"m",
    "\u202e\u2066\u2028\ufeff\x85\x9b".encode(),
    b"\x1b]" + b"x" * 4097 + b"\x07",
]


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_the_page_and_the_search_read_the_same():
    chance = random.Random(4)
    lines = [b"".join(chance.choices(PARTS, k=chance.randint(0, 9))) for _ in range(3000)]
    run = subprocess.run(
        ["node", "--import", "./tests/js/resolve.mjs", "./tests/js/decode.mjs"],
        cwd=settings.BASE_DIR,
        input=json.dumps([line.hex() for line in lines]),
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    read = [shown(plain(line), []) for line in lines]
    different = [
        (line, found.text, page)
        for line, found, page in zip(lines, read, json.loads(run.stdout), strict=True)
        if found.text != page[:2000] or not found.is_last_state
    ]
    assert different == []


@pytest.mark.parametrize(
    ("data", "read"),
    [
        (b"plain", b"plain"),
        (b"\x1b[1;31mred\x1b[m\n\x1b]0;t\x07b\n", b"red\nb\n"),
        (b"a\r\nb\r\r\nc\rd\r", b"a\nb\nc\rd"),
        (b"a\r\x1b[0m\r\nb", b"a\nb"),
        (b"never \x1b]ends\nnext", b"never \x1b]ends\nnext"),
    ],
)
def test_what_is_not_read_is_left_out_and_lines_stay(data, read):
    assert plain(data) == read
    assert plain(data).count(b"\n") == data.count(b"\n")


@pytest.mark.parametrize("unit", [b"\x1b[", b"\x1b]", b"\x1b[0", b"\r", b"\x1b", b"\x1b]x", b"\x1b \x1b["])
def test_reading_takes_time_linear_in_the_bytes_whatever_they_are(unit):
    data = unit * (2_000_000 // len(unit))
    began = time.perf_counter()
    plain(data)
    assert time.perf_counter() - began < 5


@pytest.mark.parametrize(
    ("line", "span", "raw"),
    [
        (b"ab", (0, 2), (0, 2)),
        (b"\x1b[1mab\x1b[0mc", (0, 2), (4, 6)),
        (b"\x1b[1ma\x1b[0mbc", (0, 2), (4, 10)),
        (b"a\x1b[1m\x1b[2mb", (1, 2), (9, 10)),
        (b"a\x1b[1mb", (1, 1), (5, 5)),
        (b"a\x1b[1m", (0, 1), (0, 1)),
    ],
)
def test_spans_of_what_is_read_are_spans_of_the_bytes(line, span, raw):
    assert raw_spans(line, [span]) == [raw]


def test_a_line_is_cut_around_its_first_span():
    line = b"x" * 3000 + "größe".encode() + b"y" * 3000
    found = shown(line, [(3000, 3007)])
    assert (found.cut_before, len(found.text), found.cut_after) == (2800, 2000, 1205)
    assert [found.text[start:end] for start, end in found.spans] == ["größe"]
    assert found.cut_before + len(found.text) + found.cut_after == 6005


@pytest.mark.parametrize(
    ("line", "spans", "expected"),
    [
        (b"", [], Shown("", [], 0, 0, True)),
        (b"10 %\r20 %", [(0, 2)], Shown("10 %", [(0, 2)], 0, 0, False)),
        (b"10 %\r20 %", [(5, 7)], Shown("20 %", [(0, 2)], 0, 0, True)),
        (b"10 %\r20 %", [(0, 9)], Shown("10 %", [(0, 4)], 0, 0, False)),
        (b"10\r10\r10", [(0, 2), (3, 5), (6, 8)], Shown("10", [(0, 2)], 0, 0, False)),
        (b"a\x00\x07b\xffc", [(3, 5)], Shown("ab\ufffdc", [(1, 3)], 0, 0, True)),
        (b"abc", [(1, 1), (2, 2)], Shown("abc", [(1, 1), (2, 2)], 0, 0, True)),
        ("ü".encode(), [(0, 1)], Shown("\ufffd\ufffd", [(0, 1)], 0, 0, True)),
    ],
)
def test_a_line_is_shown_with_its_spans_in_characters(line, spans, expected):
    assert shown(line, spans) == expected
