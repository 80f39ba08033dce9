"""What of a person's words and values can be kept and shown."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _

from agent.protocol import UNREADABLE

MOST_LEVELS = 50  # of lists and objects in one another
LEAST_WHOLE, MOST_WHOLE = -(2**63), 2**64 - 1  # what 64 bits hold, with a sign or without: all that store or read JSON take it
MOST_VALUE_BYTES = 100_000  # of one variable: Linux takes 128 KiB
MOST_ENVIRONMENT_BYTES = 500_000  # of all that a launch sets
MOST_WORD_BYTES = 128 * 1024 - 1  # of a word of a command, or of NAME=value: Linux starts nothing with more (MAX_ARG_STRLEN)
MOST_START_BYTES = 1_500_000  # of all that a command is started with; Linux takes 2 MiB, some of it is the host's own


def is_storable(value: Any, levels: int = MOST_LEVELS) -> bool:
    """JSON carries NUL and halves of surrogate pairs, databases and command lines do not; nor what is nested for ever.

    Nor do they take infinities, which Python reads out of 1e999, or whole numbers of more than 64 bits.
    """
    if isinstance(value, Mapping):
        return levels > 0 and all(is_storable(name) and is_storable(part, levels - 1) for name, part in value.items())
    if isinstance(value, list):
        return levels > 0 and all(is_storable(part, levels - 1) for part in value)
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, int):
        return LEAST_WHOLE <= value <= MOST_WHOLE
    return not isinstance(value, str) or ("\0" not in value and value.encode(errors="ignore").decode() == value)


def unstorable() -> str:
    """What is wrong with a value that is not storable."""
    return _("holds a NUL, half a character or a number that is too large, or is nested too deeply")


def is_readable(value: str | Mapping[str, str]) -> bool:
    """It stands in one line of a list or a title, as it was written."""
    if isinstance(value, Mapping):
        return all(is_readable(name) and is_readable(text) for name, text in value.items())
    return not UNREADABLE.search(value)
