"""The agent on the panel's own machine: the built wheel, in a venv of its own under var/agent.

Imports no Django (controlpanel/up.py).
"""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
from pathlib import Path
from uuid import UUID


class NotInstalled(Exception):
    """Why there is no local agent, in a sentence."""


def state_folder(var: Path) -> Path:
    return var / "agent" / "state"


def enrolled_host(var: Path) -> str:
    """Id of the host that the local agent says it is; "": it has not enrolled yet."""
    try:
        return str(UUID(json.loads((state_folder(var) / "agent.json").read_text())["host_id"]))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return ""


def token_file(var: Path) -> Path:
    """Where `manage.py prepare` leaves an enrolment token, when the local agent needs one."""
    return var / "agent" / "enrolment_token"


def command(var: Path, *, panel: str, slots: int) -> tuple[list[str], str]:
    """(the agent's command line, its enrolment token or ""). Raises NotInstalled."""
    python = _installed(var, _wheel(var))
    token = token_file(var).read_text().strip() if token_file(var).exists() else ""
    arguments = ["run", "--panel", panel, "--state", str(state_folder(var)), "--chips", str(slots)]
    if runtimes := os.environ.get("AGENT_RUNTIMES"):  # a folder to share between several panels' state folders
        arguments += ["--runtimes", runtimes]
    return [str(python), "-m", "agent", *arguments], token


def _wheel(var: Path) -> Path:
    wheels = sorted((var / "wheels").glob("*.whl"), key=lambda path: path.stat().st_mtime)
    if not wheels:
        raise NotInstalled("The agent's wheel is missing; `manage.py prepare` builds it.")
    return wheels[-1]


def _installed(var: Path, wheel: Path) -> Path:
    """The venv's Python with this very wheel in it. AGENT_VENV names a venv to share between several panels' state folders."""
    venv = Path(os.environ.get("AGENT_VENV") or var / "agent" / "venv")
    python, mark = venv / "bin" / "python", venv / "installed"
    wanted = f"{wheel.name} {_digest(wheel)}"
    venv.mkdir(parents=True, exist_ok=True)
    with (venv / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # of two panels that share it, one installs
        if not mark.exists() or mark.read_text() != wanted:
            _install(venv, wheel)
            mark.write_text(wanted)
    return python


def _install(venv: Path, wheel: Path) -> None:
    python = venv / "bin" / "python"
    print("Installing the local agent ...", flush=True)
    install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    _call([sys.executable, "-m", "venv", str(venv)])
    _call([*install, str(wheel)])
    # The same version holds other code while it is being written.
    _call([*install, "--force-reinstall", "--no-deps", str(wheel)])


def _digest(path: Path) -> str:
    import hashlib

    return hashlib.sha256(path.read_bytes()).hexdigest()


def _call(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        words = (done.stderr or done.stdout).strip().splitlines()
        raise NotInstalled(f"The local agent could not be installed: {words[-1] if words else command}")
