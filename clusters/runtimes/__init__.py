"""Runtimes: named Python environments, pinned to the last package, built once on a host and reused.

A preset is a file of this folder, `<name>.txt`: a fully pinned list as pip and uv read it. What identifies a runtime is the
digest of its list, so that a job gets tomorrow what it got today, whatever the preset says by then.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from django.utils.translation import gettext as _

from clusters.models import Runtime
from projects.errors import NotFound

FOLDER = Path(__file__).parent
PINNED = re.compile(r"[A-Za-z0-9._-]+(\[[A-Za-z0-9._,-]+\])?==[A-Za-z0-9.+!_-]+( *;.*)?")


def names() -> list[str]:
    """The presets that there are."""
    return sorted(path.stem for path in FOLDER.glob("*.txt"))


def pin(name: str) -> Runtime:
    """The preset as it is now, kept under its digest. Raises NotFound with the names that exist."""
    path = FOLDER / f"{name}.txt"
    if name not in names():
        raise NotFound("no-such-runtime", _("There is no runtime %(name)s.") % {"name": name}, known=names())
    requirements = "\n".join(locked(path.read_text())) + "\n"
    digest = hashlib.sha256(requirements.encode()).hexdigest()
    runtime, _made = Runtime.objects.get_or_create(digest=digest, defaults={"name": name, "requirements": requirements})
    return runtime


def locked(text: str) -> list[str]:
    """The lines that say something, sorted. Raises ValueError for a line that pins nothing."""
    lines = [line for raw in text.splitlines() if (line := raw.partition("#")[0].strip())]
    for line in lines:
        if not PINNED.fullmatch(line):
            raise ValueError(f"not pinned: {line!r}")
    return sorted(lines, key=str.lower)
