"""SIGTERM: the request to end soon, answered at the next safe place."""

from __future__ import annotations

import signal
from types import FrameType

EXIT_CODE = 128 + signal.SIGTERM  # what a shell says of a process that SIGTERM ended


class StopRequest:
    """From when it is made SIGTERM only sets `came`.

    Python takes signals in a process's main thread, so that it must be made there; any thread may look at `came`.
    """

    came = False

    def __init__(self) -> None:
        signal.signal(signal.SIGTERM, self._note)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.came = True
