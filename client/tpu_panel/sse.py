"""Server-sent events as they stand on the line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Event:
    """`id` is that of this event, or of the last one that had any."""

    name: str
    data: str
    id: str


def events(parts: Iterable[bytes]) -> Iterator[Event | None]:
    """The events in these bytes, None for a comment. An event that is cut off at the end is none.

    Lines are cut at their line feeds here: a client's own idea of a line (httpx has str.splitlines) would cut the data.
    """
    name, data, last_id = "message", list[str](), ""
    for line in _lines(parts):
        field, _colon, value = line.partition(":")
        value = value.removeprefix(" ")
        if not line:
            if data:
                yield Event(name, "\n".join(data), last_id)
            name, data = "message", []
        elif not field:
            yield None
        elif field == "event":
            name = value
        elif field == "data":
            data.append(value)
        elif field == "id" and "\0" not in value:
            last_id = value


def _lines(parts: Iterable[bytes]) -> Iterator[str]:
    """Whole lines, without their ends."""
    waiting = bytearray()
    for part in parts:
        start = len(waiting)  # what was looked through already is not looked through again
        waiting += part
        while (end := waiting.find(b"\n", start)) >= 0:
            yield waiting[:end].removesuffix(b"\r").decode(errors="replace")
            del waiting[: end + 1]
            start = 0
