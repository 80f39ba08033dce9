"""Runtimes: named Python environments, pinned to the last package, built once on a host and reused.

A preset is a file `<name>.txt` of this folder, or of an installation's own var/runtimes: a fully pinned list as pip and uv
read it. What identifies a runtime is the digest of its list, so that a job gets tomorrow what it got today, whatever the
preset says by then.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from django.conf import settings
from django.utils.translation import gettext as _

from clusters.models import Runtime
from projects.errors import Invalid, NotFound

FOLDER = Path(__file__).parent
PINNED = re.compile(r"[A-Za-z0-9._-]+(\[[A-Za-z0-9._,-]+\])?==[A-Za-z0-9.+!_-]+( *;.*)?")


def names() -> list[str]:
    """The presets that there are."""
    return sorted(_presets())


def pin(name: str) -> Runtime:
    """The preset as it is now, kept under its digest. Raises NotFound with the names that exist, Invalid when it pins nothing."""
    path = _presets().get(name)
    if path is None:
        raise NotFound("no-such-runtime", _("There is no runtime %(name)s.") % {"name": name}, known=names())
    try:
        requirements = "\n".join(locked(path.read_text())) + "\n"
    except ValueError as error:
        raise Invalid({"runtime": _("The preset %(name)s cannot be used: %(why)s") % {"name": name, "why": error}}) from error
    digest = hashlib.sha256(requirements.encode()).hexdigest()
    runtime, _made = Runtime.objects.get_or_create(digest=digest, defaults={"name": name, "requirements": requirements})
    return runtime


def _presets() -> dict[str, Path]:
    """An installation's own go before those that are shipped."""
    folders = [FOLDER, settings.VAR_DIR / "runtimes"]
    return {path.stem: path for folder in folders for path in sorted(folder.glob("*.txt"))}


def locked(text: str) -> list[str]:
    """The lines that say something, sorted. Raises ValueError for a line that pins nothing."""
    lines = [line for raw in text.splitlines() if (line := raw.partition("#")[0].strip())]
    for line in lines:
        if not PINNED.fullmatch(line):
            raise ValueError(f"not pinned: {line!r}")
    return sorted(lines, key=str.lower)
