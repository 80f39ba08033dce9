"""The agent's state folder: one agent at a time in it, who it is, the folders of its workloads, the files that are wanted."""

from __future__ import annotations

import fcntl
import os
import uuid
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from agent import notes


class InUse(Exception):
    """Another agent runs in this state folder."""


@dataclass(frozen=True)
class Identity:
    """Who this host is to the panel: what enrolment gave it, and where. Kept in `agent.json`, mode 0600."""

    panel: str  # the panel's address
    host_id: str
    token: str
    redis_url: str


class Home:
    """Reads and writes the state folder; holds its lock until the process ends."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.workloads = path / "workloads"
        self.fetches = path / "fetches"
        self.log = path / "agent.log"  # the agent's own
        self.workloads.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.chmod(0o700)

    def note_fetch(self, fetch_id: int, place: dict[str, str]) -> None:
        """The order came: this file is to go to the panel. The same order again changes nothing."""
        self.fetches.mkdir(exist_ok=True, mode=0o700)
        with suppress(FileExistsError):
            notes.write_once(os.fspath(self.fetches / str(fetch_id)), place)

    def fetch_notes(self) -> Iterator[tuple[int, Path]]:
        """(id, its note) of every file that the panel wants, oldest first."""
        with suppress(FileNotFoundError):
            yield from sorted((int(path.name), path) for path in self.fetches.iterdir() if path.name.isdecimal())

    def lock(self) -> None:
        """One agent a state folder; its process id stands in the lock, for whoever is to stop it. Raises InUse."""
        self._lock = os.open(self.path / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InUse(f"another agent runs in {self.path}") from None
        os.ftruncate(self._lock, 0)
        os.pwrite(self._lock, b"%d\n" % os.getpid(), 0)

    def instance_id(self) -> str:
        """Made once for a state folder. A copied folder is another place on the disk, and so another instance."""
        place = self.path.stat()
        known = notes.read(os.fspath(self.path / "instance.json"))
        if known and (known["device"], known["inode"]) == (place.st_dev, place.st_ino):
            return str(known["id"])
        made = uuid.uuid4().hex
        notes.write(os.fspath(self.path / "instance.json"), {"id": made, "device": place.st_dev, "inode": place.st_ino})
        return made

    def identity(self) -> Identity | None:
        """None: this host has not been enrolled from here."""
        known = notes.read(os.fspath(self.path / "agent.json"))
        return Identity(**known) if known else None  # type: ignore[arg-type]

    def keep_identity(self, identity: Identity) -> None:
        notes.write(os.fspath(self.path / "agent.json"), asdict(identity))

    def wake_address(self) -> str:
        """Where a byte wakes the agent: an abstract unix socket, as a path may be longer than a socket's name can be."""
        return f"\0panel-agent-{self.instance_id()}"
