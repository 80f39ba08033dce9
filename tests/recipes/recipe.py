"""A recipe as the panel starts it: form filled in, command in a copy of its folder, a runtime's programs first on the path."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

from jobs import parameters

RECIPES = Path(__file__).parents[2] / "recipes"
PROGRESS = re.compile(r"^::progress step=(\d+) total=(\d+)$", re.MULTILINE)
TIMEOUT_S = 120


class Attempt:
    """One process of a recipe, printing into a file."""

    def __init__(self, process: subprocess.Popen[bytes], log: Path) -> None:
        self.process = process
        self._log = log

    @property
    def said(self) -> str:
        return self._log.read_text()

    def wait_for_step(self, step: int) -> None:
        """Until it tells that so many optimizer steps are done."""
        deadline = time.monotonic() + TIMEOUT_S
        while max((done for done, _total in progress(self.said)), default=0) < step:
            assert self.process.poll() is None, self.said
            assert time.monotonic() < deadline, self.said
            time.sleep(0.02)

    def end(self, *, code: int = 0) -> str:
        """What it printed, once it has ended with `code`."""
        try:
            self.process.wait(timeout=TIMEOUT_S)
        finally:
            self.process.kill()
        assert self.process.returncode == code, self.said
        return self.said


class Recipe:
    def __init__(self, name: str, programs: Path | None = None) -> None:
        self.folder = RECIPES / name
        self.description: dict[str, Any] = json.loads((self.folder / "recipe.json").read_text())
        self.programs = programs

    def start(self, files: Path, *, attempt: str = "1", **given: Any) -> Attempt:
        """Checkpoints go to `files`/checkpoints, which attempts share; output goes to `files`/`attempt`."""
        source, log = files / "source", files / f"{attempt}.log"
        shutil.copytree(self.folder, source, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
        values = parameters.check(self.description["parameters"], given)
        spec = parameters.fill(self.description["template"], values)
        environment = {
            "PATH": f"{self.programs}:/usr/bin:/bin",
            "HOME": os.fspath(files),
            "PYTHONUNBUFFERED": "1",
            "PJRT_DEVICE": "CPU",
            "TPU_SKIP_MDS_QUERY": "1",
            "PANEL_OUTPUT": os.fspath(files / attempt),
            "PANEL_CHECKPOINTS": os.fspath(files / "checkpoints"),
        }
        with log.open("wb") as output:
            process = subprocess.Popen(
                spec.command,
                cwd=source,
                env=environment | spec.environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        return Attempt(process, log)

    def run(self, files: Path, *, attempt: str = "1", code: int = 0, **given: Any) -> str:
        """What it printed, once it has ended with `code`."""
        return self.start(files, attempt=attempt, **given).end(code=code)


def progress(said: str) -> list[tuple[int, int]]:
    """(step, total) of each line that tells it."""
    return [(int(step), int(total)) for step, total in PROGRESS.findall(said)]
