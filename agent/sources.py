"""Code from the panel: fetched once a digest, checked, unpacked, copied into each rank's working folder, dropped when unused."""

from __future__ import annotations

import hashlib
import io
import os
import shutil
import tarfile
from collections.abc import Callable
from pathlib import Path, PurePosixPath

MOST_UNPACKED_BYTES = 2 * 1024**3
MOST_ENTRIES = 100_000
UNUSED_S = 7 * 86_400.0  # a week after its last use it is fetched again, should somebody want it


class BadArchive(Exception):
    """Why an archive is not unpacked, in a sentence."""


def provide(root: Path, digest: str, fetch: Callable[[str], bytes], into: Path) -> None:
    """The source's files in the folder `into`. Raises BadArchive, OSError and what `fetch` raises."""
    kept = root / digest
    if not kept.is_dir():
        archive = fetch(digest)
        if hashlib.sha256(archive).hexdigest() != digest:
            raise BadArchive("the archive that came is not the one that was asked for")
        part = root / f"{digest}.{os.getpid()}.{id(archive)}.part"
        unpack(archive, part)
        try:
            part.rename(kept)
        except OSError:  # someone else was faster
            shutil.rmtree(part, ignore_errors=True)
    os.utime(kept)  # its last use; before the copy, so that nobody drops it meanwhile
    shutil.copytree(kept, into, symlinks=True, dirs_exist_ok=True)


def drop_unused(root: Path, *, now_s: float) -> None:
    """Delete what no rank has used for UNUSED_S, and what an unpacking that was broken off has left for as long."""
    for path in root.iterdir() if root.is_dir() else ():
        if now_s - path.stat().st_mtime > UNUSED_S:
            shutil.rmtree(path, ignore_errors=True)


def unpack(archive: bytes, into: Path) -> None:
    """Files and folders only, all of them below `into`. Raises BadArchive and leaves nothing."""
    into.mkdir(parents=True)
    try:
        with tarfile.open(fileobj=io.BytesIO(archive), mode="r:*") as tar:
            _unpack(tar, into)
    except (tarfile.TarError, EOFError, OSError, BadArchive) as error:
        shutil.rmtree(into, ignore_errors=True)
        raise error if isinstance(error, BadArchive) else BadArchive(f"the archive cannot be read: {error}") from error


def _unpack(tar: tarfile.TarFile, into: Path) -> None:
    room = MOST_UNPACKED_BYTES
    for count, entry in enumerate(tar):
        place = PurePosixPath(entry.name)
        if place.is_absolute() or ".." in place.parts:
            raise BadArchive(f"{entry.name} would be written outside of the folder")
        if not entry.isfile() and not entry.isdir():
            raise BadArchive(f"{entry.name} is neither a file nor a folder")
        room -= entry.size
        if room < 0 or count >= MOST_ENTRIES:
            raise BadArchive(f"it has more than {MOST_ENTRIES} entries or {MOST_UNPACKED_BYTES // 1024**2} MiB")
        target = into / place
        if entry.isdir():
            target.mkdir(parents=True, exist_ok=True)
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        content = tar.extractfile(entry)
        assert content is not None
        with target.open("wb") as file:
            shutil.copyfileobj(content, file)
        target.chmod(0o755 if entry.mode & 0o100 else 0o644)
