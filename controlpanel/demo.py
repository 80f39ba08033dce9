"""What `make demo` shows in the terminal: a job that is launched and followed as anyone would, by the client (client/)."""

from __future__ import annotations

import os
import sys
from typing import NoReturn

from django.conf import settings

DEFINITION = "digits-tensorflow"


def command(project: str) -> list[str]:
    """`tpu-panel launch ... --follow`; it ends with the job, and with its status."""
    client = [sys.executable, "-m", "tpu_panel"]
    return [*client, "launch", DEFINITION, "--project", project, "--name", "digits", "--follow"]


def become(arguments: list[str], *, url: str, token: str) -> NoReturn:
    """This process goes on as the client: who started it ends that, and hears how it ended."""
    sys.stdout.flush()
    environment = {"PANEL_URL": url, "PANEL_TOKEN": token, "PYTHONPATH": str(settings.BASE_DIR / "client")}
    os.execve(arguments[0], arguments, os.environ | environment)
