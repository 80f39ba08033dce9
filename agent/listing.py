"""Tells which files a rank writes: each look adds what is new, has changed or is gone to its `files` file.

Only regular files in the folders that the claim named; symbolic links are neither told nor followed. Keeps no memory: a
new agent reads in `files` what was told.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from uuid import UUID

from agent import protocol
from agent.folders import WorkloadFolder, all_folders
from agent.home import Home
from agent.line_files import whole_bytes, whole_lines
from agent.protocol import AREAS, LAST_MS, MORE_FILES, FileLine

logger = logging.getLogger(__name__)

TICK_S = 0.5
LOOK_EVERY_S = 2.0
LOOK_SHARE = 20  # a look that took long is followed by a pause so many times as long
GROWTH_S, MOST_GROWTH_S = 5.0, 60.0  # between two words on a file that keeps growing: twice as long each time

Key = tuple[str, str]  # area, path


class Listing:
    """The thread that looks at the files of all ranks. `wake` tells the shipper that something is new."""

    def __init__(self, home: Home, *, wake: Callable[[], None]) -> None:
        self._home = home
        self._wake = wake
        self._lists: dict[UUID, FileList] = {}
        self._look_at: dict[UUID, float] = {}  # monotonic
        self._listed: set[UUID] = set()

    def run(self, stop: threading.Event) -> None:
        while not stop.wait(TICK_S):
            try:
                self.tick()
            except Exception:  # what a program writes must not end the thread that looks at it
                logger.exception("listing failed")

    def tick(self) -> None:
        for folder in all_folders(self._home.workloads):
            if folder.workload_id not in self._listed:
                self._look(folder)

    def _look(self, folder: WorkloadFolder) -> None:
        """One broken folder is the trouble of its own rank."""
        has_ended = False
        try:
            has_ended = folder.has_ended()  # first: what is seen after that is all there is
            if not has_ended and time.monotonic() < self._look_at.get(folder.workload_id, 0.0):
                return
            if not folder.is_listed() and folder.claim() is not None:
                begun = time.monotonic()
                files = self._lists.get(folder.workload_id) or FileList(folder)
                self._lists[folder.workload_id] = files
                if files.look(now_s=begun, is_last=has_ended):
                    self._wake()
                now = time.monotonic()
                self._look_at[folder.workload_id] = now + max(LOOK_EVERY_S, LOOK_SHARE * (now - begun))
        except (OSError, ValueError):
            logger.exception("cannot list files workload=%s", folder)
            self._look_at[folder.workload_id] = time.monotonic() + LOOK_EVERY_S
        if has_ended:
            self._close(folder)

    def _close(self, folder: WorkloadFolder) -> None:
        if not folder.is_listed():
            folder.note_listed()
        self._listed.add(folder.workload_id)
        self._lists.pop(folder.workload_id, None)
        self._look_at.pop(folder.workload_id, None)
        self._wake()


@dataclass
class _Told:
    """What the panel was last told of a file."""

    size_bytes: int
    modified_ms: int
    at_s: float = 0.0  # monotonic
    wait_s: float = GROWTH_S


@dataclass
class FileList:
    """Of one rank: what was told of its files."""

    folder: WorkloadFolder
    _told: dict[Key, _Told] = field(default_factory=dict)
    _said_more: bool = False

    def __post_init__(self) -> None:
        for line in whole_lines(self.path):
            with suppress(ValueError):
                self._note(FileLine.from_line(line))

    @property
    def path(self) -> Path:
        return self.folder.path / "files"

    def look(self, *, now_s: float, is_last: bool = False) -> bool:
        """Add what has changed since the last look. True: there was something. `is_last`: nothing is put off."""
        found = _Found()
        places = (self.folder.claim() or {}).get("files") or {}
        for area in AREAS:
            if area in places:  # type: ignore[operator]
                found.take(area, str(places[area]))  # type: ignore[index]
        lines = list(self._changes(found, now_s, is_last))
        if found.is_cut and not self._said_more:
            lines.append(MORE_FILES)
        self._write(lines)
        for line in lines:
            self._note(line, now_s)
        return bool(lines)

    def _changes(self, found: _Found, now_s: float, is_last: bool) -> Iterator[FileLine]:
        gone = [] if found.is_cut or found.is_broken else [key for key in self._told if key not in found.files]
        yield from (FileLine(*key, gone=True) for key in gone)
        room = protocol.MOST_FILES - len(self._told) + len(gone)
        for key, (size_bytes, modified_ms) in found.files.items():
            told = self._told.get(key)
            if told is None:
                if room > 0:
                    room -= 1
                    yield FileLine(*key, size_bytes, modified_ms)
                else:
                    found.is_cut = True
            elif (told.size_bytes, told.modified_ms) == (size_bytes, modified_ms):
                told.wait_s = GROWTH_S
            elif is_last or now_s - told.at_s >= told.wait_s:
                yield FileLine(*key, size_bytes, modified_ms)

    def _note(self, line: FileLine, now_s: float = float("-inf")) -> None:
        key = (line.area, line.path)
        if line == MORE_FILES:
            self._said_more = True
        elif line.gone:
            self._told.pop(key, None)
        else:
            before = self._told.get(key)
            wait_s = min(2 * before.wait_s, MOST_GROWTH_S) if before and before.at_s > float("-inf") else GROWTH_S
            self._told[key] = _Told(line.size_bytes, line.modified_ms, now_s, wait_s)

    def _write(self, lines: list[FileLine]) -> None:
        """One append, on the disk before it is shipped and forgotten here; behind whole lines only."""
        if not lines:
            return
        descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            os.ftruncate(descriptor, whole_bytes(descriptor))
            data = memoryview(b"".join(line.line() for line in lines))
            while data:
                data = data[os.write(descriptor, data) :]
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@dataclass
class _Found:
    """What one look sees: (size, modified) by area and path, no more than MOST_FILES."""

    files: dict[Key, tuple[int, int]] = field(default_factory=dict)
    is_cut: bool = False  # there are more
    is_broken: bool = False  # a folder could not be read: what is not found may still be there

    def take(self, area: str, place: str) -> None:
        if os.path.realpath(place) != place:  # a link was put where the folder was
            return
        for path, size_bytes, modified_ms in self._walk(place):
            if len(self.files) >= protocol.MOST_FILES:
                self.is_cut = True
                return
            self.files.setdefault((area, path), (size_bytes, modified_ms))

    def _walk(self, place: str) -> Iterator[tuple[str, int, int]]:
        folders = [""]
        while folders:
            below = folders.pop()
            try:
                with os.scandir(f"{place}/{below}") as entries:
                    for entry in entries:
                        if entry.is_dir(follow_symlinks=False):
                            folders.append(f"{below}{entry.name}/")
                        elif entry.is_file(follow_symlinks=False):
                            yield from _seen(below + entry.name, entry)
            except (FileNotFoundError, NotADirectoryError):
                continue  # it went meanwhile
            except OSError as error:
                logger.warning("cannot look into a folder place=%s below=%r error=%r", place, below, error)
                self.is_broken = True


def _seen(path: str, entry: os.DirEntry[str]) -> Iterator[tuple[str, int, int]]:
    """(path, size, modified) of a file, as it is shown."""
    shown = protocol.shown_name(path)
    if len(shown) > protocol.MOST_PATH:
        return
    with suppress(FileNotFoundError):
        stat = entry.stat(follow_symlinks=False)
        yield shown, stat.st_size, min(max(0, stat.st_mtime_ns // 1_000_000), LAST_MS)
