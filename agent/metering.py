"""The thread that gathers metrics of all ranks, and samples how busy the host is."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from pathlib import Path
from uuid import UUID

from agent.collectors import Collectors
from agent.folders import WorkloadFolder, all_folders
from agent.home import Home
from agent.meter import Meter
from agent.protocol import Samples

logger = logging.getLogger(__name__)

READ_EVERY_S = 0.5
SAMPLE_EVERY_S = 5.0


class Metering:
    """`offer` takes samples; `wake` tells the shipper that points are new."""

    def __init__(self, home: Home, *, offer: Callable[[Samples], None], wake: Callable[[], None]) -> None:
        self._home = home
        self._offer = offer
        self._wake = wake
        self._collectors = Collectors(home.path)
        self._meters: dict[UUID, Meter] = {}
        self._measured: set[UUID] = set()
        self._sample_at = 0.0

    def run(self, stop: threading.Event) -> None:
        while not stop.wait(READ_EVERY_S):
            try:
                self.tick()
            except Exception:  # what a program writes must not end the thread that reads it
                logger.exception("metering failed")

    def tick(self) -> None:
        folders = [folder for folder in all_folders(self._home.workloads) if folder.workload_id not in self._measured]
        for folder in folders:
            if self._read(folder):
                self._wake()
        if time.monotonic() >= self._sample_at:
            self._sample_at = time.monotonic() + SAMPLE_EVERY_S
            self._offer(self._collectors.sample(_supervisors(folders)))

    def _read(self, folder: WorkloadFolder) -> bool:
        """True: there was something new. One broken file is the trouble of its own rank."""
        try:
            has_ended = folder.has_ended()  # first: what is read after that is all there is
            if not folder.is_measured() and folder.supervisor_note("started") is not None:
                meter = self._meters.get(folder.workload_id) or Meter(folder, _output_of(folder))
                self._meters[folder.workload_id] = meter
                if meter.read(is_last=has_ended):
                    return True
            if has_ended:
                self._close(folder)
        except Exception:  # whatever a program has written
            logger.exception("cannot gather metrics workload=%s", folder)
            if folder.has_ended():
                self._close(folder)
        return False

    def _close(self, folder: WorkloadFolder) -> None:
        if not folder.is_measured():
            folder.note_measured()
        self._measured.add(folder.workload_id)
        self._meters.pop(folder.workload_id, None)
        self._wake()


def _output_of(folder: WorkloadFolder) -> Path:
    claim = folder.claim() or {}
    return Path(str(claim.get("output") or folder.work / "output"))


def _supervisors(folders: list[WorkloadFolder]) -> dict[str, int]:
    """Workload -> pid of the supervisor that runs it now."""
    found = {}
    for folder in folders:
        started = folder.supervisor_note("started")
        if started and isinstance(started.get("supervisor_pid"), int) and folder.supervisor_note("end") is None:
            found[str(folder)] = int(started["supervisor_pid"])  # type: ignore[call-overload]
    return found
