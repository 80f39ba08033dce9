"""Disks so small that a test can fill them."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def small_disk(place: Path, mib: int) -> Iterator[Path]:
    """A folder that is a disk of its own, in memory. Skips the test where mounting is not allowed."""
    place.mkdir(parents=True, exist_ok=True)
    try:
        mount = ["mount", "-t", "tmpfs", "-o", f"size={mib}m", "tmpfs", str(place)]
        mounted = subprocess.run(mount, check=False, capture_output=True, text=True)
    except FileNotFoundError:
        pytest.skip("there is no mount command")
    if mounted.returncode:
        pytest.skip(f"a small disk cannot be mounted here: {mounted.stderr.strip()}")
    try:
        yield place
    finally:
        subprocess.run(["umount", "--lazy", place], check=True)


def fill(place: Path, *, leave_bytes: int) -> Path:
    """A file that takes all but so much of the disk."""
    ballast = place / "ballast"
    room = os.statvfs(place)
    with ballast.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, room.f_bavail * room.f_frsize - leave_bytes)
    return ballast
