"""The small JSON files by which a rank's folder says how far it has come. A note is there whole, or not at all."""
# No pathlib, as the supervisor imports this: it would cost each rank 8 ms and 0.7 MB.
# ruff: noqa: PTH104, PTH108, PTH120, PTH123

from __future__ import annotations

import json
import os
from collections.abc import Mapping

RESERVED_BYTES = 4096


def write_once(path: str, facts: Mapping[str, object]) -> None:
    """A note that only one can make, and that outlasts a power cut.

    Raises FileExistsError when it is there, OSError (and leaves nothing) when the disk does not take it.
    """
    part = f"{path}.{os.getpid()}.part"
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT, 0o600)
    try:
        _fill(descriptor, facts)
        os.link(part, path)
    finally:
        os.close(descriptor)
        os.unlink(part)
    try:
        _sync_folder(path)
    except OSError:
        os.unlink(path)
        raise


def write(path: str, facts: Mapping[str, object]) -> None:
    """A note that outlasts a power cut; replaces an earlier one. Raises OSError; safe to try again."""
    part = path + ".part"
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT, 0o600)
    try:
        _fill(descriptor, facts)
    finally:
        os.close(descriptor)
    os.rename(part, path)
    _sync_folder(path)


def reserve(path: str) -> None:
    """Take the space that `write(path)` will need, so that it works on a full disk. Raises OSError."""
    descriptor = os.open(path + ".part", os.O_WRONLY | os.O_CREAT, 0o600)
    try:
        os.posix_fallocate(descriptor, 0, RESERVED_BYTES)
    finally:
        os.close(descriptor)


def read(path: str) -> dict[str, object] | None:
    """The note, or None when it is not there. Raises ValueError when it is not one."""
    try:
        with open(path, "rb") as file:
            facts = json.loads(file.read())
    except FileNotFoundError:
        return None
    if not isinstance(facts, dict):
        raise ValueError(f"{path} holds no JSON object")
    return facts


def _fill(descriptor: int, facts: Mapping[str, object]) -> None:
    """Over what is there, and cut after it: reserved space is used, not given back first."""
    text = json.dumps(facts).encode()
    if os.pwrite(descriptor, text, 0) < len(text):
        raise OSError("the disk took half a note")
    os.ftruncate(descriptor, len(text))
    os.fsync(descriptor)


def _sync_folder(path: str) -> None:
    folder = os.open(os.path.dirname(path), os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
