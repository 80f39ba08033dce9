"""A state folder belongs to one `manage.py up` at a time. Imports no Django (controlpanel/up.py)."""

from __future__ import annotations

import fcntl
import json
import os
import time
from pathlib import Path
from typing import IO

LOOK_EVERY_S = 0.2


class InUse(Exception):
    """Another panel has the folder; says which."""


class FolderLock:
    """Held until this process ends, however it ends: the kernel lets go of it. The file says who holds it, for the next one."""

    def __init__(self, var: Path, *, url: str, wait_s: float) -> None:
        """Waits `wait_s` for a panel that is ending. Raises InUse."""
        self._file = (var / "up.lock").open("a+")
        until = time.monotonic() + wait_s
        while not _is_taken(self._file):
            holder = _read(self._file)
            if not holder.get("is_ending") or time.monotonic() > until:
                where, pid = holder.get("url", "an address of its own"), holder.get("pid", "unknown")
                self._file.close()
                raise InUse(
                    f"The panel of {var} runs already, at {where} (process {pid}). End that one, or give this one a folder of its"
                    " own: PANEL_VAR=another/folder."
                )
            time.sleep(LOOK_EVERY_S)
        self._holder = {"url": url, "pid": os.getpid(), "is_ending": False}
        self._write()

    def ending(self) -> None:
        """Who comes now may wait for it."""
        self._holder["is_ending"] = True
        self._write()

    def _write(self) -> None:
        self._file.truncate(0)
        self._file.write(json.dumps(self._holder))
        self._file.flush()


def _is_taken(file: IO[str]) -> bool:
    """By us, now."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _read(file: IO[str]) -> dict[str, object]:
    file.seek(0)
    try:
        found = json.loads(file.read())
    except ValueError:  # just being written
        return {"is_ending": True}
    return found if isinstance(found, dict) else {}
