"""What a launch filled in otherwise than its definition does by itself: by that one tells the jobs of a sweep apart."""

from __future__ import annotations

import json
from typing import Any

from jobs.models import Job

MOST_CHARACTERS = 40  # of one value
MOST_IN_A_LINE = 5


def of(job: Job) -> list[tuple[str, str]]:
    """(name, value as one short line) of each, as the definition orders them. What was left empty is not told."""
    parts = job.version.parameters.get("properties", {})
    names = [name for name in parts if name in job.parameters] + [name for name in job.parameters if name not in parts]
    changed = [name for name in names if _is_told(job.parameters[name], parts.get(name))]
    return [(name, short(job.parameters[name])) for name in changed]


def line(job: Job) -> str:
    """All of them in a row's words."""
    return " ".join(f"{name}={value}" for name, value in of(job)[:MOST_IN_A_LINE])


def short(value: Any) -> str:
    """A value as it fits a row: its first line, and "…" for what is left out."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    line = text.strip().partition("\n")[0].rstrip()
    return line if line == text.strip() and len(line) <= MOST_CHARACTERS else f"{line[: MOST_CHARACTERS - 1]}…"


def _is_told(value: Any, part: Any) -> bool:
    if value in ("", None, [], {}):
        return False
    return not (isinstance(part, dict) and "default" in part and part["default"] == value)
