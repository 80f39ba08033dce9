"""The lines around a line of a log."""

from __future__ import annotations

from dataclasses import dataclass

from monitoring import log_text, logs
from monitoring.log_text import Shown
from monitoring.models import Log

MOST_LINES = 20  # on each side
MOST_BYTES = 64 * 1024  # looked through for them


@dataclass(frozen=True)
class Line:
    number: int  # from 0
    offset: int
    shown: Shown


def before(log: Log, data: bytes, end: int, number: int, count: int) -> list[Line]:
    """At most `count` lines in front of the line `number`, which begins at `end`; `data` are the bytes up to there, as far as
    they are at hand. One that is too long ends them."""
    if count and end > len(data) and data.count(b"\n", -MOST_BYTES) < count:
        start = max(0, end - MOST_BYTES)
        data = logs.read(log, start, end - start)
    found, offset, to = list[Line](), end - len(data), len(data)
    while to and len(found) < count:
        start = data.rfind(b"\n", 0, to - 1) + 1
        if not start and offset:
            break  # it began before these bytes, or just there
        found.append(_line(data[start:to], number - len(found) - 1, offset + start))
        to = start
    return found[::-1]


def after(log: Log, data: bytes, start: int, number: int, count: int) -> list[Line]:
    """At most `count` lines behind the line `number`, where the next begins at `start`; `data` are the bytes from there on."""
    if count and start + len(data) < log.head_offset and data.count(b"\n", 0, MOST_BYTES) < count:
        data = logs.read(log, start, min(MOST_BYTES, log.head_offset - start))
    found, at = list[Line](), 0
    while at < len(data) and len(found) < count:
        end = data.find(b"\n", at) + 1
        if not end and start + len(data) < log.head_offset:
            break
        found.append(_line(data[at : end or len(data)], number + len(found) + 1, start + at))
        at = end or len(data)
    return found


def _line(data: bytes, number: int, offset: int) -> Line:
    return Line(number, offset, log_text.shown(log_text.plain(data.removesuffix(b"\n")), []))
