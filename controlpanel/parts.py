"""Processes that `manage.py up` keeps running: started, started again when they end, and ended with it.

Imports no Django.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import time
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

BASE_DIR = Path(__file__).resolve().parent.parent
PR_SET_PDEATHSIG = 1  # linux/prctl.h
FIRST_WAIT_S, LONGEST_WAIT_S = 1.0, 30.0  # between two starts of a part that ends
STEADY_S = 60.0  # a part that ran so long has earned a quick restart
_LIBC = ctypes.CDLL(None)


@dataclass
class Part:
    """One row of the process table."""

    name: str
    command: list[str]
    environment: dict[str, str] = field(default_factory=dict)
    process: subprocess.Popen[bytes] | None = None
    started_at: float = 0.0
    start_at: float = 0.0
    wait_s: float = FIRST_WAIT_S / 2

    def tend(self, now: float) -> None:
        """Start it; again after 1, 2 ... 30 s when it has ended."""
        if self.process is not None and self.process.poll() is not None:
            self.wait_s = FIRST_WAIT_S if now - self.started_at > STEADY_S else min(self.wait_s * 2, LONGEST_WAIT_S)
            say(f"{self.name} ended (code {self.process.returncode}); again in {self.wait_s:.0f} s")
            self.process, self.start_at = None, now + self.wait_s
        if self.process is None and now >= self.start_at:
            self.started_at = now
            self.process = spawn(self.command, self.environment)

    def end(self, deadline: float) -> None:
        if self.process is None:
            return
        try:
            self.process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def spawn(command: list[str], environment: dict[str, str]) -> subprocess.Popen[bytes]:
    """A child out of reach of the terminal's Ctrl-C, which ends when this process ends."""
    return subprocess.Popen(
        command,
        cwd=BASE_DIR,
        env=os.environ | environment,
        stdin=subprocess.DEVNULL,
        start_new_session=True,
        preexec_fn=partial(_LIBC.prctl, PR_SET_PDEATHSIG, signal.SIGTERM),  # noqa: PLW1509  one thread, and nothing but a system call
    )


def say(sentence: str) -> None:
    print(sentence, flush=True)
