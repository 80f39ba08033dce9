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


class Server:
    """A server that the tests may stop and start; it keeps its port and its data."""

    def __init__(self, **settings: str) -> None:
        """`settings` beside SETTINGS. Raises FileNotFoundError when no server is installed."""
        programs = binaries()
        if programs is None:
            raise FileNotFoundError("no PostgreSQL server; Debian's package for it is postgresql")
        self._programs, self._settings = programs, SETTINGS | settings
        self._folder, self.port = Path(tempfile.mkdtemp(prefix="panel-postgresql-")), free_port()
        self._user = "nobody" if os.getuid() == 0 else None
        if self._user:
            shutil.chown(self._folder, self._user)
        self._data = self._folder / "data"
        self.url = f"postgres://panel@127.0.0.1:{self.port}/panel"

    def create(self) -> Server:
        """Started, with an empty database."""
        self._run("initdb", "-D", str(self._data), "-U", "panel", "--auth=trust", "--no-sync")
        self.start()
        self._run("createdb", "-h", "127.0.0.1", "-p", str(self.port), "-U", "panel", "panel")
        return self

    def start(self) -> None:
        options = " ".join(f"-c {name}={value}" for name, value in self._settings.items())
        options += f" -c listen_addresses=127.0.0.1 -c port={self.port} -c unix_socket_directories={self._folder}"
        self._run("pg_ctl", "-D", str(self._data), "-w", "-l", str(self._folder / "log"), "-o", options, "start")

    def stop(self, mode: str = "fast") -> None:
        """`fast`: as a restart for an upgrade; `immediate`: as a crash."""
        self._run("pg_ctl", "-D", str(self._data), "-w", "-m", mode, "stop")

    def remove(self) -> None:
        if (self._data / "postmaster.pid").exists():
            self.stop("immediate")
        shutil.rmtree(self._folder, ignore_errors=True)

    def _run(self, program: str, *arguments: str) -> None:
        _run([str(self._programs / program), *arguments], self._user)


@contextmanager
def server() -> Iterator[str]:
    """Its DATABASE_URL. Raises FileNotFoundError when no server is installed."""
    made = Server()
    try:
        yield made.create().url
    finally:
        made.remove()


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
