"""Code that is brought to the panel: a folder becomes an archive, the same files always the same one."""

from __future__ import annotations

import gzip
import io
import tarfile
from collections.abc import Iterator
from pathlib import Path

from tpu_panel.errors import PanelError

LEFT_OUT = {".git", ".hg", ".venv", "venv", "node_modules", "__pycache__", ".mypy_cache", ".pytest_cache", ".ruff_cache"}
MOST_BYTES = 512 * 1024**2  # of the files; the panel's own limits are its to tell


def packed(path: Path) -> tuple[str, bytes]:
    """(name, bytes) of a file as it is, or of a folder's files as .tar.gz. Raises PanelError."""
    try:
        if path.is_dir():
            return f"{path.resolve().name or 'code'}.tar.gz", _folder(path)
        return path.name, path.read_bytes()
    except OSError as error:
        raise PanelError("no-such-file", f"{error.filename or path} cannot be read: {error.strerror}.") from error


def _folder(folder: Path) -> bytes:
    """Without what LEFT_OUT names, and with no times and owners: what is in it decides alone."""
    file, size_bytes = io.BytesIO(), 0
    with gzip.GzipFile(fileobj=file, mode="wb", mtime=0) as compressed, tarfile.open(fileobj=compressed, mode="w") as archive:
        for path in _files(folder):
            entry = archive.gettarinfo(path, arcname=str(path.relative_to(folder)))
            entry.mtime, entry.uid, entry.gid, entry.uname, entry.gname = 0, 0, 0, "", ""
            size_bytes += entry.size
            if size_bytes > MOST_BYTES:
                raise PanelError("too-large", f"{folder} holds more than {MOST_BYTES // 1024**2} MiB; data belongs elsewhere.")
            if entry.isreg():
                with path.open("rb") as content:
                    archive.addfile(entry, content)
            else:
                archive.addfile(entry)
    if not size_bytes and not any(_files(folder)):
        raise PanelError("no-such-file", f"There is no file in {folder}.")
    return file.getvalue()


def _files(folder: Path) -> Iterator[Path]:
    """Plain files and links below a folder, in order."""
    for path in sorted(folder.iterdir()):
        if path.name in LEFT_OUT or path.suffix == ".pyc":
            continue
        if path.is_dir() and not path.is_symlink():
            yield from _files(path)
        elif path.is_file() or path.is_symlink():
            yield path
