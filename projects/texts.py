"""Names that people type: what a line of a list can show and a database can hold, in every script."""

from __future__ import annotations

import unicodedata

from agent.protocol import UNREADABLE

USERNAME_MARKS = "@.+-_"


def is_readable(text: str) -> bool:
    """It stands in one line as it was written: no control character, none that turns its direction, no half of a pair."""
    return not UNREADABLE.search(text) and text.encode(errors="ignore").decode() == text


def is_username(text: str) -> bool:
    """As Django's own rule, but with the vowel signs that many scripts write as marks of their own."""
    kinds = [unicodedata.category(letter)[0] if letter not in USERNAME_MARKS else "_" for letter in text]
    return bool(kinds) and kinds[0] != "M" and set(kinds) <= {"L", "N", "M", "_"}
