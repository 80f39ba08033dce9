"""Archives that people upload: opened once, checked, and packed again in the one form that hosts unpack.

What hosts get holds plain files only, whatever tool made the upload: the same files are the same source.
"""

from __future__ import annotations

import lzma
import shutil
import struct
import tarfile
import tempfile
import zipfile
import zlib
from pathlib import Path, PurePosixPath
from typing import IO

from django.conf import settings
from django.utils.translation import gettext as _

from projects.errors import Invalid

MOST_ENTRIES = 20_000  # files, links and the folders that they lie in: each costs a disk about as much as 20 KiB
MOST_LEVELS = 100  # of folders in one another
MOST_HEADER_BYTES = 64 * 1024
EXTENDED = {tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK}
# What the two readers raise for what they cannot read; RuntimeError is zipfile's for a password.
BROKEN = (
    tarfile.TarError,
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    EOFError,
    ValueError,
    RuntimeError,
    NotImplementedError,
    OSError,
)


def unpacked(file: IO[bytes], into: Path) -> None:
    """The files of a tar or a zip below `into`. Raises Invalid("archive") for one that is broken, too large, or leads out."""
    try:
        unpack = _unzip if zipfile.is_zipfile(file) else _untar
        file.seek(0)
        unpack(file, into)
    except BROKEN as error:
        raise _refused(_why(error)) from error


def folder() -> tempfile.TemporaryDirectory[str]:
    """Where an archive is unpacked to be packed again."""
    return tempfile.TemporaryDirectory(prefix="source-")


class _Entry(tarfile.TarInfo):
    """tarfile reads a long name and other extended headers whole before it hands out the entry that they are of."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> _Entry:
        entry = super().frombuf(buf, encoding, errors)
        if entry.type in EXTENDED and entry.size > MOST_HEADER_BYTES:
            raise _refused(_("one of its headers is larger than %(kib)s KiB") % {"kib": MOST_HEADER_BYTES // 1024})
        return entry


class _Place:
    """The folder that an archive is unpacked to, and how much more it takes.

    Folders are made for the files in them alone: an empty one is no part of a source.
    """

    def __init__(self, into: Path) -> None:
        self._into = into
        self._folders = {into}
        self._room_bytes = settings.SOURCE_MAX_UNPACKED_BYTES
        self._room_entries = MOST_ENTRIES

    def take(self, size_bytes: int = 0, entries: int = 1) -> None:
        """Raises Invalid when it is more than there is room for."""
        self._room_bytes -= size_bytes
        self._room_entries -= entries
        if self._room_bytes < 0 or self._room_entries < 0:
            raise _refused(
                _("it holds more than %(entries)s files and folders or %(mib)s MiB")
                % {"entries": MOST_ENTRIES, "mib": int(settings.SOURCE_MAX_UNPACKED_BYTES) // 1024**2}
            )

    def of(self, name: str) -> Path:
        place = PurePosixPath(name)
        if place.is_absolute() or ".." in place.parts:
            raise _refused(_("%(name)s would be written outside of its folder") % {"name": name})
        if len(place.parts) > MOST_LEVELS:
            raise _refused(_("%(name)s… lies in more than %(most)s folders") % {"name": name[:50], "most": MOST_LEVELS})
        return self._into / place

    def write(self, target: Path, content: IO[bytes] | None, *, is_program: bool) -> None:
        assert content is not None
        self.make_folder_of(target)
        with content, target.open("wb") as file:
            shutil.copyfileobj(content, file)
        target.chmod(0o755 if is_program else 0o644)

    def make_folder_of(self, target: Path) -> None:
        missing = []
        folder = target.parent
        while folder not in self._folders:
            missing.append(folder)
            folder = folder.parent
        self.take(entries=len(missing))
        for folder in reversed(missing):
            folder.mkdir(exist_ok=True)
            self._folders.add(folder)


def _untar(file: IO[bytes], into: Path) -> None:
    """By hand, as tarfile's own filters are missing in the Python 3.11 of some distributions."""
    place = _Place(into)
    links: list[tuple[Path, tarfile.TarInfo]] = []
    with tarfile.open(fileobj=file, mode="r:*", tarinfo=_Entry) as archive:
        for entry in archive:
            place.take(entry.size)
            target = place.of(entry.name)
            if entry.isfile():
                place.write(target, archive.extractfile(entry), is_program=bool(entry.mode & 0o100))
            elif entry.issym() or entry.islnk():
                links.append((target, entry))
            elif not entry.isdir():
                raise _refused(_("%(name)s is neither a file nor a folder") % {"name": entry.name})
        _read_to_the_end(archive)
    for target, entry in links:  # last: nothing is ever written through one
        place.make_folder_of(target)
        _link(target, entry, into)
    for target, entry in links:  # when all are there: one may lead out by way of another
        if not target.resolve().is_relative_to(into.resolve()):
            raise _refused(_("%(name)s links to a place outside of its folder") % {"name": entry.name})
        if target.is_dir():
            raise _refused(_("%(name)s is a link to a folder, which cannot be packed") % {"name": entry.name})
        if target.is_file():  # it is packed as what it leads to
            place.take(target.stat().st_size, entries=0)


def _read_to_the_end(archive: tarfile.TarFile) -> None:
    """What compression says of the whole stands behind the last entry. Raises what it finds wrong."""
    assert archive.fileobj is not None
    while archive.fileobj.read(1024**2):
        pass


def _link(target: Path, entry: tarfile.TarInfo, into: Path) -> None:
    to = into / entry.linkname if entry.islnk() else target.parent / entry.linkname
    if PurePosixPath(entry.linkname).is_absolute() or not to.resolve().is_relative_to(into.resolve()):
        raise _refused(_("%(name)s links to a place outside of its folder") % {"name": entry.name})
    target.unlink(missing_ok=True)
    target.symlink_to(to.resolve())


def _unzip(file: IO[bytes], into: Path) -> None:
    place = _Place(into)
    with zipfile.ZipFile(file) as archive:
        entries = archive.infolist()
        place.take(sum(entry.file_size for entry in entries), len(entries))
        for entry in entries:
            target = place.of(entry.filename.replace("\\", "/"))
            if not entry.is_dir():
                place.write(target, archive.open(entry), is_program=bool((entry.external_attr >> 16) & 0o100))


def _refused(sentence: str) -> Invalid:
    return Invalid({"archive": sentence})


def _why(error: Exception) -> str:
    """In words for people: what the readers say is for who writes them, and may name this machine's folders."""
    if isinstance(error, OSError) and error.strerror:  # as of a name that is too long for a file
        return _("it cannot be unpacked: %(why)s") % {"why": error.strerror}
    if isinstance(error, RuntimeError) and "password" in str(error):
        return _("it is locked with a password")
    return _("it is no .tar, .tar.gz or .zip that can be read")
