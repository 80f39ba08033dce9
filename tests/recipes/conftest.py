from __future__ import annotations

import fcntl
import hashlib
from collections.abc import Callable
from pathlib import Path

import pytest

from agent import building
from clusters import runtimes

CACHE = Path.home() / ".cache" / "tpu-panel-tests" / "runtimes"


@pytest.fixture(scope="session")
def runtime() -> Callable[[str], Path]:
    """The programs of a preset's environment, as a host keeps it: built when it is missing, by one test process at a time."""
    return _programs


def _programs(name: str) -> Path:
    requirements = "\n".join(runtimes.locked((runtimes.FOLDER / f"{name}.txt").read_text())) + "\n"
    folder = CACHE / hashlib.sha256(requirements.encode()).hexdigest()
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "ready").exists():
            (folder / "requirements.txt").write_text(requirements)
            assert building.build(folder) == 0, f"{name} can't be built; uv says why above"
    return folder / "venv" / "bin"
