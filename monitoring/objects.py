"""Sealed log bytes as compressed objects of the storage "logs", under names that say their content."""

from __future__ import annotations

import functools
import os
import uuid
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from django.core.files.base import ContentFile
from django.core.files.storage import FileSystemStorage, Storage, storages
from django.utils.translation import gettext as _

from monitoring.models import Log
from projects.errors import Gone


def name_of(log: Log, offset: int, size_bytes: int) -> str:
    return f"{log.workload_id}/{log.rank}/{log.part}/{offset:016d}-{size_bytes}.zst"


def save(name: str, data: bytes) -> None:
    """Store the log bytes `data` whole or not at all. An object of this name holds the same bytes, and stays."""
    import zstandard

    storage = _storage()
    if storage.exists(name):
        return
    packed = zstandard.ZstdCompressor(level=3).compress(data)
    if isinstance(storage, FileSystemStorage):  # its own save leaves half a file when it dies
        _write_whole(Path(storage.path(name)), packed)
        return
    saved = storage.save(name, ContentFile(packed))  # an object store writes whole
    if saved != name:  # someone was faster
        storage.delete(saved)


@functools.lru_cache(maxsize=4)
def load(name: str, size_bytes: int) -> bytes:
    """The log bytes of an object. The last few stay at hand (4 x segments.MAX_BYTES): readers go through in small steps.

    Raises Gone when the object is lost or damaged.
    """
    import zstandard

    try:
        with _storage().open(name) as file:
            data = zstandard.ZstdDecompressor().decompress(file.read(), max_output_size=size_bytes)
    except (FileNotFoundError, zstandard.ZstdError) as error:
        raise Gone("log-bytes-lost", _("A part of this log is missing from the storage."), name=name) from error
    if len(data) != size_bytes:
        raise Gone("log-bytes-lost", _("A part of this log is damaged in the storage."), name=name)
    return data


def folders() -> Iterator[tuple[str, list[str]]]:
    """("<workload>/<rank>/<part>", names of its objects), of all that is stored."""
    storage = _storage()
    if not storage.exists(""):
        return
    for workload in storage.listdir("")[0]:
        for rank in storage.listdir(workload)[0]:
            for part in storage.listdir(f"{workload}/{rank}")[0]:
                folder = f"{workload}/{rank}/{part}"
                yield folder, [f"{folder}/{name}" for name in storage.listdir(folder)[1]]


def offset_of(name: str) -> int | None:
    """Where the bytes of an object stand; None when it is the rest of an interrupted save."""
    number, _dash, _size = name.rpartition("/")[2].partition("-")
    return int(number) if number.isdecimal() and name.endswith(".zst") else None


def delete(name: str) -> None:
    """Without effect when it is gone."""
    _storage().delete(name)


def delete_if_older(name: str, than: datetime) -> bool:
    try:
        if _storage().get_modified_time(name) >= than:
            return False
    except FileNotFoundError:  # retention was faster
        return False
    _storage().delete(name)
    return True


def _storage() -> Storage:
    return storages["logs"]


def _write_whole(path: Path, data: bytes) -> None:
    """The file is on the disk, folder entry included, before the pieces that it replaces are deleted."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f"{path.name}.{uuid.uuid4().hex}.part")
    with partial.open("xb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    partial.replace(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
