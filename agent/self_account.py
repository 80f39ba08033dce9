"""What the agent tells of itself: the end of its own log, and the runtimes that stand on this machine."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Iterable
from logging.handlers import RotatingFileHandler
from pathlib import Path

from agent.protocol import AgentReport, BuiltRuntime

FORMAT = "%(asctime)s %(levelname)s %(name)s %(message)s"
KEPT_BYTES = 1024 * 1024  # of log on the disk, and as much of what came before
TOLD_BYTES = 16 * 1024
AGAIN_AFTER_S = 300.0  # what was told may be lost


def keep_log(path: Path) -> None:
    """From now on what this process logs stands in a file, too: it outlives the agent, and the panel shows its end."""
    handler = RotatingFileHandler(path, maxBytes=KEPT_BYTES, backupCount=1, encoding="utf-8", errors="backslashreplace")
    handler.setFormatter(logging.Formatter(FORMAT))
    logging.getLogger().addHandler(handler)


def end_of(path: Path) -> str:
    """Whole lines of at most TOLD_BYTES, of the file before it, too, where a new one has just begun."""
    data, is_cut = b"", False
    for part in (path, path.with_name(f"{path.name}.1")):
        if part.exists() and not is_cut:
            with part.open("rb") as file:
                start = max(0, os.fstat(file.fileno()).st_size - (TOLD_BYTES - len(data)))
                file.seek(start)
                data, is_cut = file.read() + data, start > 0
    return data[data.find(b"\n") + 1 if is_cut else 0 :].decode(errors="replace")


class SelfAccount:
    """A report when there is something new to tell, and again after AGAIN_AFTER_S."""

    def __init__(self, log: Path, *, runtimes: Callable[[], Iterable[BuiltRuntime]]) -> None:
        self._log = log
        self._runtimes = runtimes
        self._told: tuple[str, tuple[BuiltRuntime, ...]] | None = None
        self._told_at = 0.0

    def report(self) -> AgentReport | None:
        """None: nothing is new. Raises OSError, ValueError."""
        now = time.monotonic()
        found = (end_of(self._log), tuple(self._runtimes()))
        if found == self._told and now < self._told_at + AGAIN_AFTER_S:
            return None
        self._told, self._told_at = found, now
        return AgentReport(time.time_ns() // 1_000_000, *found)
