"""What a definition's template may be: the spec that its launches fill in, field by field."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

from django.utils.translation import gettext as _

from clusters import git
from jobs.parameters import PLACE
from jobs.values import MOST_ENVIRONMENT_BYTES, MOST_VALUE_BYTES
from projects import variables
from projects.errors import Invalid
from projects.models import secret_name

MOST_ARGUMENTS = 1000
MOST_VARIABLES = 200
MOST_SECRETS = 50
MOST_SCRIPT_BYTES = 256 * 1024  # what is longer belongs into an archive or a repository
MOST_LINE_BYTES = 1000
MOST_GRACE_S = 3600
MOST_TIMEOUT_S = 366 * 24 * 3600
SOURCES = {  # kind -> its texts; those after None may be left out
    "none": (),
    "recipe": ("name",),
    "script": ("name", "text"),
    "archive": ("digest",),
    "git": ("address", None, "ref"),
}
FILE_NAME = r"[A-Za-z0-9_][A-Za-z0-9._-]{0,99}"

Wrong = Iterator[tuple[str, str]]


def wrong(template: Mapping[str, Any], parameters: Collection[str]) -> dict[str, str]:
    """Path (`template.command.0`) -> sentence. `parameters` are the names that its texts may hold as `${name}`."""
    unknown = sorted(set(template) - set(CHECKS))
    known = {"known": ", ".join(CHECKS)}
    found = {f"template.{name}": _("there is no such field; known are %(known)s") % known for name in unknown}
    if "command" not in template:
        found["template.command"] = _("is needed")
    for name, check in CHECKS.items():
        if name in template:
            found |= dict(check(template[name], f"template.{name}"))
    return found or dict(_places(template, parameters))


def _command(command: Any, path: str) -> Wrong:
    if not isinstance(command, list) or not command:
        yield path, _("a list of texts is needed: the program, and what it is called with")
        return
    if len(command) > MOST_ARGUMENTS:
        yield path, _("at most %(most)s texts") % {"most": MOST_ARGUMENTS}
        return
    for number, text in enumerate(command):
        yield from _text(text, f"{path}.{number}", MOST_VALUE_BYTES)
    if command[0] == "":
        yield f"{path}.0", _("the name of a program is needed")


def _environment(environment: Any, path: str) -> Wrong:
    if not isinstance(environment, Mapping):
        yield path, _("an object of texts is needed")
        return
    if len(environment) > MOST_VARIABLES:
        yield path, _("at most %(most)s variables") % {"most": MOST_VARIABLES}
        return
    found: dict[str, str] = {}
    for name, text in environment.items():
        if not name or "=" in name or not name.isprintable() or len(name) > 200 or variables.is_panels(name):
            found[f"{path}.{name}"] = _("not a name for a variable; VIRTUAL_ENV and those with PANEL_ are the panel's")
        found |= dict(_text(text, f"{path}.{name}", MOST_VALUE_BYTES))
    yield from found.items()
    if not found and sum(len(name) + len(text) for name, text in environment.items()) > MOST_ENVIRONMENT_BYTES:
        yield path, _("at most %(most)s bytes in all") % {"most": MOST_ENVIRONMENT_BYTES}


def _secrets(names: Any, path: str) -> Wrong:
    if not isinstance(names, list):
        yield path, _("a list of names is needed")
    elif len(names) > MOST_SECRETS:
        yield path, _("at most %(most)s secrets") % {"most": MOST_SECRETS}
    else:
        for number, name in enumerate(names):
            if not isinstance(name, str) or not secret_name.regex.search(name):  # type: ignore[union-attr]
                yield f"{path}.{number}", _("not the name of a secret: letters, digits and _, no digit first")
            elif name in names[:number]:
                yield f"{path}.{number}", _("it is named twice")


def _runtime(runtime: Any, path: str) -> Wrong:
    if runtime is None:
        return
    yield from _texts(runtime, path, (None, "name"))


def _source(source: Any, path: str) -> Wrong:
    kind = source.get("kind") if isinstance(source, Mapping) else None
    if not isinstance(kind, str) or kind not in SOURCES:
        at = f"{path}.kind" if isinstance(source, Mapping) else path
        yield at, _("one of these kinds is needed: %(known)s") % {"known": ", ".join(SOURCES)}
        return
    found = dict(_texts({name: text for name, text in source.items() if name != "kind"}, path, SOURCES[kind]))
    yield from found.items()
    if found:
        return
    if kind == "script":
        yield from _script(source, path)
    if kind == "git" and not any(PLACE.search(text) for text in source.values()):
        try:
            git.check(source["address"], source.get("ref") or "HEAD")
        except Invalid as refused:
            yield from ((f"template.{at}", why) for at, why in refused.fields.items())


def _script(source: Mapping[str, str], path: str) -> Wrong:
    """Its name is that of a file on hosts, so no launch may choose it."""
    if not re.fullmatch(FILE_NAME, source["name"]):
        yield f"{path}.name", _("a file's name is needed, of letters, digits, dots, dashes and _, such as train.py")
    if not source["text"].strip():
        yield f"{path}.text", _("is needed")


def _texts(found: Any, path: str, names: tuple[str | None, ...]) -> Wrong:
    """An object of these texts; those after None may be left out or empty."""
    if not isinstance(found, Mapping):
        yield path, _("an object of %(names)s is needed") % {"names": ", ".join(filter(None, names))}
        return
    needed = names[: names.index(None)] if None in names else names
    for name in found:
        if name not in names:
            words = _("there is no such field; known are %(known)s")
            yield f"{path}.{name}", words % {"known": ", ".join(filter(None, names)) or _("none")}
    for name in filter(None, names):
        if name in found:
            yield from _text(found[name], f"{path}.{name}", MOST_SCRIPT_BYTES if name == "text" else MOST_LINE_BYTES)
        if name in needed and found.get(name, "") == "":
            yield f"{path}.{name}", _("is needed")


def _text(text: Any, path: str, most: int) -> Wrong:
    if not isinstance(text, str):
        yield path, _("a text is needed")
    elif len(text.encode(errors="replace")) > most:
        yield path, _("at most %(most)s bytes") % {"most": most}


def _stop_grace(seconds: Any, path: str) -> Wrong:
    return _seconds(seconds, path, 0, MOST_GRACE_S)


def _timeout(seconds: Any, path: str) -> Wrong:
    return iter(()) if seconds is None else _seconds(seconds, path, 1, MOST_TIMEOUT_S)


def _seconds(seconds: Any, path: str, least: int, most: int) -> Wrong:
    if not isinstance(seconds, int) or isinstance(seconds, bool) or not least <= seconds <= most:
        yield path, _("a whole number from %(least)s to %(most)s is needed") % {"least": least, "most": most}


CHECKS: dict[str, Callable[[Any, str], Wrong]] = {
    "source": _source,
    "command": _command,
    "environment": _environment,
    "secrets": _secrets,
    "runtime": _runtime,
    "stop_grace_s": _stop_grace,
    "timeout_s": _timeout,
}


def _places(template: Mapping[str, Any], parameters: Collection[str]) -> Wrong:
    """Where a text names a parameter that there is not; a template that is else as it should be."""
    for path, text in texts_with_places(template):
        for name in dict.fromkeys(PLACE.findall(text)):
            if name not in parameters:
                yield (
                    path,
                    _("${%(name)s} names no parameter; there is %(known)s. A variable of the shell is written $%(name)s.")
                    % {"name": name[:63], "known": ", ".join(sorted(parameters)[:20]) or _("none")},
                )
                break


def texts_with_places(template: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """(path, text) of whatever a launch fills in, as `parameters.fill` does it; in the order in which it is read."""
    for part in ("source", "command", "environment", "runtime"):
        found = template.get(part) or {}
        pairs = found.items() if isinstance(found, Mapping) else enumerate(found)
        yield from ((f"template.{part}.{name}", text) for name, text in pairs if isinstance(text, str))
