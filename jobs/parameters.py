"""Parameters of a launch: checked against the definition's JSON Schema, then put into its template."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _

from clusters.specs import Spec
from jobs import schemas
from jobs.values import MOST_WORD_BYTES, is_storable, unstorable
from projects.errors import Invalid

MOST_TEXT_BYTES = 1024 * 1024  # of a source's or a runtime's
PLACE = re.compile(r"\$\{([a-z][a-z0-9_]*)\}")


def check(schema: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters with defaults filled in. Raises Invalid with each wrong field's path (`parameters.epochs`)."""
    from referencing.exceptions import Unresolvable

    values = {name: part["default"] for name, part in schema.get("properties", {}).items() if "default" in part} | dict(given)
    wrong = {f"parameters.{name}": unstorable() for name, value in given.items() if not is_storable([name, value])}
    if wrong:
        raise Invalid(wrong)
    try:
        for error in schemas.faults(schema, values):
            for path, sentence in _fields(error, values):
                wrong.setdefault(path, sentence)
    except schemas.TooMuch:
        too_much = _("take too long to be held against the definition's schema: give fewer values, or make the schema simpler")
        raise Invalid({"parameters": too_much}) from None
    except Unresolvable as error:
        raise schemas.unresolved(error) from error
    if wrong:
        raise Invalid(wrong)
    return values


def _fields(error: Any, values: Mapping[str, Any]) -> list[tuple[str, str]]:
    """An unknown or a missing parameter is named by its own path, not by the object that lacks it."""
    path = ["parameters", *map(str, error.absolute_path)]
    if error.validator == "additionalProperties":
        known = error.schema.get("properties", {})
        return [
            (".".join([*path, name]), f"there is no such parameter; known are {', '.join(sorted(known)) or 'none'}")
            for name in error.instance
            if name not in known
        ]
    if error.validator == "required":
        return [(".".join([*path, name]), "is needed") for name in error.validator_value if name not in error.instance]
    return [(".".join(path), schemas.sentence(error))]


def fill(template: Mapping[str, Any], values: Mapping[str, Any]) -> Spec:
    """The template's spec with `${name}` replaced in command, environment, source and the runtime's name.

    A command item that is only `${name}` of a list becomes that many items; other values become their text. Raises Invalid at
    the parameter with which a text is longer than what can be started or fetched.
    """
    texts = {name: _text(value) for name, value in values.items()}
    command: list[str] = []
    for item in template["command"]:
        whole = PLACE.fullmatch(item)
        if whole and isinstance(values.get(whole[1]), list):
            command += [_fitting(_text(word), f"parameters.{whole[1]}", MOST_WORD_BYTES) for word in values[whole[1]]]
        else:
            command.append(_replaced(item, texts, MOST_WORD_BYTES))
    environment = {
        name: _replaced(text, texts, MOST_WORD_BYTES - len(name.encode()) - 1)
        for name, text in template.get("environment", {}).items()
    }
    filled: dict[str, Any] = {"command": command, "environment": environment}
    for part in ("source", "runtime"):
        if found := template.get(part):
            filled[part] = {name: _replaced(text, texts, MOST_TEXT_BYTES) for name, text in found.items()}
    return Spec.from_json(dict(template) | filled)


def start_bytes(spec: Spec) -> int:
    """What a command and its environment take when they are started, with a pointer to each of their texts; without secrets."""
    texts = [*spec.command, *spec.environment, *spec.environment.values()]
    return sum(len(text.encode()) + 9 for text in texts)


def path_of(path: str, texts: Mapping[str, str]) -> str:
    """`source.ref` as the path of the one parameter that fills `texts["ref"]`; itself when none does."""
    whole = PLACE.fullmatch(texts.get(path.partition(".")[2], ""))
    return f"parameters.{whole[1]}" if whole else path


def _replaced(text: str, texts: Mapping[str, str], most: int) -> str:
    """Raises Invalid, and before it is made: a short text can name a long one very often."""
    names = [name for name in PLACE.findall(text) if name in texts]
    if not names:
        return text
    longest = f"parameters.{max(names, key=lambda name: len(texts[name]))}"
    if sum(len(texts[name]) for name in names) > most:
        raise _too_long(longest, most)
    return _fitting(PLACE.sub(lambda found: texts.get(found[1], found[0]), text), longest, most)


def _fitting(text: str, path: str, most: int) -> str:
    if len(text.encode(errors="replace")) > most:
        raise _too_long(path, most)
    return text


def _too_long(path: str, most: int) -> Invalid:
    return Invalid({path: _("makes a text of more than %(most)s bytes, with which nothing can be started") % {"most": most}})


def _text(value: Any) -> str:
    return {True: "true", False: "false"}[value] if isinstance(value, bool) else str(value)
