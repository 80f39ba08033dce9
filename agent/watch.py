"""From the fork of a rank's command to the moment at which nothing of it is left."""
# No pathlib, as the supervisor imports this: it would cost each rank 8 ms and 0.7 MB.
# ruff: noqa: PTH118

from __future__ import annotations

import os
import select
import time

from agent import child, notes, processes
from agent.command import Command
from agent.ending import CAUSE_COMMAND_NOT_FOUND, Ending, StopNote, cause_of
from agent.output import NEW_NOTE, Output

LOOK_EVERY_S = 0.2
LEFTOVER_GRACE_S = 2.0  # from TERM to KILL for what outlives its command
DRAIN_S = 2.0  # for a pipe that someone outside holds open


def run(command: Command, output: Output, signals: int) -> dict[str, object]:
    """Run the command to its end. Returns the facts for `end`; the output is flushed, not closed.

    `signals` is a pipe that brings a byte whenever a look at children and stop note is worth it.
    """
    oom_kills_before = processes.oom_kills(command.vmstat)
    try:
        pid, pipe = child.start(command)
    except child.NotStarted as error:
        return _facts(cause=CAUSE_COMMAND_NOT_FOUND, detail=str(error))
    watch = _Watch(command, output, pid=pid, pipe=pipe, signals=signals, oom_kills_before=oom_kills_before)
    watch.until_gone()
    watch.drain()
    return _facts(
        exit_code=os.WEXITSTATUS(watch.status) if os.WIFEXITED(watch.status) else None,
        signal=os.WTERMSIG(watch.status) if os.WIFSIGNALED(watch.status) else None,
        cause=cause_of(watch.status, stopped=watch.stopped, out_of_memory=watch.out_of_memory),
        stopped=watch.stopped,
        leftovers=len(watch.leftovers),
        max_rss_kib=watch.max_rss_kib,
        final_offset=output.flush(),
    )


def _facts(**known: object) -> dict[str, object]:
    nothing_ran = {"exit_code": None, "signal": None, "detail": "", "stopped": False, "leftovers": 0}
    return nothing_ran | {"max_rss_kib": 0, "final_offset": 0, "at_ms": time.time_ns() // 1_000_000} | known


class _Watch:
    """One loop over the command's output, its end, its descendants and the stop note."""

    def __init__(self, command: Command, output: Output, *, pid: int, pipe: int, signals: int, oom_kills_before: int) -> None:
        self._output = output
        self._pid = pid
        self._pipe = pipe
        self._signals = signals
        self._vmstat = command.vmstat
        self._oom_kills_before = oom_kills_before
        self._running = os.path.join(command.rank_folder, "running")
        self._running_facts = {"pid": pid, "start_time": processes.start_time(pid), "at_ms": time.time_ns() // 1_000_000}
        self._is_noted = False
        self._stop = StopNote(os.path.join(command.rank_folder, "stop"))
        self._ending = Ending(pid)
        self._look_at = 0.0
        self._is_open, self._is_gone = True, False
        self._poll = select.poll()
        self._poll.register(pipe, select.POLLIN)
        self._poll.register(signals, select.POLLIN)
        self.status = -1  # wait status of the command, once `_has_ended`
        self._has_ended = False
        self.max_rss_kib = 0
        self.out_of_memory = False  # the kernel's OOM killer ended some process of this host meanwhile
        self.stopped = False  # a stop came before the command had ended
        self.leftovers: set[int] = set()  # what outlived a command that ended by itself

    def until_gone(self) -> None:
        while not self._is_gone:
            now = time.monotonic()
            if now >= self._look_at:
                self._look_at = now + LOOK_EVERY_S
                self._look(now)
            else:
                self._pump(self._look_at - now)

    def drain(self) -> None:
        """What is still in the pipe: up to its end, or for DRAIN_S."""
        until = time.monotonic() + DRAIN_S
        while self._is_open and (left := until - time.monotonic()) > 0:
            self._pump(left)

    def _pump(self, timeout_s: float) -> None:
        for descriptor, _ in self._poll.poll(timeout_s * 1000 + 1):
            if descriptor == self._signals:
                os.read(self._signals, 4096)
                self._look_at = 0.0
            elif not self._output.take(self._pipe):
                self._is_open = False
                self._poll.unregister(self._pipe)
                os.close(self._pipe)

    def _look(self, now: float) -> None:
        had_ended = self._has_ended
        self._note_running()
        self._reap()
        if self._is_gone:
            return
        grace_s = self._stop.new_grace_s()
        if grace_s is not None:
            self.stopped = self.stopped or not self._has_ended
            self._ending.ask(grace_s, now)
        found = self._ending.press(now)
        if self._has_ended and not self.stopped:
            if not had_ended:
                found = self._ending.ask(LEFTOVER_GRACE_S, now)
            self.leftovers.update(found)

    def _reap(self) -> None:
        """As their subreaper this process inherits all orphans: without a child it has no descendant."""
        try:
            while True:
                pid, status, usage = os.wait4(-1, os.WNOHANG)
                if pid == 0:
                    return
                if pid == self._pid:
                    self.status, self.max_rss_kib, self._has_ended = status, usage.ru_maxrss, True
                    self.out_of_memory = processes.oom_kills(self._vmstat) > self._oom_kills_before
        except ChildProcessError:
            self._is_gone = True

    def _note_running(self) -> None:
        if self._is_noted:
            return
        try:
            notes.write(self._running, self._running_facts)
            self._is_noted = True
            self._output.tell(NEW_NOTE)
        except OSError:
            pass  # a full disk: again at the next look
