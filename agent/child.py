"""The fork that becomes the command: its own session, nothing inherited, and dead when its supervisor dies."""
# No pathlib, as the supervisor imports this: it would cost each rank 8 ms and 0.7 MB.
# ruff: noqa: PTH123

from __future__ import annotations

import ctypes
import os
import signal
import warnings  # noqa: F401  (execvpe imports it, in a child that may not be allowed to read the library any more)

from agent.command import Command

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36  # linux/prctl.h
FIRST_FREE = 3  # descriptor after stdin, stdout and stderr
_LIBC = ctypes.CDLL(None, use_errno=True)


class NotStarted(Exception):
    """Nothing of the command ran; says why in a sentence."""


def adopt_orphans() -> None:
    """Descendants whose parent ends become children of this process, so that it can wait for the last of them."""
    _prctl(PR_SET_CHILD_SUBREAPER, 1)


def start(command: Command) -> tuple[int, int]:
    """(pid, the end from which its output is read). Raises NotStarted when the command could not be executed."""
    output, output_in = os.pipe()
    failure, failure_in = os.pipe()  # closed by the exec; else it brings the sentence
    supervisor = os.getpid()
    try:
        pid = os.fork()
    except OSError as error:
        raise NotStarted(f"no new process: {error.strerror}") from error
    if pid == 0:
        _become(command, output_in, failure_in, supervisor)
    os.close(output_in)
    os.close(failure_in)
    with open(failure, "rb") as sentence:
        if told := sentence.read():
            os.waitpid(pid, 0)
            os.close(output)
            raise NotStarted(told.decode("utf-8", "replace"))
    return pid, output


def _become(command: Command, output: int, failure: int, supervisor: int) -> None:
    """Never returns."""
    doing = "start"
    try:
        os.setsid()
        _take_descriptors(output, failure)
        _reset_signals()
        _raise_oom_score(command.oom_score_adj)
        doing = f"become user {command.uid} and group {command.gid}"
        _become_user(command.uid, command.gid)
        _die_with(supervisor)
        doing = f"enter {command.cwd}"
        os.chdir(_bytes(command.cwd))
        doing = f"run {command.command[0]}"
        environment = {_bytes(name): _bytes(value) for name, value in command.environment.items()}
        os.execvpe(_bytes(command.command[0]), [_bytes(word) for word in command.command], environment)
    except BaseException as error:
        reason = error.strerror if isinstance(error, OSError) else repr(error)
        os.write(FIRST_FREE, f"cannot {doing}: {reason}".encode("utf-8", "replace"))
    finally:
        os._exit(127)


def _take_descriptors(output: int, failure: int) -> None:
    """/dev/null, the output twice, and `failure` as FIRST_FREE, which an exec closes; no others."""
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(output, 1)
    os.dup2(output, 2)
    if failure != FIRST_FREE:
        os.dup2(failure, FIRST_FREE, inheritable=False)
    os.closerange(FIRST_FREE + 1, os.sysconf("SC_OPEN_MAX"))


def _reset_signals() -> None:
    """What Python and the supervisor ignore would stay ignored across the exec."""
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def _raise_oom_score(adjustment: int) -> None:
    try:
        with open("/proc/self/oom_score_adj", "w") as file:
            file.write(str(adjustment))
    except OSError:
        pass  # a kernel or sandbox that does not allow it: the command runs all the same


def _become_user(uid: int | None, gid: int | None) -> None:
    if os.geteuid() == 0 and (uid, gid) != (None, None):
        os.setgroups([] if gid is None else [gid])
    if gid is not None:
        os.setgid(gid)
    if uid is not None:
        os.setuid(uid)


def _die_with(parent: int) -> None:
    """After the user is set, which clears it. A parent that had died before sends no signal."""
    _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)


def _prctl(option: int, value: int) -> None:
    if _LIBC.prctl(option, value, 0, 0, 0):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
