"""docs/benchmarks.md names each benchmark with a command that it takes, and so does the program's own docstring."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = (ROOT / "docs" / "benchmarks.md").read_text()
PROGRAMS = sorted(path.stem for path in (ROOT / "benchmarks").glob("*.py") if "def main(" in path.read_text())
COMMANDS = re.findall(r"python -m benchmarks\.(\w+)([^`\n|]*)", DOCS)
MAKE = re.search(r"^bench:.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(), re.MULTILINE)


def options_of(program: str) -> set[str]:
    return set(re.findall(r"add_argument\(\s*\"(--[a-z-]+)\"", (ROOT / "benchmarks" / f"{program}.py").read_text()))


def test_there_are_some():
    assert len(PROGRAMS) >= 10 and len(COMMANDS) >= len(PROGRAMS)


@pytest.mark.parametrize("program", PROGRAMS)
def test_each_is_told_with_its_command(program):
    assert program in {name for name, _rest in COMMANDS}
    assert f"python -m benchmarks.{program}" in (ROOT / "benchmarks" / f"{program}.py").read_text()


@pytest.mark.parametrize(("program", "rest"), COMMANDS, ids=[f"{n}-{program}" for n, (program, _rest) in enumerate(COMMANDS)])
def test_a_command_has_options_that_the_program_takes(program, rest):
    assert program in PROGRAMS
    assert set(re.findall(r"--[a-z-]+", rest)) <= options_of(program)


def test_make_bench_runs_programs_that_there_are():
    assert MAKE
    runs = re.findall(r'"(\w+)((?: --[a-z]+ \d+)*)"', MAKE[1])
    assert {program for program, _options in runs} == {*PROGRAMS} - {"large_log"}  # which the others call
    for program, options in runs:
        assert set(re.findall(r"--[a-z-]+", options)) <= options_of(program)
