"""Takes each rank one step on, from what its folder says. Keeps no memory that matters: a new agent goes on where this one was.

                    no `started`                          `started`
lock held           a supervisor is beginning: wait       it runs: tell of `running`, pass a stop on
lock free           stop ordered: never start             `end`: tell how it ended
                    start ordered: claim, then start      no `end`: its supervisor was killed; end what is left
"""

from __future__ import annotations

import logging
import os
import signal
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from uuid import UUID

from agent import processes
from agent.folders import WorkloadFolder
from agent.panel import Refused, Unreachable
from agent.preparing import Failed, NotReady, Preparer, report_preparing
from agent.protocol import (
    CAUSE_FOLDER_GONE,
    CAUSE_NOT_STARTED,
    CAUSE_PREPARE_FAILED,
    CAUSE_SUPERVISOR_LOST,
    ENDED,
    ENV_WORKLOAD,
    PART_OUTPUT,
    PART_PREPARE,
    PREPARING,
    RUNNING,
    RankReport,
    Start,
)
from agent.supervisor import EXIT_BAD_SPEC

logger = logging.getLogger(__name__)

CLAIMS_AT_ONCE = 4
LONGEST_WAIT_S = 10.0  # between two tries of the same thing
BEGIN_WITHIN_S = 5.0  # from the launch to a supervisor's lock, or its word

Claim = Callable[[UUID, int], Start]
Launch = Callable[[WorkloadFolder, Start, Path | None, Path, Path], None]


class Ranks:
    """`claim` asks the panel, `launch` starts a supervisor; both are tried again later when they fail for a passing reason."""

    def __init__(self, claim: Claim, preparer: Preparer, launch: Launch) -> None:
        self._claim = claim
        self._preparer = preparer
        self._launch = launch
        self._claims = ThreadPoolExecutor(CLAIMS_AT_ONCE, thread_name_prefix="claim")
        self._under_way: dict[UUID, Future[None]] = {}  # asked of the panel and not answered yet
        self._beginning: dict[UUID, float] = {}  # when this agent started a supervisor (monotonic)
        self._begun: set[UUID] = set()  # seen to have begun: never begun again, should the command delete what says so
        self._patience: dict[UUID, tuple[int, float]] = {}  # tries, not before (monotonic)

    def step(self, folder: WorkloadFolder) -> None:
        """One look at one folder. Never waits for the panel or for a process."""
        claiming = self._under_way.get(folder.workload_id)
        if claiming and not claiming.done():
            return
        # In this order: a lock found free after `started` was seen means that its holder is dead, and what it left is final.
        started = folder.supervisor_note("started")
        is_supervised = folder.is_supervised()
        end = folder.supervisor_note("end")
        if started or end:
            self._begun.add(folder.workload_id)
        if end is not None:
            self._tell_running(folder)  # it may have been too short to be seen
            folder.report(_report_of(folder, end))
        elif is_supervised:
            if started:
                self._watch(folder)
        elif started:
            self._clear(folder, started)
        elif folder.workload_id in self._begun:
            self._clear(folder, None)
        elif folder.stop_grace_s() is not None:
            _never_start(folder, "a stop came before the start")
        elif (rank := folder.ordered_rank()) is not None:
            self._begin(folder, rank)

    def forget(self, folder: WorkloadFolder) -> None:
        """It has ended: nothing more is asked or begun for it."""
        self._begun.discard(folder.workload_id)
        for memory in (self._under_way, self._beginning, self._patience):
            memory.pop(folder.workload_id, None)  # type: ignore[attr-defined]

    def close(self) -> None:
        self._claims.shutdown(wait=False, cancel_futures=True)

    # -- Not started yet -----------------------------------------------------------------------------------

    def _begin(self, folder: WorkloadFolder, rank: int) -> None:
        if self._is_beginning(folder) or folder.has_ended():
            return
        claim = folder.claim()
        try:
            if claim is not None and not self._preparer.look(folder, claim):
                return
        except Failed as error:
            _end(folder, CAUSE_PREPARE_FAILED, str(error))
            return
        if time.monotonic() >= self._patience.get(folder.workload_id, (0, 0.0))[1]:
            self._under_way[folder.workload_id] = self._claims.submit(self._claim_and_launch, folder, rank)

    def _is_beginning(self, folder: WorkloadFolder) -> bool:
        """A supervisor is on its way to its lock. One that said why it does not begin, or is overdue, is not."""
        launched_at = self._beginning.get(folder.workload_id)
        if launched_at is None:
            return False
        told = folder.supervisor_note("not-begun")
        if told is None and time.monotonic() - launched_at < BEGIN_WITHIN_S:
            return True
        del self._beginning[folder.workload_id]
        if told is None and (not folder.rank_folder.exists() or processes.marked(ENV_WORKLOAD, str(folder))):
            self._begun.add(folder.workload_id)  # and its command has deleted what would say so
            return True
        if told is not None:
            folder.forget_not_begun()
            if told["code"] == EXIT_BAD_SPEC:
                _end(folder, CAUSE_PREPARE_FAILED, str(told["sentence"]))
            else:
                self._again_later(folder, str(told["sentence"]))
        return False

    def _claim_and_launch(self, folder: WorkloadFolder, rank: int) -> None:
        try:
            start = self._claim(folder.workload_id, rank)
            self._preparer.claimed(folder, start)
            if folder.stop_grace_s() is None:  # else it came while the panel was asked
                places = self._preparer.prepare(folder, start)
                self._launch(folder, start, *places)
                self._beginning[folder.workload_id] = time.monotonic()
        except NotReady as step:
            report_preparing(folder, str(step))
        except Failed as error:
            _end(folder, CAUSE_PREPARE_FAILED, str(error))
        except Refused as refusal:
            if refusal.code in ("session-over", "host-unknown"):  # it is this agent that is refused, not the rank
                self._again_later(folder, refusal.sentence)
                return
            logger.info("claim refused workload=%s code=%s", folder, refusal.code)
            folder.note_refused(refusal.sentence)
            _never_start(folder, refusal.sentence)
        except (Unreachable, OSError) as error:
            self._again_later(folder, str(error))
        except Exception:
            logger.exception("cannot start workload=%s", folder)
            self._again_later(folder, "")
        else:
            self._patience.pop(folder.workload_id, None)

    def _again_later(self, folder: WorkloadFolder, why: str) -> None:
        tries = self._patience.get(folder.workload_id, (0, 0.0))[0] + 1
        self._patience[folder.workload_id] = (tries, time.monotonic() + min(0.2 * 2**tries, LONGEST_WAIT_S))
        logger.warning("not started yet workload=%s tries=%d why=%s", folder, tries, why)

    # -- Started -------------------------------------------------------------------------------------------

    def _watch(self, folder: WorkloadFolder) -> None:
        self._beginning.pop(folder.workload_id, None)
        self._tell_running(folder)
        supervisor = _supervisor(folder)
        if supervisor and processes.is_stopped(supervisor):  # its command runs as the same user, and has stopped it
            _signal(supervisor, signal.SIGCONT)
        grace_s = folder.stop_grace_s()
        if grace_s is not None and folder.pass_stop(grace_s) and supervisor:
            _signal(supervisor, signal.SIGTERM)  # it looks five times a second anyway; this makes it look now

    def _tell_running(self, folder: WorkloadFolder) -> None:
        running = folder.supervisor_note("running")
        last = folder.last_report()
        if running and (last is None or last.state == PREPARING):
            folder.report(RankReport(state=RUNNING, at_ms=int(running["at_ms"])))  # type: ignore[call-overload]

    def _clear(self, folder: WorkloadFolder, started: dict[str, object] | None) -> None:
        """Nobody watches it any more: end what is left, then say so. `started` None: its folder was deleted."""
        if _kill_marked(folder):
            logger.warning("supervisor gone, ending what it left workload=%s", folder)
        elif started is None:
            _end(folder, CAUSE_FOLDER_GONE, "")
        elif started.get("by") == "agent":
            _end(folder, CAUSE_NOT_STARTED, "")
        else:
            _end(folder, CAUSE_SUPERVISOR_LOST, "")


def _never_start(folder: WorkloadFolder, why: str) -> None:
    """Spend the rank's one start, so that a supervisor that is still on its way finds it spent; then say so.

    Where the folder was deleted while it ran, something of it is left: that ends first.
    """
    if folder.spend_start() and not _kill_marked(folder):
        _end(folder, CAUSE_NOT_STARTED, why)


def _end(folder: WorkloadFolder, cause: str, detail: str) -> None:
    final = _final_offsets(folder, folder.spool(PART_OUTPUT).end())
    folder.report(RankReport(state=ENDED, at_ms=time.time_ns() // 1_000_000, cause=cause, detail=detail, final_offsets=final))


def _report_of(folder: WorkloadFolder, end: dict[str, object]) -> RankReport:
    return RankReport(
        state=ENDED,
        at_ms=end["at_ms"],  # type: ignore[arg-type]
        detail=str(end["detail"]),
        exit_code=end["exit_code"],  # type: ignore[arg-type]
        signal=end["signal"],  # type: ignore[arg-type]
        cause=str(end["cause"]),
        final_offsets=_final_offsets(folder, end["final_offset"]),  # type: ignore[arg-type]
    )


def _final_offsets(folder: WorkloadFolder, output: int) -> dict[str, int]:
    """Of `prepare` only where preparing printed something."""
    prepare = folder.spool(PART_PREPARE).end()
    return {PART_OUTPUT: output} | ({PART_PREPARE: prepare} if prepare else {})


def _supervisor(folder: WorkloadFolder) -> int | None:
    """Its process id, while it is the process that wrote it down."""
    started = folder.supervisor_note("started") or {}
    pid = started.get("supervisor_pid")
    is_it = isinstance(pid, int) and processes.start_time(pid) == started.get("supervisor_start_time")
    return pid if is_it else None  # type: ignore[return-value]


def _signal(pid: int, number: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, number)


def _kill_marked(folder: WorkloadFolder) -> list[int]:
    """KILL for every process that carries this workload's mark; returns those found."""
    found = processes.marked(ENV_WORKLOAD, str(folder))
    for pid in found:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)
    return found
