"""What /proc says of processes. One may vanish at any moment: then it is left out.

A zombie is no process here: it runs nothing and holds nothing. `proc` is where /proc is, for tests.
"""
# No pathlib, as the supervisor imports this: it would cost each rank 8 ms and 0.7 MB.
# ruff: noqa: PTH118, PTH123, PTH208

from __future__ import annotations

import os

PROC = "/proc"
DEAD = (b"Z", b"X", b"x")

Folder = str | os.PathLike[str]


def start_time(pid: int, proc: Folder = PROC) -> int | None:
    """Clock ticks from boot to the process's start, which with the pid names it for one boot; None when it is gone."""
    stat = _stat(pid, proc)
    return int(stat[19]) if stat and stat[0] not in DEAD else None


def is_stopped(pid: int, proc: Folder = PROC) -> bool:
    """By SIGSTOP, or a debugger."""
    stat = _stat(pid, proc)
    return stat is not None and stat[0] in (b"T", b"t")


def boot_id(proc: Folder = PROC) -> str:
    return _read(os.path.join(proc, "sys/kernel/random/boot_id")).decode().strip()


def children(pid: int, proc: Folder = PROC) -> list[int]:
    """Living children, in the order of their pids."""
    return _children(proc).get(pid, [])


def descendants(pid: int, proc: Folder = PROC) -> list[int]:
    """Living children, their children and so on: parents before their children."""
    children_of = _children(proc)
    found = list(children_of.get(pid, []))
    for parent in found:  # grows while it is walked
        found += children_of.get(parent, [])
    return found


def marked(variable: str, value: str, proc: Folder = PROC) -> list[int]:
    """Living processes, but for this one, that were started with `variable=value` in their environment."""
    entry = f"{variable}={value}".encode()
    return [pid for pid in _pids(proc) if pid != os.getpid() and entry in environment(pid, proc)]


def oom_kills(vmstat: Folder = PROC + "/vmstat") -> int:
    """How many processes the kernel's OOM killer has ended on this host since boot; 0 when it does not say."""
    for line in _read(vmstat).splitlines():
        if line.startswith(b"oom_kill "):
            return int(line.split()[1])
    return 0


def _children(proc: Folder) -> dict[int, list[int]]:
    children_of: dict[int, list[int]] = {}
    for pid in _pids(proc):
        stat = _stat(pid, proc)
        if stat and stat[0] not in DEAD:
            children_of.setdefault(int(stat[1]), []).append(pid)
    return children_of


def _pids(proc: Folder) -> list[int]:
    return sorted(int(name) for name in os.listdir(proc) if name.isdecimal())


def _stat(pid: int, proc: Folder) -> list[bytes] | None:
    """Fields of /proc/<pid>/stat from the third on (proc(5)): the second, in parentheses, can hold anything."""
    return _read(os.path.join(proc, str(pid), "stat")).rpartition(b")")[2].split() or None


def environment(pid: int, proc: Folder = PROC) -> list[bytes]:
    """`NAME=value` as it was started with; empty for a zombie, which has none left, and for what one may not read."""
    return _read(os.path.join(proc, str(pid), "environ")).split(b"\0")


def _read(path: Folder) -> bytes:
    try:
        with open(path, "rb", buffering=0) as file:
            return file.read()
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return b""
