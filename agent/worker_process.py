"""The Celery worker (agent/worker.py) as the agent's one child."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import time

from agent.home import Home

logger = logging.getLogger(__name__)

FIRST_WAIT_S, LONGEST_WAIT_S = 0.5, 30.0  # between two starts


class WorkerProcess:
    """Started again after 0.5, 1 ... 30 s when it ends or is deaf; ended with the agent."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._process: subprocess.Popen[bytes] | None = None
        self._wait_s = FIRST_WAIT_S
        self._start_at = 0.0
        self._started_at = 0.0

    def tend(self, *, is_deaf: bool) -> None:
        now = time.monotonic()
        if self._process is not None and is_deaf and now - self._started_at > LONGEST_WAIT_S:
            logger.warning("the worker takes no orders, starting it again")
            self._process.kill()
            self._process.wait()
        if self._process is not None and self._process.poll() is not None:
            logger.warning("the worker ended code=%d", self._process.returncode)
            self._process = None
            self._wait_s = FIRST_WAIT_S if now - self._started_at > LONGEST_WAIT_S else min(self._wait_s * 2, LONGEST_WAIT_S)
            self._start_at = now + self._wait_s
        if self._process is None and now >= self._start_at:
            self._started_at = now
            self._process = subprocess.Popen(
                [sys.executable, "-m", "agent", "orders", "--state", os.fspath(self._home.path)],
                stdin=subprocess.DEVNULL,
                start_new_session=True,
                env=os.environ
                | {"PYTHONWARNINGS": "ignore::UserWarning:celery.platforms"},  # that it runs as root, where it does
            )

    def end(self) -> None:
        """Nothing is lost with it: orders that it holds come again."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None
