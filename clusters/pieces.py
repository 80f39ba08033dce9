"""Bytes of fetched files as objects of the storage "default", one a piece, under names that say where it stands."""

from __future__ import annotations

from django.core.files.base import ContentFile
from django.core.files.storage import FileSystemStorage, Storage, storages
from django.utils.translation import gettext as _

from agent.protocol import FETCH_PIECE_BYTES
from projects.errors import Gone

ROOT = "fetched"


def save(fetch_id: int, offset: int, data: bytes) -> None:
    """Store a piece; one that stood there goes."""
    storage, name = _storage(), _name(fetch_id, offset)
    storage.delete(name)
    saved = storage.save(name, ContentFile(data))
    if saved != name:  # the same piece came twice at once: the other stands
        storage.delete(saved)


def read(fetch_id: int, offset: int) -> bytes:
    """The bytes from `offset` to the end of their piece. Raises Gone when it was dropped or lost."""
    start = offset - offset % FETCH_PIECE_BYTES
    try:
        with _storage().open(_name(fetch_id, start)) as file:
            file.seek(offset - start)
            return file.read()
    except FileNotFoundError as error:
        raise Gone("fetched-bytes-lost", _("A part of this file is missing from the storage; fetch it again.")) from error


def drop(fetch_id: int) -> None:
    """All pieces of a fetch; what is not there is dropped."""
    storage, folder = _storage(), f"{ROOT}/{fetch_id}"
    try:
        names = storage.listdir(folder)[1]
    except FileNotFoundError:
        return
    for name in names:
        storage.delete(f"{folder}/{name}")
    if isinstance(storage, FileSystemStorage):
        storage.delete(folder)


def all_fetches() -> list[int]:
    """Ids of which something is stored."""
    try:
        folders = _storage().listdir(ROOT)[0]
    except FileNotFoundError:
        return []
    return sorted(int(name) for name in folders if name.isdecimal())


def _name(fetch_id: int, offset: int) -> str:
    return f"{ROOT}/{fetch_id}/{offset:016d}"


def _storage() -> Storage:
    return storages["default"]
