"""Starts supervisors by fork, from one small process that has everything imported: a fresh interpreter takes ten times as long.

    python -I -S .../agent/nursery.py      stdin is a socket; each request on it is a spec as agent/command.py reads it

A supervisor leaves this process behind at once (a session of its own), and outlives it and the agent. This process ends
with the agent, when the socket closes.
"""
# No pathlib, as in the supervisor.
# ruff: noqa: PTH118, PTH120, PTH100

from __future__ import annotations

import gc
import io
import os
import signal
import socket
import sys
import traceback

sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from agent import supervisor  # noqa: E402
from agent.command import LENGTH_BYTES  # noqa: E402


def main() -> None:
    requests = socket.socket(fileno=0)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for a supervisor: how it ended stands in its folder
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
        signal.signal(number, signal.SIG_IGN)
    gc.freeze()  # what is there now stays shared with all children
    while framed := _request(requests):
        if os.fork() == 0:
            _become_supervisor(framed)


def _request(requests: socket.socket) -> bytes:
    """One framed spec; b"" when the agent has gone, also in the middle of one."""
    head = _exactly(requests, LENGTH_BYTES)
    body = _exactly(requests, int.from_bytes(head, "big")) if head else b""
    return head + body if body else b""


def _exactly(requests: socket.socket, size_bytes: int) -> bytes:
    data = bytearray()
    while len(data) < size_bytes:
        piece = requests.recv(min(size_bytes - len(data), 1024 * 1024))
        if not piece:
            return b""
        data += piece
    return bytes(data)


def _become_supervisor(framed: bytes) -> None:
    """Never returns."""
    code = 1
    try:
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)  # the socket is the parent's
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        code = supervisor.main([], io.BytesIO(framed).read)
    except BaseException:
        os.write(2, traceback.format_exc().encode())
    finally:
        os._exit(code)


if __name__ == "__main__":
    main()
