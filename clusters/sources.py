"""The code that ranks run: kept as one archive a digest, handed to the hosts that run it."""

from __future__ import annotations

import gzip
import hashlib
import io
import tarfile
from pathlib import Path
from typing import IO

from django.conf import settings
from django.core.files.base import ContentFile
from django.core.files.storage import storages
from django.utils.translation import gettext as _

from clusters.models import Source
from projects.errors import NotFound

IGNORED = {"__pycache__", ".pytest_cache"}


def recipes() -> list[str]:
    """Names of the recipes that the panel ships."""
    return sorted(path.parent.name for path in (settings.BASE_DIR / "recipes").glob("*/recipe.json"))


def of_recipe(name: str) -> Source:
    """The recipe as it is now. Raises NotFound with the names that exist."""
    if name not in recipes():
        raise NotFound("no-such-recipe", _("There is no recipe %(name)s.") % {"name": name}, known=recipes())
    return keep(packed(settings.BASE_DIR / "recipes" / name), title=f"recipe {name}")


def keep(archive: bytes, *, title: str) -> Source:
    """Store an archive under its digest; the same bytes are stored once."""
    digest = hashlib.sha256(archive).hexdigest()
    storage, path = storages["default"], _path(digest)
    if not storage.exists(path):
        storage.save(path, ContentFile(archive))
    source, _made = Source.objects.get_or_create(digest=digest, defaults={"title": title, "size_bytes": len(archive)})
    return source


def open_archive(digest: str) -> IO[bytes]:
    """Raises NotFound."""
    if not Source.objects.filter(pk=digest).exists():
        raise NotFound("no-such-source", _("There is no such source."))
    return storages["default"].open(_path(digest))


def packed(folder: Path) -> bytes:
    """The folder as tar.gz; the same files make the same bytes, whoever owns them and whenever they were written."""
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for path in sorted(folder.rglob("*")):
            if path.is_file() and not IGNORED.intersection(path.parts):
                entry = tarfile.TarInfo(str(path.relative_to(folder)))
                entry.size, entry.mode = path.stat().st_size, 0o755 if path.stat().st_mode & 0o100 else 0o644
                with path.open("rb") as file:
                    archive.addfile(entry, file)
    return gzip.compress(plain.getvalue(), mtime=0)


def _path(digest: str) -> str:
    return f"sources/{digest}.tar.gz"
