"""The client as the panel hands it out: its folder as a source archive, which pip installs from one address that stays.

    pip install https://panel.example/client.tar.gz

Not a wheel: pip takes a wheel only from an address that ends with its version. Public: it holds no secret.
"""

from __future__ import annotations

import gzip
import io
import tarfile
from collections.abc import Iterator
from pathlib import Path

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

NAME = "tpu-panel-client"
LEFT_OUT = {"__pycache__", "build"}


@require_GET
@never_cache
def client_archive(request: HttpRequest) -> HttpResponse:
    """As old as the panel itself: who installs it anew gets the client that belongs to it."""
    headers = {"Content-Disposition": f'attachment; filename="{NAME}.tar.gz"'}
    return HttpResponse(packed(settings.BASE_DIR / "client"), content_type="application/gzip", headers=headers)


def packed(folder: Path) -> bytes:
    """What is in the folder decides alone: no times, no owners."""
    file = io.BytesIO()
    with gzip.GzipFile(fileobj=file, mode="wb", mtime=0) as compressed, tarfile.open(fileobj=compressed, mode="w") as archive:
        for path in _files(folder):
            entry = tarfile.TarInfo(f"{NAME}/{path.relative_to(folder)}")
            data = path.read_bytes()
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return file.getvalue()


def _files(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.iterdir()):
        if path.is_dir() and path.name not in LEFT_OUT and path.suffix != ".egg-info":
            yield from _files(path)
        elif path.is_file() and (path.suffix in {".py", ".toml", ".md"} or path.name == "py.typed"):
            yield path
