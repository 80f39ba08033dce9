"""`-p name=value`: read by the types that the definition's JSON Schema gives its parameters."""

from __future__ import annotations

import difflib
import json
import math
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tpu_panel.cli.statuses import UsageError

WORDS = {
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list (JSON, or -p again for each item)",
    "object": "a JSON object",
    "null": "null",
    "string": "a text",
}
TRUE, FALSE = {"true", "yes", "on", "1"}, {"false", "no", "off", "0"}


def parse(texts: Sequence[str], schema: Mapping[str, Any], definition: str, upload: Callable[[Path], str]) -> dict[str, Any]:
    """What fills the parameters. `upload` brings a folder or an archive, and says what names it. Raises UsageError."""
    known: Mapping[str, Any] = schema.get("properties", {})
    given: dict[str, list[str]] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise UsageError(f"-p {text}: write it as name=value.")
        given.setdefault(name, []).append(value)
    wrong, values = [], dict[str, Any]()
    for name, several in given.items():
        try:
            if name not in known and not schema.get("additionalProperties", True):
                raise ValueError(_unknown(name, known, definition))
            values[name] = _parameter(several, known.get(name, {}), upload)
        except ValueError as error:
            wrong.append(f"{name}: {error}")
    if wrong:
        raise UsageError("\n".join(wrong))
    return values


def pairs(option: str, texts: Sequence[str]) -> dict[str, str]:
    """Of an option that is written as name=value. Raises UsageError."""
    found = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise UsageError(f"{option} {text}: write it as name=value.")
        found[name] = value
    return found


def _parameter(texts: Sequence[str], schema: Mapping[str, Any], upload: Callable[[Path], str]) -> Any:
    if schema.get("format") == "archive" and texts[-1].startswith("@") and not texts[-1].startswith("@@"):
        return upload(Path(texts[-1][1:]).expanduser())
    read = [_read(text) for text in texts]
    types = _types(schema)
    if "array" in types:
        return _array(read, schema.get("items", {}))
    if len(read) > 1:
        raise ValueError("it is given more than once, and is no list")
    return _value(read[0], types)


def _read(text: str) -> str:
    """`@file` is what stands in that file, `@-` in the standard input; `@@` is a plain @ at the beginning."""
    if text.startswith("@@") or not text.startswith("@"):
        return text[1:] if text.startswith("@@") else text
    try:
        data = sys.stdin.buffer.read() if text == "@-" else Path(text[1:]).expanduser().read_bytes()
        return data.decode()
    except OSError as error:
        raise ValueError(f"{text[1:]} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ValueError(f"{text[1:]} is no UTF-8 text") from None


def _types(schema: Mapping[str, Any]) -> list[str]:
    """Of a field that says none (it may be an enum): any, the text last."""
    found = schema.get("type", [])
    return [found] if isinstance(found, str) else list(found) or ["integer", "number", "boolean", "null", "string"]


def _array(texts: Sequence[str], items: Mapping[str, Any]) -> list[Any]:
    """A JSON list, or an item of each text; numbers may stand in one with commas between them."""
    if len(texts) == 1 and texts[0].lstrip().startswith("["):
        found = _json(texts[0], "array")
        assert isinstance(found, list)
        return found
    types = _types(items) if items else ["string"]
    if not {"string", "object", "array"} & set(types):
        texts = [part.strip() for text in texts for part in text.split(",") if part.strip()]
    return [_value(text, types) for text in texts]


def _value(text: str, types: Sequence[str]) -> Any:
    """As the first type that it can be, a text last. Raises ValueError with what is needed."""
    for kind in sorted(types, key=list(READERS).index):
        try:
            return READERS[kind](text)
        except ValueError as error:
            if len(types) == 1 and kind in ("array", "object"):
                raise ValueError(str(error)) from None
    shown = text if len(text) <= 40 else f"{text[:40]}..."
    raise ValueError(f"{' or '.join(WORDS[kind] for kind in types)} is needed, not {shown!r}")


def _integer(text: str) -> int:
    if not re.fullmatch(r"[+-]?[0-9]{1,4000}", text.strip()):
        raise ValueError
    return int(text)


def _number(text: str) -> float | int:
    try:
        return _integer(text)
    except ValueError:
        value = float(text)
    if not math.isfinite(value):  # JSON has none
        raise ValueError
    return value


def _boolean(text: str) -> bool:
    if text.strip().lower() not in TRUE | FALSE:
        raise ValueError
    return text.strip().lower() in TRUE


def _null(text: str) -> None:
    if text.strip() != "null":
        raise ValueError


def _json(text: str, kind: str) -> Any:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{WORDS[kind]} is needed: {error}") from None
    if not isinstance(found, {"array": list, "object": dict}[kind]):
        raise ValueError(f"{WORDS[kind]} is needed")
    return found


READERS: dict[str, Callable[[str], Any]] = {  # in the order in which they are tried
    "null": _null,
    "boolean": _boolean,
    "integer": _integer,
    "number": _number,
    "array": lambda text: _json(text, "array"),
    "object": lambda text: _json(text, "object"),
    "string": str,
}


def _unknown(name: str, known: Mapping[str, Any], definition: str) -> str:
    close = difflib.get_close_matches(name, known, 1)
    meant = f"; do you mean {close[0]}?" if close else ""
    return f"{definition} has no such parameter{meant} (it has {', '.join(known) or 'none'})"
