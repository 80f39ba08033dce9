"""The request that a script would send for what a page shows."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from typing import Any

from django.conf import settings


def launch_request(body: Mapping[str, Any]) -> str:
    """POST /jobs with this body as a command line of curl. The token is a variable of the reader's shell, never a value."""
    text = shlex.quote(json.dumps(body, ensure_ascii=False))
    return f'curl {settings.PUBLIC_URL}/api/v1/jobs -H "Authorization: Bearer $TOKEN" --json {text}'
