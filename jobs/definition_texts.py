"""What a definition's document says as texts of the form that edits it, however wrong it is."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from jobs import documents
from jobs.definition_rows import Row
from jobs.differences import SHELL
from jobs.pairs import text_of_pairs
from jobs.retries import Cause
from jobs.template_rules import SOURCES
from jobs.wording import same

ARGUMENTS, SHELL_LINE = "argv", "shell"  # how a command is typed
SECONDS = ("stop_grace_s", "timeout_s")
RESOURCES = ("accelerator", "chips", "cluster")
BUDGETS = tuple(f"{cause}.{name}" for cause in Cause.values for name in ("times", "delay_s"))


def texts_of(said: Mapping[str, Any]) -> dict[str, str]:
    """Path in the form -> text."""
    template = _object(said, "template")
    texts = {name: _text(said.get(name, "")) for name in ("title", "description")}
    texts |= _source_texts(_object(template, "source") or {"kind": "none"}) | _command_texts(template.get("command", []))
    texts["environment"] = text_of_pairs({name: _text(value) for name, value in _object(template, "environment").items()})
    texts["runtime"] = _text(_object(template, "runtime").get("name", ""))
    texts |= {name: _text(template.get(name, "")) for name in SECONDS}
    texts |= {f"resources.{name}": _text(_object(said, "resources").get(name, "")) for name in RESOURCES}
    for path in BUDGETS:
        cause, _dot, name = path.partition(".")
        texts[f"retries.{path}"] = _text(_object(_object(said, "retries"), cause).get(name, ""))
    rest = _rest(_object(said, "parameters"))
    return texts | {"rest": json.dumps(rest, ensure_ascii=False, indent=2) if rest else ""}


def secrets_of(said: Mapping[str, Any]) -> list[str]:
    secrets = _object(said, "template").get("secrets", [])
    return [_text(name) for name in secrets] if isinstance(secrets, list) else []


def rows_of(said: Mapping[str, Any]) -> list[Row]:
    schema = _object(said, "parameters")
    properties, needed = _object(schema, "properties"), _texts(schema.get("required"))
    order = [name for name in _texts(schema.get("x-order")) if name in properties]
    names = dict.fromkeys([*order, *properties])
    return [Row.of(str(number), name, properties[name], is_required=name in needed) for number, name in enumerate(names)]


def missing(said: Any, shown: Any, path: str = "") -> Iterator[str]:
    """Paths at which `shown` does not say what `said` does; what says nothing need not be there."""
    if isinstance(said, Mapping) and isinstance(shown, Mapping | type(None)):
        for name, value in said.items():
            below, other = f"{path}.{name}" if path else name, (shown or {}).get(name)
            if below == "parameters.x-order" and _texts(value):
                continue  # the order of the rows
            if below == "parameters.required" and _texts(value) and set(value) == set(other or []):
                continue
            yield from missing(value, other, below)
    elif said not in (None, "", [], {}) and not (path == "template.source.kind" and said == "none") and not same(said, shown):
        yield path


def command_of(kind: str, text: str) -> list[Any]:
    """What a command's text says: a line of the shell, or a program and its arguments, one a line or as a JSON list."""
    text = text.replace("\r\n", "\n")
    if not text.strip():
        return []
    if kind == SHELL_LINE:
        return [*SHELL, text]
    if text.startswith("["):
        try:
            found = documents.read(text, "json").value
        except documents.Unreadable:
            found = None  # then it is a program of this name
        if isinstance(found, list):
            return found
    return text.removesuffix("\n").split("\n")


def _command_texts(command: Any) -> dict[str, str]:
    """From which `command_of` makes it again."""
    if not isinstance(command, list):
        return {"command.kind": ARGUMENTS, "command": _text(command)}
    if command[:2] == SHELL and len(command) == 3 and isinstance(command[2], str):
        return {"command.kind": SHELL_LINE, "command": command[2]}
    text = "\n".join(command) if all(isinstance(item, str) for item in command) else ""
    if command_of(ARGUMENTS, text) != command:
        text = json.dumps(command, ensure_ascii=False, indent=2)
    return {"command.kind": ARGUMENTS, "command": text}


def _source_texts(source: Mapping[str, Any]) -> dict[str, str]:
    kind = _text(source.get("kind", ""))
    texts = {f"{one}.{name}": "" for one, names in SOURCES.items() for name in names if name}
    texts |= {f"{kind}.{name}": _text(source.get(name, "")) for name in SOURCES.get(kind, ()) if name}
    return texts | {"source.kind": kind}


def _rest(schema: Mapping[str, Any]) -> dict[str, Any]:
    """What a schema says of all parameters together."""
    rest = {name: value for name, value in schema.items() if name not in ("properties", "x-order", "required")}
    required, properties = schema.get("required"), _object(schema, "properties")
    left = [name for name in _texts(required) if name not in properties] if _texts(required) else required
    return rest | ({"required": left} if left else {})


def _object(found: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = found.get(name)
    return value if isinstance(value, Mapping) else {}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else "" if value is None else json.dumps(value, ensure_ascii=False)


def _texts(found: Any) -> list[str]:
    """The list where it is one of texts alone, else an empty one."""
    return found if isinstance(found, list) and all(isinstance(one, str) for one in found) else []
