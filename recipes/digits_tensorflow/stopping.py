"""SIGTERM: the request to end soon, answered at the next safe place."""

from __future__ import annotations

import signal
from types import FrameType, TracebackType

EXIT_CODE = 128 + signal.SIGTERM  # what a shell says of a process that SIGTERM ended


class StopRequest:
    """While it is entered SIGTERM only sets `came`; before and after, when nothing would be lost, it ends the process."""

    came = False

    def __enter__(self) -> StopRequest:
        self._before = signal.signal(signal.SIGTERM, self._note)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        signal.signal(signal.SIGTERM, self._before)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.came = True
