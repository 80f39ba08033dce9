"""What a rank's supervisor is told, and how it is started: by the nursery, over a socket, so that no secret touches the disk."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
from pathlib import Path

from agent import command, nursery
from agent.folders import WorkloadFolder
from agent.protocol import ENV_HOST, ENV_WORKLOAD, Start

SPOOL_CAP_BYTES = 1024**3  # of output that the panel has not taken yet
PASSED_ON = ("PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "TZ", "TMPDIR")  # of the agent's environment


class Nursery:
    """The process that supervisors are forked from (agent/nursery.py). Thread-safe; started anew when it has died."""

    def __init__(self, host_id: str) -> None:
        self._marks = {ENV_HOST: host_id}
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._socket: socket.socket | None = None

    def launch(self, spec: dict[str, object]) -> None:
        """Start a supervisor. Its folder tells what becomes of it: `not-begun`, or the lock and `started`. Raises OSError."""
        text = json.dumps(spec).encode()
        framed = len(text).to_bytes(command.LENGTH_BYTES, "big") + text
        with self._lock:
            try:
                self._connected().sendall(framed)
            except (BrokenPipeError, ConnectionResetError):
                self._end()
                self._connected().sendall(framed)  # what the dead one had of it, it could not read to its end

    def close(self) -> None:
        with self._lock:
            self._end()

    def _connected(self) -> socket.socket:
        if self._socket is None or self._process is None or self._process.poll() is not None:
            self._end()
            self._socket, theirs = socket.socketpair()
            with theirs:
                self._process = subprocess.Popen(
                    [sys.executable, "-I", "-S", nursery.__file__],
                    stdin=theirs.fileno(),
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    cwd="/",
                    env=self._marks,
                    start_new_session=True,
                )
        assert self._socket is not None
        return self._socket

    def _end(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None
        if self._process is not None:
            self._process.wait(timeout=10)
            self._process = None


def spec_of(
    folder: WorkloadFolder, start: Start, *, host_id: str, wake: str, programs: Path | None, output: Path, checkpoints: Path
) -> dict[str, object]:
    """The supervisor's spec. `programs` is the runtime's folder of them; it comes first in the command's PATH."""
    own = {
        ENV_HOST: host_id,
        ENV_WORKLOAD: start.workload_id,
        "PANEL_OUTPUT": os.fspath(output),
        "PANEL_CHECKPOINTS": os.fspath(checkpoints),
        "PANEL_METRICS": os.fspath(folder.metrics_file),
    }
    surroundings = {name: os.environ[name] for name in PASSED_ON if name in os.environ}  # none of the agent's credentials
    if programs is not None:
        own |= {"VIRTUAL_ENV": os.fspath(programs.parent)}
        surroundings["PATH"] = os.pathsep.join([os.fspath(programs), surroundings.get("PATH", os.defpath)])
    return {
        "workload_id": start.workload_id,
        "rank_folder": os.fspath(folder.rank_folder),
        "command": start.command,
        "environment": surroundings | start.environment | start.secrets | own,
        "cwd": os.fspath(folder.work),
        "secrets": list(start.secrets.values()),
        "cap_bytes": SPOOL_CAP_BYTES,
        "wake": wake,
    }
