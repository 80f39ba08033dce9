"""The thread that brings files to the panel: a piece of each that is wanted in turn, from the notes of the state folder.

A file is opened once and read by its descriptor, so that what comes is one file, whatever is put in its place meanwhile. A
new agent begins it anew.
"""

from __future__ import annotations

import errno
import logging
import os
import stat
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from agent import notes
from agent.home import Home
from agent.panel import Refused, Unreachable
from agent.protocol import FETCH_PIECE_BYTES, is_inner_path, shown_name

logger = logging.getLogger(__name__)

LOOK_EVERY_S = 1.0  # behind the bytes that wake it
LONGEST_WAIT_S = 10.0  # between two tries
NOT_WANTED = (404, 410)  # HTTP statuses: nobody waits for the file

Bring = Callable[[int, bytes, int, int], "int | None"]  # fetch, bytes, their offset, the file's size -> the next offset wanted
Refuse = Callable[[int, str, bool], None]  # fetch, sentence, whether the file is gone


class Unfit(Exception):
    """The file cannot be brought; says why."""

    def __init__(self, sentence: str, *, is_gone: bool = False) -> None:
        super().__init__(sentence)
        self.is_gone = is_gone


class Fetching:
    """`bring` hands bytes to the panel, `refuse` says that none come; both may raise Refused or Unreachable."""

    def __init__(self, home: Home, *, bring: Bring, refuse: Refuse) -> None:
        self._home = home
        self._bring = bring
        self._refuse = refuse
        self._open: dict[int, OpenFile] = {}
        self._patience: dict[int, tuple[int, float]] = {}  # fetch -> tries, not before (monotonic)
        self.woken = threading.Event()

    def run(self, stop: threading.Event) -> None:
        try:
            while not stop.is_set():
                if not self._look():
                    self.woken.wait(LOOK_EVERY_S)
                    self.woken.clear()
        finally:
            for file in self._open.values():
                file.close()

    def _look(self) -> bool:
        try:
            return self.tick()
        except Exception:  # one note must not end the thread
            logger.exception("fetching failed")
            return False

    def tick(self) -> bool:
        """A piece of each file that is wanted. True: there is more to do at once."""
        more = False
        for fetch_id, note in self._home.fetch_notes():
            if time.monotonic() >= self._patience.get(fetch_id, (0, 0.0))[1]:
                more |= self._step(fetch_id, note)
        return more

    def _step(self, fetch_id: int, note: Path) -> bool:
        """True: it goes on at once."""
        try:
            is_over = self._send(fetch_id, note)
        except Refused as refusal:
            is_over = refusal.status in NOT_WANTED
            if not is_over:
                return self._again_later(fetch_id, refusal.sentence)
            logger.info("not wanted fetch=%d why=%s", fetch_id, refusal.sentence)
        except (Unreachable, OSError) as error:
            return self._again_later(fetch_id, str(error))
        self._patience.pop(fetch_id, None)
        if is_over:
            note.unlink(missing_ok=True)
            self._close(fetch_id)
        return not is_over

    def _send(self, fetch_id: int, note: Path) -> bool:
        """One piece, or the word that it does not come. True: it is over."""
        try:
            file = self._open.get(fetch_id) or open_file(self._home.path / "files", notes.read(os.fspath(note)) or {})
            self._open[fetch_id] = file
            data = file.read()
        except (Unfit, ValueError) as error:
            logger.warning("cannot bring a file fetch=%d why=%s", fetch_id, error)
            self._refuse(fetch_id, str(error), isinstance(error, Unfit) and error.is_gone)
            return True
        wanted = self._bring(fetch_id, data, file.offset, file.size_bytes)
        if wanted is None:
            return True
        file.offset = min(wanted, file.size_bytes)
        return False

    def _again_later(self, fetch_id: int, why: str) -> bool:
        tries = self._patience.get(fetch_id, (0, 0.0))[0] + 1
        self._patience[fetch_id] = (tries, time.monotonic() + min(0.2 * 2**tries, LONGEST_WAIT_S))
        logger.warning("file not brought yet fetch=%d tries=%d why=%s", fetch_id, tries, why)
        return False

    def _close(self, fetch_id: int) -> None:
        if file := self._open.pop(fetch_id, None):
            file.close()


@dataclass
class OpenFile:
    """A file on its way, as long as it was when it was opened."""

    descriptor: int
    size_bytes: int
    offset: int = 0  # of the next piece

    def read(self) -> bytes:
        """The piece at `offset`. Raises Unfit when the file became shorter."""
        length = min(FETCH_PIECE_BYTES, self.size_bytes - self.offset)
        data = b""
        while len(data) < length and (more := os.pread(self.descriptor, length - len(data), self.offset + len(data))):
            data += more
        if len(data) < length:
            raise Unfit("The file became shorter while it was read. Ask for it again.")
        return data

    def close(self) -> None:
        os.close(self.descriptor)


def open_file(own_root: Path, place: dict[str, object]) -> OpenFile:
    """The file at `path` below `folder` below the files root (`own_root` where the cluster names none).

    Raises Unfit when there is no such regular file, or a link or the path itself leads out of the folder.
    """
    folder, path = str(place.get("folder", "")), str(place.get("path", ""))
    if not is_inner_path(folder) or not is_inner_path(path):
        raise Unfit("The path leads out of the folder of the job's files.")
    root = Path(str(place.get("files_root") or own_root))
    inside = os.path.realpath(root / folder)
    if not _is_below(inside, os.path.realpath(root)):
        raise Unfit("The folder of the job's files lies elsewhere.")
    descriptor = _open(os.path.realpath(_place_of(path, inside)), inside)
    try:
        found = os.fstat(descriptor)
        # Where it was really found: a folder on the way may have become a link since it was looked at.
        if not stat.S_ISREG(found.st_mode) or not _is_below(os.path.realpath(f"/proc/self/fd/{descriptor}"), inside):
            raise Unfit("It is no plain file of the job.")
    except BaseException:
        os.close(descriptor)
        raise
    return OpenFile(descriptor, found.st_size)


def _place_of(path: str, inside: str) -> str:
    """Where the file lies that was told as `path`: a part of it that is not there may be how a name is shown."""
    place = inside
    for part in path.split("/"):
        is_there = "\\" not in part or os.path.lexists(f"{place}/{part}")
        place = f"{place}/{part if is_there else _name_shown_as(part, place)}"
    return place


def _name_shown_as(shown: str, folder: str) -> str:
    """Itself when no name in the folder is shown so."""
    with suppress(OSError):
        return next((path.name for path in Path(folder).iterdir() if shown_name(path.name) == shown), shown)
    return shown


def _open(path: str, inside: str) -> int:
    if not _is_below(path, inside):
        raise Unfit("A link leads out of the folder of the job's files.")
    try:
        return os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)  # not held up by a named pipe
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ENOTDIR):
            raise Unfit("The file is no longer there.", is_gone=True) from error
        raise Unfit(f"It cannot be read: {error.strerror}.") from error


def _is_below(path: str, folder: str) -> bool:
    return path.startswith(folder.rstrip("/") + "/")
