"""Runs the browser's modules that need no browser: tests/js/*.test.mjs, by node's own test runner."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from django.conf import settings

FILES = sorted((settings.BASE_DIR / "tests" / "js").glob("*.test.mjs"))


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed: the browser's modules are not tested")
@pytest.mark.parametrize("file", FILES, ids=lambda path: path.name)
def test_module(file: Path):
    run = subprocess.run(
        ["node", "--import", "./tests/js/resolve.mjs", "--test", str(file)],
        cwd=settings.BASE_DIR,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr


def test_there_are_modules_to_test():
    assert {file.name for file in FILES} >= {"log_lines.test.mjs", "log_text.test.mjs"}
