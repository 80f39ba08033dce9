"""How a machine becomes a host by one pasted command: the script, what it installs, and the command itself.

The command is public but for its token. What it installs is pinned: the agent's locked list with hashes, and the wheel
by its own.
"""

from __future__ import annotations

import hashlib
import shlex

from django.conf import settings
from django.template.loader import render_to_string
from django.utils.translation import gettext as _

from clusters import wheel
from projects.errors import NotFound

LOCKED = settings.BASE_DIR / "agent" / "requirements.txt"


def command(token: str) -> str:
    """What is pasted on the machine; the token's cluster is the one that it joins."""
    return f"curl -fsSL {shlex.quote(_address('install'))} | PANEL_ENROLMENT_TOKEN={shlex.quote(token)} sh"


def script() -> str:
    """The program for sh. It is the same for everyone: who runs it brings the token in the environment."""
    return render_to_string("hosts/install.sh", {"panel": shlex.quote(settings.PUBLIC_URL)})


def requirements() -> str:
    """What pip installs with --require-hashes: the locked list, and the agent's wheel from this panel.

    Raises NotFound when the panel was never prepared.
    """
    newest = wheel.newest()
    if newest is None:
        raise NotFound("no-such-wheel", _("The panel has no agent to hand out yet; `manage.py prepare` builds it."))
    digest = hashlib.sha256(newest.read_bytes()).hexdigest()
    return f"{LOCKED.read_text()}{_address(f'wheels/{newest.name}')} --hash=sha256:{digest}\n"


def _address(path: str) -> str:
    return f"{settings.PUBLIC_URL}/agent/v1/{path}"
