"""docs/benchmarks.md, the programs' docstrings and `make bench` name programs and options that are there."""

from __future__ import annotations

import ast
import re

import pytest
from django.conf import settings

FOLDER = settings.BASE_DIR / "benchmarks"
PROGRAMS = sorted(path.stem for path in FOLDER.glob("*.py") if "\ndef main(" in path.read_text())
MADE_FOR_OTHERS = {"large_log"}  # measures nothing


def commands_of(name: str, text: str) -> list[str]:
    """What stands behind `python -m benchmarks.NAME`, to the end of each such line."""
    return re.findall(rf"^ +.*python -m benchmarks\.{name}\b(.*)$", text, re.MULTILINE)


def options_of(name: str) -> set[str]:
    return set(re.findall(r'add_argument\("(--[\w-]+)"', (FOLDER / f"{name}.py").read_text()))


def section_of(name: str) -> str:
    return (settings.BASE_DIR / "docs/benchmarks.md").read_text().partition(f"\n## {name}\n")[2].partition("\n## ")[0]


def named(command: str) -> set[str]:
    return set(re.findall(r"--[\w-]+", command))


def test_every_section_is_of_a_program_that_is_there():
    titles = re.findall(r"^## (.+)$", (settings.BASE_DIR / "docs/benchmarks.md").read_text(), re.MULTILINE)
    assert sorted(titles) == PROGRAMS


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_is_told_of_with_a_command_that_it_takes(name):
    docstring = ast.get_docstring(ast.parse((FOLDER / f"{name}.py").read_text())) or ""
    for text in (section_of(name), docstring):
        (command,) = commands_of(name, text)
        assert named(command) <= options_of(name)
    assert "baseline" in section_of(name).lower() and re.search(r"\baim\b", section_of(name).lower())
    assert re.search(r"^\| key \|", section_of(name), re.MULTILINE)


def test_a_row_is_named_after_a_key_that_the_program_prints():
    for name in PROGRAMS:
        sources = (FOLDER / f"{name}.py").read_text() + (FOLDER / "launch.py").read_text()
        for row in re.findall(r"^\| ([^|]+) \|", section_of(name), re.MULTILINE):
            for key in [] if row == "key" else row.split("."):
                assert key.removesuffix(" -number") in sources, f"{name}: {row}"


def test_make_bench_runs_every_program_with_options_that_it_takes():
    recipe = (settings.BASE_DIR / "Makefile").read_text().partition("\nbench:")[2].partition("\n\n")[0]
    runs = dict(re.findall(r"-m benchmarks\.(\w+)(.*)", recipe))
    assert sorted(runs) == sorted(set(PROGRAMS) - MADE_FOR_OTHERS)
    for name, words in runs.items():
        assert named(words) <= options_of(name)
