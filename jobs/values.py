"""What of a person's words and values can be kept and shown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agent.protocol import UNREADABLE

MOST_LEVELS = 50  # of lists and objects in one another
MOST_VALUE_BYTES = 100_000  # of one variable: Linux takes 128 KiB
MOST_ENVIRONMENT_BYTES = 500_000  # of all that a launch sets


def is_storable(value: Any, levels: int = MOST_LEVELS) -> bool:
    """JSON carries NUL and halves of surrogate pairs, databases and command lines do not; nor what is nested for ever."""
    if isinstance(value, Mapping):
        return levels > 0 and all(is_storable(name) and is_storable(part, levels - 1) for name, part in value.items())
    if isinstance(value, list):
        return levels > 0 and all(is_storable(part, levels - 1) for part in value)
    return not isinstance(value, str) or ("\0" not in value and value.encode(errors="ignore").decode() == value)


def is_readable(value: str | Mapping[str, str]) -> bool:
    """It stands in one line of a list or a title, as it was written."""
    if isinstance(value, Mapping):
        return all(is_readable(name) and is_readable(text) for name, text in value.items())
    return not UNREADABLE.search(value)
