"""How a supervisor is started: its spec goes in on stdin, so that no secret touches the disk or an argument list."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from agent import command, supervisor
from agent.folders import WorkloadFolder
from agent.protocol import ENV_HOST, ENV_WORKLOAD, Start

SPOOL_CAP_BYTES = 1024**3  # of output that the panel has not taken yet
PASSED_ON = ("PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "TZ", "TMPDIR")  # of the agent's environment


def start_supervisor(folder: WorkloadFolder, start: Start, *, host_id: str, wake: str) -> subprocess.Popen[bytes]:
    """A process that runs the rank's command, or ends at once with one of the supervisor's exit codes.

    Its words until it has begun are in `supervisor.err`. Raises OSError.
    """
    folder.make_rank_folder()
    marks = {ENV_HOST: host_id, ENV_WORKLOAD: start.workload_id}
    spec = {
        "workload_id": start.workload_id,
        "rank_folder": os.fspath(folder.rank_folder),
        "command": start.command,
        "environment": _surroundings() | start.environment | start.secrets | marks,
        "cwd": os.fspath(folder.work),
        "secrets": list(start.secrets.values()),
        "cap_bytes": SPOOL_CAP_BYTES,
        "wake": wake,
    }
    text = json.dumps(spec).encode()
    with (folder.path / "supervisor.err").open("wb") as words:
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", supervisor.__file__, os.fspath(folder.rank_folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=words,
            cwd="/",
            env=marks,
            start_new_session=True,  # it outlives the agent
        )
    assert process.stdin
    try:
        process.stdin.write(len(text).to_bytes(command.LENGTH_BYTES, "big") + text)
        process.stdin.close()
    except BrokenPipeError:
        pass  # it ended before it had read all; its exit code says why
    return process


def last_words(folder: WorkloadFolder) -> str:
    """Why a supervisor ended before it began."""
    try:
        text = Path(folder.path / "supervisor.err").read_text(errors="replace").strip()
    except FileNotFoundError:
        return ""
    return text.splitlines()[-1][:300] if text else ""


def _surroundings() -> dict[str, str]:
    """What a command may know of the agent's own environment: none of its credentials."""
    return {name: os.environ[name] for name in PASSED_ON if name in os.environ}
