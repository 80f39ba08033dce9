"""Which panel, and who one is there: the environment's word, else what `tpu-panel login` has kept."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tpu_panel.connection import checked_url
from tpu_panel.errors import PanelError

USUAL_URL = "http://127.0.0.1:8000"


@dataclass(frozen=True)
class Account:
    url: str
    token: str


def path(environ: Mapping[str, str] = os.environ) -> Path:
    if named := environ.get("PANEL_CONFIG"):
        return Path(named)
    try:
        return Path(environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "tpu-panel" / "config.json"
    except RuntimeError:
        raise PanelError("config", "There is no home folder to keep an account in: say where in PANEL_CONFIG.") from None


def account(url: str | None = None, token: str | None = None, environ: Mapping[str, str] = os.environ) -> Account:
    """PANEL_URL and PANEL_TOKEN in place of what is not given, else what is kept. Raises PanelError.

    A token that is kept goes to the panel that it was kept for, and to no other.
    """
    url, token = url or environ.get("PANEL_URL"), token or environ.get("PANEL_TOKEN")
    kept = None if url and token else load(environ)
    url = checked_url(url or (kept.url if kept else USUAL_URL))
    if not token and kept and kept.url == url:
        token = kept.token
    return Account(url, (token or "").strip())


def load(environ: Mapping[str, str] = os.environ) -> Account | None:
    """None: nothing is kept. Raises PanelError for a file that is none of ours."""
    place = path(environ)
    try:
        found = json.loads(place.read_text())
        return Account(checked_url(found["url"]), str(found["token"]))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise PanelError("config", f"{place} cannot be read: {error.strerror}.") from error
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, PanelError) as error:
        raise PanelError("config", f"{place} is not what `tpu-panel login` writes. Delete it, and sign in again.") from error


def save(kept: Account, environ: Mapping[str, str] = os.environ) -> Path:
    """In a file that its owner alone may read, from its first byte on. Raises PanelError."""
    place = path(environ)
    try:
        place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor, name = tempfile.mkstemp(dir=place.parent, prefix=place.name)  # mode 0600
        try:
            with os.fdopen(descriptor, "w") as file:
                json.dump({"url": kept.url, "token": kept.token}, file)
            Path(name).replace(place)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise PanelError("config", f"{place} cannot be written: {error.strerror}.") from error
    return place
