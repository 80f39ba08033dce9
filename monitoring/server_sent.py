"""Server-sent events: how one stands on the line, and how bytes of a log go into one."""

from __future__ import annotations

import base64
import codecs
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

CONTENT_TYPE = "text/event-stream"
COMMENT = b": still here\n\n"  # so that neither side, nor a proxy between them, takes silence for the end
RETRY = b"retry: 1000\n\n"  # milliseconds after which who was cut off comes again
LONGEST_CHARACTER = 4  # bytes in UTF-8
# JSON leaves these alone, and not only browsers take them for the ends of lines.
LINE_ENDS = str.maketrans({mark: f"\\u{ord(mark):04x}" for mark in "\x85\u2028\u2029"})


def event(name: str, data: Mapping[str, Any], *, id: str = "") -> bytes:  # noqa: A002  the format's word
    """An event of one line of JSON. Who comes again says the last `id` that they had (Last-Event-ID)."""
    head = f"id: {id}\n" if id else ""
    return f"{head}event: {name}\ndata: {json.dumps(data, ensure_ascii=False).translate(LINE_ENDS)}\n\n".encode()


def text_of(data: bytes) -> dict[str, str]:
    """Bytes for JSON: `text`, and where that is not all of it (they are no UTF-8) `base64` beside it."""
    try:
        return {"text": data.decode()}
    except UnicodeDecodeError:
        return {"text": data.decode(errors="replace"), "base64": base64.b64encode(data).decode()}


@dataclass
class Characters:
    """Bytes as they come, handed on without the beginning of a character whose end is still to come."""

    held: bytes = b""

    def take(self, data: bytes) -> bytes:
        data = self.held + data
        decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        decoder.decode(data[-LONGEST_CHARACTER:])
        self.held = decoder.getstate()[0]
        return data[: len(data) - len(self.held)]

    def rest(self) -> bytes:
        held, self.held = self.held, b""
        return held
