"""The agent as the panel hands it out: one wheel, under its true name, built from agent/ without a network."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from django.conf import settings


def folder() -> Path:
    return settings.VAR_DIR / "wheels"


def build() -> Path:
    """Build the wheel anew into var/wheels; returns its path. Raises CalledProcessError with pip's words on stderr."""
    source = settings.BASE_DIR / "agent"
    folder().mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder()) as scratch:  # on the same disk: the wheel is moved in one step
        copy = Path(scratch) / "agent"  # building leaves things behind in the folder of the source
        shutil.copytree(source, copy, ignore=shutil.ignore_patterns("__pycache__", "build", "*.egg-info"))
        command = [
            sys.executable,
            "-m",
            "pip",
            "wheel",
            "--quiet",
            "--no-deps",
            "--no-build-isolation",
            "--wheel-dir",
            scratch,
            str(copy),
        ]
        # The same source makes the same bytes, by which hosts know what they have.
        subprocess.run(command, check=True, capture_output=True, text=True, env=os.environ | {"SOURCE_DATE_EPOCH": "946684800"})
        built = next(Path(scratch).glob("*.whl"))
        target = folder() / built.name
        built.replace(target)
    return target


def newest() -> Path | None:
    """The wheel that hosts should have; None before the first was built."""
    return max(folder().glob("*.whl"), key=lambda path: path.stat().st_mtime, default=None)


def find(name: str) -> Path | None:
    """The wheel of this file name, if the panel has it."""
    path = folder() / Path(name).name
    return path if path.suffix == ".whl" and path.is_file() else None
