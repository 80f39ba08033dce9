"""How a command is brought to its end: the stop note, TERM, KILL, and the word for how it ended."""
# No pathlib, as the supervisor imports this: it would cost each rank 8 ms and 0.7 MB.
# ruff: noqa: PTH116

from __future__ import annotations

import os
import signal
from contextlib import suppress

from agent import notes, processes

# As in agent/protocol.py, held to it by a test: importing that would cost each rank 20 ms and 2 MB.
CAUSE_EXITED = "exited"
CAUSE_SIGNALED = "signaled"
CAUSE_STOPPED = "stopped"
CAUSE_OUT_OF_MEMORY = "out-of-memory"
CAUSE_COMMAND_NOT_FOUND = "command-not-found"

UNREADABLE_GRACE_S = 30.0


class StopNote:
    """The file by which the agent wants the command ended: {"grace_s": seconds from TERM to KILL}."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._seen: tuple[int, int] | None = None

    def new_grace_s(self) -> float | None:
        """The grace of a note that was not seen before, else None."""
        try:
            found = os.stat(self._path)
        except FileNotFoundError:
            return None
        if (found.st_ino, found.st_mtime_ns) == self._seen:
            return None
        self._seen = (found.st_ino, found.st_mtime_ns)
        try:
            return float((notes.read(self._path) or {})["grace_s"])  # type: ignore[arg-type]
        except (KeyError, TypeError, ValueError):
            return UNREADABLE_GRACE_S  # a stop all the same


class Ending:
    """Ends the command and all its descendants: TERM once, and KILL from a moment on that only comes nearer."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._kill_at: float | None = None  # seconds of the monotonic clock

    def ask(self, grace_s: float, now: float) -> list[int]:
        """The descendants found. Without grace nobody gets a TERM."""
        found = processes.descendants(os.getpid())
        if self._kill_at is None and grace_s > 0:
            self._terminate(found)
        self._kill_at = min(self._kill_at or now + grace_s, now + grace_s)
        return found

    def press(self, now: float) -> list[int]:
        """KILL for all that are left, when it is time. Call it until none is."""
        if self._kill_at is None or now < self._kill_at:
            return []
        found = processes.descendants(os.getpid())
        for pid in found:
            _send(pid, signal.SIGKILL)
        return found

    def _terminate(self, found: list[int]) -> None:
        """Each process once, the command's group at one stroke: a second TERM means "at once" to some programs."""
        in_group = {pid for pid in found if _group(pid) == self._pid}
        if in_group:
            _send(-self._pid, signal.SIGTERM)
        for pid in found:
            if pid not in in_group:
                _send(pid, signal.SIGTERM)


def cause_of(status: int, *, stopped: bool, out_of_memory: bool) -> str:
    """The word for a wait status. `out_of_memory`: the kernel's OOM killer ended some process meanwhile."""
    if stopped:
        return CAUSE_STOPPED
    if not os.WIFSIGNALED(status):
        return CAUSE_EXITED
    if os.WTERMSIG(status) == signal.SIGKILL and out_of_memory:
        return CAUSE_OUT_OF_MEMORY
    return CAUSE_SIGNALED


def _group(pid: int) -> int | None:
    try:
        return os.getpgid(pid)
    except ProcessLookupError:
        return None


def _send(pid: int, number: int) -> None:
    with suppress(ProcessLookupError, PermissionError):  # gone, or another user's: who is left keeps the rank from ending
        os.kill(pid, number)
