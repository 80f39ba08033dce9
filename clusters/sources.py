"""The code that ranks run: kept as one archive a digest, handed to the hosts that run it.

`pin` makes what a definition says of its source into what exactly runs: an archive's digest, or a git address with its ref,
which becomes a commit before anything is placed (clusters/resolving.py).
"""

from __future__ import annotations

import gzip
import hashlib
import os
import tarfile
import tempfile
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import IO, Any

from django.conf import settings
from django.core.files.base import File
from django.core.files.storage import storages
from django.db import transaction
from django.utils.translation import gettext as _

from clusters import archives, git
from clusters.models import Source, Upload
from monitoring import conditions
from projects import audit
from projects.actors import Actor
from projects.errors import Invalid, NotFound
from projects.models import Project

IGNORED = {"__pycache__", ".pytest_cache"}


def recipes() -> list[str]:
    """Names of the recipes that the panel ships."""
    return sorted(path.parent.name for path in (settings.BASE_DIR / "recipes").glob("*/recipe.json"))


def of_recipe(name: str) -> Source:
    """The recipe as it is now. Raises NotFound with the names that exist."""
    if name not in recipes():
        raise NotFound("no-such-recipe", _("There is no recipe %(name)s.") % {"name": name}, known=recipes())
    return keep(packed(settings.BASE_DIR / "recipes" / name), title=f"recipe {name}")


def pin(source: Mapping[str, Any], *, project: Project) -> dict[str, Any]:
    """A template's source as it is now. Raises Invalid or NotFound.

    recipe {"name"} -> archive; script {"name", "text"} -> archive of that one file; archive {"digest"} -> itself, when it was
    uploaded to this project; git {"address", "ref"} -> itself, still without its commit.
    """
    match source["kind"]:
        case "recipe":
            return _archive(of_recipe(source["name"]))
        case "script":
            return _archive(of_script(source["name"], source["text"]))
        case "archive":
            return _archive(uploaded(project, source["digest"]))
        case "git":
            ref = source.get("ref") or "HEAD"
            git.check(source["address"], ref)
            return {"kind": "git", "address": git.plain(source["address"]), "ref": ref}
    return dict(source)


def of_script(name: str, text: str) -> Source:
    """One file of this name with this text, as it was typed."""
    with archives.folder() as folder:
        Path(folder, name).write_text(text.replace("\r\n", "\n"))  # browsers send a textarea's lines so
        return keep(packed(Path(folder)), title=name)


def upload(*, project: Project, name: str, file: IO[bytes], by: Actor, now: datetime) -> Upload:
    """An archive for this project's launches. The same bytes are one upload.

    Raises Invalid with the field `archive`, and Conflict while the panel's disk is low.
    """
    conditions.check_room()
    file.seek(0, os.SEEK_END)
    if file.tell() > settings.SOURCE_MAX_BYTES:
        limit = settings.SOURCE_MAX_BYTES // 1024**2
        raise Invalid({"archive": _("it is larger than %(limit)s MiB; data belongs elsewhere") % {"limit": limit}})
    file.seek(0)
    with archives.folder() as folder:
        archives.unpacked(file, Path(folder))
        if not any(_files(Path(folder))):
            raise Invalid({"archive": _("there is no file in it")})
        packed_again = packed(Path(folder))
    name, user = Path(name).name[:200] or "archive", by.user if by.user.is_authenticated else None
    with transaction.atomic():
        source = keep(packed_again, title=name)
        made, is_new = Upload.objects.get_or_create(
            project=project,
            source=source,
            defaults={"name": name, "created_by": user, "created_at": now},
        )
        if is_new:
            audit.record(
                "source.upload", by=by, project=project, subject=("source", source.pk, name), size_bytes=source.size_bytes
            )
    return made


def uploaded(project: Project, digest: str) -> Source:
    """Raises Invalid when nobody has brought it into this project."""
    found = Upload.objects.filter(project=project, source_id=digest).select_related("source").first()
    if found is None:
        raise Invalid({"source.digest": _("no such archive was uploaded to project %(project)s") % {"project": project.slug}})
    return found.source


def _archive(source: Source) -> dict[str, Any]:
    return {"kind": "archive", "digest": source.digest, "title": source.title}


def keep(archive: IO[bytes], *, title: str) -> Source:
    """Store an archive under its digest; the same bytes are stored once."""
    digest, size_bytes = _digest(archive)
    storage, path = storages["default"], _path(digest)
    if not storage.exists(path) or storage.size(path) != size_bytes:  # a save that was broken off left less
        storage.delete(path)
        saved = storage.save(path, File(archive))
        if saved != path:  # someone was faster with the same bytes
            storage.delete(saved)
    source, _made = Source.objects.get_or_create(digest=digest, defaults={"title": title, "size_bytes": size_bytes})
    return source


def open_archive(digest: str) -> IO[bytes]:
    """Raises NotFound."""
    if not Source.objects.filter(pk=digest).exists():
        raise NotFound("no-such-source", _("There is no such source."))
    return storages["default"].open(_path(digest))


def packed(folder: Path) -> IO[bytes]:
    """The folder as tar.gz, in a file without a name; the same files make the same bytes, whoever owns them and since when."""
    made = tempfile.TemporaryFile()  # noqa: SIM115  whoever gets it closes it
    with (
        gzip.GzipFile(filename="", fileobj=made, mode="wb", mtime=0) as stream,
        tarfile.open(fileobj=stream, mode="w|", format=tarfile.PAX_FORMAT) as archive,
    ):
        for path in sorted(_files(folder)):
            entry = tarfile.TarInfo(str(path.relative_to(folder)))
            entry.size, entry.mode = path.stat().st_size, 0o755 if path.stat().st_mode & 0o100 else 0o644
            with path.open("rb") as file:
                archive.addfile(entry, file)
    made.seek(0)
    return made


def _files(folder: Path) -> Iterator[Path]:
    """What of it is packed."""
    return (path for path in folder.rglob("*") if path.is_file() and not IGNORED.intersection(path.parts))


def _digest(archive: IO[bytes]) -> tuple[str, int]:
    """(sha256, bytes) of a file, which then stands at its start again."""
    digest, size_bytes = hashlib.sha256(), 0
    while part := archive.read(1024**2):
        digest.update(part)
        size_bytes += len(part)
    archive.seek(0)
    return digest.hexdigest(), size_bytes


def _path(digest: str) -> str:
    return f"sources/{digest}.tar.gz"
