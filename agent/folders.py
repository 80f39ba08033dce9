"""A workload's folder on this host: what was ordered, what was claimed, how far its rank has come.

orders/start, orders/stop   noted by the Celery worker
claim                       the panel gave this rank to this host (no secrets in it)
refused                     the panel did not: nothing of it is ever started here
sourced                     its source lies in `work`
builds                      what was made on this host while it waited (agent/makings.py)
states                      what the panel is told, a line each; shipped by offset
prepare/                    what preparing printed
points, measured            what its program measured (agent/meter.py); all of it is there
files, listed               which files it has written (agent/listing.py); the last look was taken
rank/                       the supervisor's (agent/supervisor.py)
work/                       where the command runs
done                        all of it is with the panel; the folder goes KEEP_DONE_S later
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from uuid import UUID

from agent import locks, notes
from agent.protocol import ENDED, PART_OUTPUT, PART_PREPARE, RankReport
from agent.spool import SpoolReader

KEEP_DONE_S = 3600


class WorkloadFolder:
    """One rank's folder: a host has at most one rank of a workload. Every write is whole or not there."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.workload_id = UUID(path.name)
        self.rank_folder = path / "rank"
        self.work = path / "work"
        self.metrics_file = self.rank_folder / "metrics.jsonl"

    def __str__(self) -> str:
        return str(self.workload_id)

    # -- What the panel wants ----------------------------------------------------------------------------

    def note_start(self, rank: int) -> None:
        """The order came: rank `rank` is to start here. The same order again changes nothing."""
        (self.path / "orders").mkdir(parents=True, exist_ok=True, mode=0o700)
        with suppress(FileExistsError):
            notes.write_once(self._name("orders/start"), {"rank": rank})

    def note_stop(self, grace_s: float) -> None:
        """The order came: it is to end. Of several the smallest grace wins."""
        (self.path / "orders").mkdir(parents=True, exist_ok=True, mode=0o700)
        known = self.stop_grace_s()
        if known is None or grace_s < known:
            notes.write(self._name("orders/stop"), {"grace_s": grace_s})

    def ordered_rank(self) -> int | None:
        """The number of the rank that is to start here; None: no start was ordered."""
        order = notes.read(self._name("orders/start"))
        return None if order is None else int(order["rank"])  # type: ignore[call-overload]

    def stop_grace_s(self) -> float | None:
        order = notes.read(self._name("orders/stop"))
        return None if order is None else float(order["grace_s"])  # type: ignore[arg-type]

    # -- The claim ---------------------------------------------------------------------------------------

    def note_claim(self, facts: dict[str, object]) -> None:
        notes.write(self._name("claim"), facts)

    def note_refused(self, sentence: str) -> None:
        notes.write(self._name("refused"), {"sentence": sentence})

    def claim(self) -> dict[str, object] | None:
        """What was kept of the panel's answer: rank, runtime, checkout, output, places of files by area, at_ms."""
        return notes.read(self._name("claim"))

    def note_source(self) -> None:
        notes.write(self._name("sourced"), {"at_ms": _now_ms()})

    def has_source(self) -> bool:
        return (self.path / "sourced").exists()

    # -- The supervisor ----------------------------------------------------------------------------------

    def make_rank_folder(self) -> None:
        for folder in (self.rank_folder, self.work):
            folder.mkdir(exist_ok=True, mode=0o700)

    def is_supervised(self) -> bool:
        """A supervisor lives here: it holds the lock until it ends."""
        return locks.is_held(self.rank_folder / "alive")

    def supervisor_note(self, name: str) -> dict[str, object] | None:
        """`started`, `running` or `end`, as the supervisor wrote it; None: not there."""
        return notes.read(os.fspath(self.rank_folder / name))

    def forget_not_begun(self) -> None:
        """The supervisor's word that it did not begin was heard: the next one may try."""
        (self.rank_folder / "not-begun").unlink(missing_ok=True)

    def spend_start(self) -> bool:
        """Take this rank's one start, so that no supervisor that is still on its way can. False: it was taken before."""
        self.make_rank_folder()
        try:
            notes.write_once(os.fspath(self.rank_folder / "started"), {"by": "agent", "at_ms": _now_ms()})
        except FileExistsError:
            return False
        return True

    def pass_stop(self, grace_s: float) -> bool:
        """Leave the stop for the supervisor to see. False: this one, or a sharper one, lies there already."""
        path = os.fspath(self.rank_folder / "stop")
        known = notes.read(path)
        if known and float(known["grace_s"]) <= grace_s:  # type: ignore[arg-type]
            return False
        notes.write(path, {"grace_s": grace_s})
        return True

    # -- What the panel is told --------------------------------------------------------------------------

    def report(self, report: RankReport) -> None:
        """Add a line to `states`, on the disk before this returns."""
        states = os.open(self.path / "states", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            _cut_half_line(self.path / "states", states)
            os.write(states, report.line())
            os.fsync(states)
        finally:
            os.close(states)

    def last_report(self) -> RankReport | None:
        """The last whole line of `states` that is a report: the panel passes over what is none, too."""
        try:
            lines = (self.path / "states").read_bytes().splitlines(keepends=True)
        except FileNotFoundError:
            return None
        for line in reversed(lines):
            if line.endswith(b"\n"):
                with suppress(ValueError):
                    return RankReport.from_line(line)
        return None

    def has_ended(self) -> bool:
        """The panel is told, or will be, that nothing of it is left here."""
        last = self.last_report()
        return last is not None and last.state == ENDED

    def spool(self, part: str) -> SpoolReader:
        return SpoolReader({PART_OUTPUT: self.rank_folder / "output", PART_PREPARE: self.path / "prepare"}[part])

    # -- Its end -----------------------------------------------------------------------------------------

    def note_measured(self) -> None:
        notes.write(self._name("measured"), {"at_ms": _now_ms()})

    def is_measured(self) -> bool:
        """All that its program measured stands in `points`."""
        return (self.path / "measured").exists()

    def note_listed(self) -> None:
        notes.write(self._name("listed"), {"at_ms": _now_ms()})

    def is_listed(self) -> bool:
        """All files that it has left stand in `files`."""
        return (self.path / "listed").exists()

    def note_done(self) -> None:
        notes.write(self._name("done"), {"at_ms": _now_ms()})

    def is_done(self) -> bool:
        return (self.path / "done").exists()

    def drop_if_old(self, now_s: float) -> bool:
        """Delete it KEEP_DONE_S after it was done. A crash in between leaves `done` to the last."""
        done = notes.read(self._name("done"))
        if done is None or now_s - float(done["at_ms"]) / 1000 < KEEP_DONE_S:  # type: ignore[arg-type]
            return False
        for entry in self.path.iterdir():
            if entry.name != "done":
                shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
        shutil.rmtree(self.path)
        return True

    def _name(self, name: str) -> str:
        return os.fspath(self.path / name)


def all_folders(workloads: Path) -> Iterator[WorkloadFolder]:
    """Every workload that the disk knows, oldest first: their ids are in the order of time."""
    for path in sorted(workloads.iterdir()):
        with suppress(ValueError):  # something else lies there
            yield WorkloadFolder(path)


def _cut_half_line(path: Path, states: int) -> None:
    """What a power cut left of a line: the next one must not be glued to it."""
    data = path.read_bytes()
    if data and not data.endswith(b"\n"):
        os.ftruncate(states, data.rfind(b"\n") + 1)


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
