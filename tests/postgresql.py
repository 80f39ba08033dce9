"""A PostgreSQL server of the tests' own, from Debian's package, for as long as a command runs.

    python -m tests.postgresql <command ...>

The command gets DATABASE_URL. The server lives in a temporary folder, on a free port of 127.0.0.1, and refuses root: as
root it runs as the user `nobody`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.valkey import free_port

SETTINGS = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off", "max_connections": "200"}


def binaries() -> Path | None:
    """The newest installed server's folder."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"), key=lambda path: int(path.parts[-3]))
    return found[-1].parent if found else None


@contextmanager
def server() -> Iterator[str]:
    """Its DATABASE_URL. Raises FileNotFoundError when no server is installed."""
    programs = binaries()
    if programs is None:
        raise FileNotFoundError("no PostgreSQL server; Debian's package for it is postgresql")
    folder, port = Path(tempfile.mkdtemp(prefix="panel-postgresql-")), free_port()
    user = "nobody" if os.getuid() == 0 else None
    if user:
        shutil.chown(folder, user)
    data = folder / "data"
    try:
        _run([str(programs / "initdb"), "-D", str(data), "-U", "panel", "--auth=trust", "--no-sync"], user)
        options = " ".join(f"-c {name}={value}" for name, value in SETTINGS.items())
        options += f" -c listen_addresses=127.0.0.1 -c port={port} -c unix_socket_directories={folder}"
        _run([str(programs / "pg_ctl"), "-D", str(data), "-w", "-l", str(folder / "log"), "-o", options, "start"], user)
        _run([str(programs / "createdb"), "-h", "127.0.0.1", "-p", str(port), "-U", "panel", "panel"], user)
        yield f"postgres://panel@127.0.0.1:{port}/panel"
    finally:
        if (data / "postmaster.pid").exists():
            _run([str(programs / "pg_ctl"), "-D", str(data), "-w", "-m", "immediate", "stop"], user)
        shutil.rmtree(folder, ignore_errors=True)


def _run(command: list[str], user: str | None) -> None:
    done = subprocess.run(
        command,
        user=user,
        cwd="/",
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"},
    )
    if done.returncode:
        raise RuntimeError(f"{command[0]} failed: {done.stderr or done.stdout}")


def main(command: list[str]) -> int:
    try:
        with server() as url:
            return subprocess.run(command, check=False, env=os.environ | {"DATABASE_URL": url}).returncode
    except FileNotFoundError as error:
        print(f"skipped: {error}", file=sys.stderr)
        return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
