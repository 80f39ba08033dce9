"""One small process a rank: runs its command, masks and spools what it prints, ends it, and notes how it ended.

    python -I -S .../agent/supervisor.py [rank folder] < spec

Standard library, one thread, no network. In the rank's folder: `alive` is locked while this runs, `started` is made
before the fork and `running` after it, `output` is the spool, `stop` is the agent's wish, `end` comes when no
descendant is left. With the folder as argument the lock is held before the spec is read.
"""
# No pathlib: it would cost each rank 8 ms and 0.7 MB.
# ruff: noqa: PTH100, PTH110, PTH118, PTH120

from __future__ import annotations

import fcntl
import os
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress

# `-I -S` keeps the environment and site-packages out; the agent's own package is found by its place, after the library.
sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from agent import child, notes, processes, watch  # noqa: E402
from agent.command import BadSpec, Command, read_command  # noqa: E402
from agent.masking import Masker  # noqa: E402
from agent.output import NEW_NOTE, Output  # noqa: E402
from agent.spool_writer import SpoolWriter  # noqa: E402

EXIT_HELD = 3  # another supervisor has this folder
EXIT_BAD_SPEC = 4
EXIT_STARTED = 5  # this folder's one start is spent
EXIT_NO_FOLDER = 6  # the disk does not take the first files; nothing was started

RETRY_EVERY_S = 0.2
LOCK_TRIES, LOCK_EVERY_S = 10, 0.005
GAP_PATIENCE_S = 5.0  # a full disk takes `end`, whose space is reserved, but perhaps no record more


def main(arguments: list[str], read: Callable[[int], bytes]) -> int:
    """Exit code: 0 when `end` is written, else one of the above, and then nothing was run; `not-begun` says why."""
    signals = _listen()
    folder = ""
    try:
        for folder in arguments:
            _lock(folder)
        command = read_command(read)
        folder = command.rank_folder
        masker = Masker(command.secrets)
        if arguments not in ([], [command.rank_folder]):
            raise BadSpec("the spec is of another folder")
        if not arguments:
            _lock(command.rank_folder)
        output = _begin(command, masker)
    except BlockingIOError:
        return _refuse(EXIT_HELD, "another supervisor holds this folder")
    except (BadSpec, ValueError) as error:
        return _refuse(EXIT_BAD_SPEC, str(error), folder)
    except FileExistsError:
        return _refuse(EXIT_STARTED, "this folder's command was started before")
    except OSError as error:
        return _refuse(EXIT_NO_FOLDER, str(error), folder)
    child.adopt_orphans()
    _note_end(command.rank_folder, output, watch.run(command, output, signals))
    return 0


def _listen() -> int:
    """A pipe that gets a byte for each signal that means "look now"; a hang-up or Ctrl-C means nothing here."""
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGPIPE):
        signal.signal(number, signal.SIG_IGN)
    signals, signals_in = os.pipe()
    os.set_blocking(signals, False)
    os.set_blocking(signals_in, False)
    signal.set_wakeup_fd(signals_in, warn_on_full_buffer=False)
    for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGUSR1):
        signal.signal(number, lambda *_: None)
    return signals


def _lock(folder: str) -> None:
    """Held until this process ends, however it ends: never closed. Raises BlockingIOError."""
    alive = os.open(os.path.join(folder, "alive"), os.O_RDWR | os.O_CREAT, 0o600)
    for tries_left in range(LOCK_TRIES - 1, -1, -1):
        try:
            fcntl.flock(alive, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if not tries_left:
                raise
        time.sleep(LOCK_EVERY_S)  # an agent that looks whether somebody is here holds it for an instant


def _begin(command: Command, masker: Masker) -> Output:
    """Take the space that the end will need, then spend the folder's one start. Raises OSError, FileExistsError."""
    folder, me = command.rank_folder, os.getpid()
    started = os.path.join(folder, "started")
    if os.path.exists(started):
        raise FileExistsError(started)
    spool = SpoolWriter(os.path.join(folder, "output"), cap_bytes=command.cap_bytes)
    notes.reserve(os.path.join(folder, "end"))
    boot = {"supervisor_pid": me, "supervisor_start_time": processes.start_time(me), "boot_id": processes.boot_id()}
    _let_go_of_caller(folder)
    notes.write_once(started, boot | {"at_ms": _now_ms()})
    return Output(masker, spool, command.wake)


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


def _refuse(exit_code: int, sentence: str, folder: str = "") -> int:
    if folder:
        with suppress(OSError):  # the disk may be what is wrong
            notes.write(os.path.join(folder, "not-begun"), {"code": exit_code, "sentence": sentence})
    with suppress(OSError):  # perhaps nobody reads it; the exit code says it too
        os.write(2, f"supervisor: {sentence}\n".encode())
    return exit_code


def _let_go_of_caller(folder: str) -> None:
    """A session of its own, and no descriptor that would keep the caller's pipes or terminal open."""
    with suppress(PermissionError):  # it leads one already
        os.setsid()
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    own_words = os.open(os.path.join(folder, "supervisor.log"), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(own_words, 1)  # a traceback, should there be one
    os.dup2(own_words, 2)


def _note_end(folder: str, output: Output, facts: dict[str, object]) -> None:
    """However long it takes: without `end` the rank's chips are not free. The record of a last gap goes first."""
    patience_until = time.monotonic() + GAP_PATIENCE_S
    while True:
        try:
            if output.close() or time.monotonic() > patience_until:
                notes.write(os.path.join(folder, "end"), facts)
                break
        except OSError:  # a full disk: again, until it works
            if not os.path.isdir(folder):  # noqa: PTH112  pathlib would take memory of every rank
                return  # the command has deleted it: nobody will look here
        time.sleep(RETRY_EVERY_S)
    output.tell(NEW_NOTE)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], sys.stdin.buffer.read))
