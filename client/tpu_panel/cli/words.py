"""How times, sizes and states read: the panel's own words and marks."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from datetime import datetime, timezone
from typing import Any

# state -> (mark, the same where only ASCII can be written, colour); shape and word say it without the colour
STATES = {
    "queued": ("○", "o", "grey"),
    "starting": ("◐", "~", "cyan"),
    "running": ("●", "*", "blue"),
    "stopping": ("◉", "#", "yellow"),
    "succeeded": ("✓", "+", "green"),
    "failed": ("✗", "x", "red"),
    "canceled": ("⊘", "-", "grey"),
    # of hosts
    "enrolled": ("○", "o", "grey"),
    "ready": ("●", "*", "green"),
    "cordoned": ("⊘", "-", "yellow"),
    "silent": ("◌", ":", "red"),
    # of attempts
    "waiting": ("○", "o", "grey"),
    "ordered": ("◐", "~", "cyan"),
    "preparing": ("◐", "~", "cyan"),
    "exited": ("✓", "+", "grey"),
    "lost": ("✗", "x", "red"),
}
MINUTE, HOUR, DAY = 60, 3600, 86400
CONTROLS = ("Cc", "Cs", "Zl", "Zp")
REPLACED = "\N{REPLACEMENT CHARACTER}"
TURNING = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"  # controls of the writing direction


def moment(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text.replace("Z", "+00:00")) if text else None


def duration(seconds: float) -> str:
    """3 min 12 s."""
    whole = max(0, int(seconds))
    if whole < MINUTE:
        return f"{whole} s"
    if whole < HOUR:
        return f"{whole // MINUTE} min {whole % MINUTE} s"
    if whole < DAY:
        return f"{whole // HOUR} h {whole % HOUR // MINUTE} min"
    return f"{whole // DAY} d {whole % DAY // HOUR} h"


def ago(text: str | None, now: datetime | None = None) -> str:
    """3 min ago."""
    at = moment(text)
    if at is None:
        return ""
    seconds = ((now or datetime.now(timezone.utc)) - at).total_seconds()
    largest = " ".join(duration(seconds).split()[:2])
    return "just now" if seconds < 5 else f"{largest} ago"


def run_time(job: Mapping[str, Any], now: datetime | None = None) -> str:
    """From its first attempt's start to its end, or until now; "": it has not run."""
    start = moment(job["started_at"])
    if start is None:
        return ""
    end = moment(job["ended_at"]) or now or datetime.now(timezone.utc)
    return duration((end - start).total_seconds())


def size(count: int | None) -> str:
    if count is None:
        return "unknown"
    value = float(count)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if value < 1024:
            return f"{value:.0f} {unit}" if unit == "B" or value >= 100 else f"{value:.1f} {unit}"
        value /= 1024
    return f"{value:.1f} TiB"


def number(value: Any) -> str:
    """A metric's value: "Infinity" comes as a text, NaN as null."""
    if value is None:
        return "NaN"
    return f"{value:.6g}" if isinstance(value, (int, float)) else str(value)


def progress(job: Mapping[str, Any]) -> str:
    """62 %, or step 120 when the program did not say of how many."""
    found = job["progress"]
    if found is None:
        return ""
    return f"{found['percent']} %" if found["percent"] is not None else f"step {found['step']}"


def plain(text: str) -> str:
    """Without what would do something to the terminal, or turn the text around: other people write these names."""
    return "".join(
        REPLACED if mark in TURNING or unicodedata.category(mark) in ("Cc", "Cs", "Zl", "Zp") else mark for mark in text
    )


def width(text: str) -> int:
    """Columns that it takes."""
    return sum(
        2 if unicodedata.east_asian_width(mark) in "WF" else 0 if unicodedata.category(mark) in ("Mn", "Me", "Cf") else 1
        for mark in text
    )


def cut(text: str, columns: int) -> str:
    """No wider than that; what is left out is told in the middle."""
    if width(text) <= columns:
        return text
    if columns < 4:
        return _first(text, columns)
    left = (columns - 1) // 2 + (columns - 1) % 2
    start = _first(text, left)
    end = _first(text[::-1], columns - 1 - width(start))[::-1]
    return f"{start}…{end}"


def cut_end(text: str, columns: int) -> str:
    """The same for sentences: the end is left out."""
    return text if width(text) <= columns else _first(text, max(columns - 1, 0)) + "…" * (columns > 0)


def _first(text: str, columns: int) -> str:
    taken, used = "", 0
    for mark in text:
        used += width(mark)
        if used > columns:
            break
        taken += mark
    return taken
