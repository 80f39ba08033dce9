"""What docs/architecture.md and the states' comments name exists: a move of code moves its description."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
IN_CODE = re.compile(r"`([a-z_./]+(?:\.[A-Za-z_]+)*)`")
APPS = ("jobs", "clusters", "monitoring", "projects", "controlpanel", "agent")
NAMED = re.findall(IN_CODE, (ROOT / "docs" / "architecture.md").read_text())
PATHS = sorted({name for name in NAMED if "/" in name})
DOTTED = sorted({name for name in NAMED if "/" not in name and name.partition(".")[0] in APPS})
# "attempts.follow" of a comment such as `# in: services.launch, attempts.follow; out: ...`
OF_STATES = {
    (app, *found)
    for app in ("jobs", "clusters")
    for line in (ROOT / app / "states.py").read_text().splitlines()
    if line.strip().startswith("# in")
    for found in re.findall(r"\b([a-z]+(?:_[a-z]+)*)\.([a-z]+(?:_[a-z]+)*)\b", line.replace("clusters/sweep.py", ""))
}


def is_there(name: str) -> bool:
    """Of a module, or of what one holds."""
    try:
        importlib.import_module(name)
    except ModuleNotFoundError:
        module, _dot, attribute = name.rpartition(".")
        return bool(module) and hasattr(importlib.import_module(module), attribute)
    return True


def test_it_names_much():
    assert len(DOTTED) > 40 and len(PATHS) > 8 and len(OF_STATES) > 15


@pytest.mark.parametrize("name", DOTTED)
def test_what_it_names_exists(name):
    assert is_there(name), name


@pytest.mark.parametrize("path", PATHS)
def test_the_files_that_it_names_exist(path):
    assert (ROOT / path).exists() or "*" in path, path


@pytest.mark.parametrize(("app", "module", "function"), sorted(OF_STATES), ids=lambda part: part)
def test_who_moves_a_state_exists(app, module, function):
    assert is_there(f"{app}.{module}.{function}")
