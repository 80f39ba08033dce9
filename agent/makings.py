"""What is made once on this host for all ranks that want the same: by a supervised process, in a folder of its digest.

<root>/<digest>/builds/<n>/   a try: a supervisor's folder with its output and its end
<root>/<digest>/ready         it is whole; says how large it is
<root>/<digest>/used          touched by each start; the longest unused go first
"""

from __future__ import annotations

import logging
import os
import re
import shutil
import sys
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from agent import locks, notes
from agent.spool import SpoolReader

logger = logging.getLogger(__name__)

DIGEST = re.compile(r"[0-9a-f]{64}")
LAST_WORDS_BYTES = 4096
UNWANTED_GRACE_S = 5.0
BEGIN_WITHIN_S = 5.0

Launch = Callable[[dict[str, object]], None]


@dataclass(frozen=True)
class Build:
    """One try to make something: its supervisor's folder."""

    folder: Path

    @property
    def is_running(self) -> bool:
        return locks.is_held(self.folder / "alive")

    @property
    def is_beginning(self) -> bool:
        """It was asked for just now, and has not taken its lock yet."""
        return not (self.folder / "started").exists() and time.time() - self.folder.stat().st_mtime < BEGIN_WITHIN_S

    def end(self) -> dict[str, object] | None:
        return notes.read(os.fspath(self.folder / "end"))

    def output(self) -> SpoolReader:
        return SpoolReader(self.folder / "output")

    def last_words(self) -> str:
        """The tool's own: the last lines that it printed."""
        output = self.output()
        end = output.end()
        text = output.read(max(output.start(), end - LAST_WORDS_BYTES), LAST_WORDS_BYTES).decode(errors="replace")
        return " ".join(line.strip() for line in text.splitlines()[-6:] if line.strip())[-400:]


class Makings:
    """All of one kind. `doing` is the subcommand of `python -m agent` that makes one; `launch` starts its supervisor."""

    def __init__(self, root: Path, *, doing: str, launch: Launch, wake: str, most_bytes: int) -> None:
        self._root = root
        self._doing = doing
        self._launch = launch
        self._wake = wake
        self._most_bytes = most_bytes
        root.mkdir(parents=True, exist_ok=True)

    def is_ready(self, digest: str) -> bool:
        """Counts as use."""
        if not (self._folder(digest) / "ready").exists():
            return False
        (self._folder(digest) / "used").touch()
        return True

    def last_build(self, digest: str) -> Build | None:
        tries = self._tries(digest)
        return Build(self._folder(digest) / "builds" / str(tries[-1])) if tries else None

    def begin(self, digest: str, equip: Callable[[Path], None]) -> Build:
        """The build that runs, or a new one in the folder that `equip` has given what it needs.

        Of several that ask at once one starts it: the folder's lock decides. Raises what `equip` raises, and OSError.
        """
        last = self.last_build(digest)
        if last is not None and (last.is_running or last.is_beginning):
            return last
        folder = self._folder(digest)
        number = self._tries(digest)[-1] + 1 if last is not None else 1
        build = Build(folder / "builds" / str(number))
        build.folder.mkdir(parents=True, exist_ok=True)
        equip(folder)
        logger.info("begun doing=%s digest=%s try=%d", self._doing, digest, number)
        self._launch(
            {
                "workload_id": f"{self._doing}-{digest}",
                "rank_folder": os.fspath(build.folder),
                "command": [sys.executable, "-m", "agent", self._doing, os.fspath(folder)],
                "environment": _environment(),
                "cwd": os.fspath(folder),
                "secrets": [],
                "cap_bytes": 64 * 1024**2,
                "wake": self._wake,
                "oom_score_adj": 200,
            }
        )
        return build

    def end_unwanted(self, wanted: Iterable[str]) -> None:
        """The last rank that waited for it has left: stop the build."""
        wanted = set(wanted)
        for name in self._names():
            build = self.last_build(name) if name not in wanted else None
            if build is not None and build.is_running and not (build.folder / "stop").exists():
                logger.info("nobody waits for it doing=%s digest=%s", self._doing, name)
                notes.write(os.fspath(build.folder / "stop"), {"grace_s": UNWANTED_GRACE_S})

    def drop_old(self, in_use: Iterable[str]) -> list[str]:
        """Delete the longest unused until the others are within the limit; returns their digests."""
        in_use = set(in_use)
        sizes = {name: self._size(self._folder(name)) for name in self._names()}
        total, dropped = sum(sizes.values()), []
        for digest in sorted(sizes, key=self._used_at):
            if total <= self._most_bytes:
                break
            build = self.last_build(digest)
            if digest in in_use or (build is not None and build.is_running):
                continue
            (self._folder(digest) / "ready").unlink(missing_ok=True)  # first: nobody starts with half of it
            shutil.rmtree(self._folder(digest), ignore_errors=True)
            total -= sizes[digest]
            dropped.append(digest)
            logger.info("dropped doing=%s digest=%s", self._doing, digest)
        return dropped

    def _names(self) -> list[str]:
        """The digests of all that was ever begun and not dropped."""
        return [folder.name for folder in self._root.iterdir() if DIGEST.fullmatch(folder.name)]

    def _folder(self, digest: str) -> Path:
        if not DIGEST.fullmatch(digest):
            raise ValueError(f"not a digest: {digest!r}")
        return self._root / digest

    def _tries(self, digest: str) -> list[int]:
        with suppress(FileNotFoundError):
            return sorted(int(path.name) for path in (self._folder(digest) / "builds").iterdir() if path.name.isdecimal())
        return []

    def _size(self, folder: Path) -> int:
        ready = notes.read(os.fspath(folder / "ready"))
        return int(ready["size_bytes"]) if ready else 0  # type: ignore[call-overload]

    def _used_at(self, digest: str) -> float:
        for path in (self._folder(digest) / "used", self._folder(digest) / "ready", self._folder(digest)):
            with suppress(FileNotFoundError):
                return path.stat().st_mtime
        return 0.0


def note_ready(folder: Path, made: Path) -> None:
    """The last step of whoever makes it: `made` is whole."""
    notes.write(os.fspath(folder / "ready"), {"at_ms": time.time_ns() // 1_000_000, "size_bytes": size_bytes(made)})


def size_bytes(folder: Path) -> int:
    """What it takes on the disk, a file with several names counted once."""
    seen: dict[tuple[int, int], int] = {}
    for root, _folders, files in os.walk(folder):
        for name in files:
            found = Path(root, name).lstat()
            seen[found.st_dev, found.st_ino] = found.st_blocks * 512
    return sum(seen.values())


def _environment() -> dict[str, str]:
    """The agent's own, for its proxies, certificates and tools' settings, without its secrets; and where its package is."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("PANEL_")}
    return own | {"PYTHONPATH": os.fspath(Path(__file__).parent.parent)}
