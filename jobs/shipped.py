"""The definitions that every project has: four for whatever code someone brings, and one for each recipe.

Where the code comes from is part of a definition: its template names a source, whose texts may hold `${parameter}` as the
command's may. So a team's own definition can name its repository, and leave the ref to who launches.
"""

from __future__ import annotations

import json
from typing import Any

from django.conf import settings

from clusters import runtimes, sources

CPU_SLOT = {"accelerator": "cpu", "chips": 1}


def shipped() -> list[dict[str, Any]]:
    """Wordings for `definitions.ship`, each with its slug."""
    return [*(make() for make in PLAIN.values()), *map(recipe, sources.recipes())]


def find(slug: str) -> dict[str, Any] | None:
    """What is shipped by this name, without the name."""
    recipes = {_slug(name): name for name in sources.recipes()}
    if slug not in PLAIN and slug not in recipes:
        return None
    found = PLAIN[slug]() if slug in PLAIN else recipe(recipes[slug])
    return {name: value for name, value in found.items() if name != "slug"}


def command() -> dict[str, Any]:
    return _definition("command", "Command", {}, {})


def script() -> dict[str, Any]:
    """A Python program that is typed in."""
    typed = _text("Script", "A Python program. What it writes to the folder $PANEL_OUTPUT is kept.", format="script")
    typed["maxLength"] = 1_000_000
    arguments = {
        "type": "array",
        "items": {"type": "string", "maxLength": 10_000},
        "maxItems": 1000,
        "default": [],
        "title": "Arguments",
        "description": "What the program is called with.",
    }
    template = {
        "command": ["python3", "script.py", "${arguments}"],
        "source": {"kind": "script", "name": "script.py", "text": "${script}"},
        "runtime": {"name": "${runtime}"},
    }
    return {
        "slug": "script",
        "title": "Python script",
        "template": template,
        "parameters": _schema({"script": typed, "arguments": arguments, "runtime": _runtime()}, "script"),
        "resources": CPU_SLOT,
    }


def archive() -> dict[str, Any]:
    uploaded = _text("Archive", "A .tar.gz or .zip of the code. The command runs where it is unpacked.", format="archive")
    source = {"kind": "archive", "digest": "${archive}"}
    return _definition("archive", "Uploaded archive", {"archive": uploaded}, source)


def git() -> dict[str, Any]:
    fields = {
        "address": _text("Repository", "Its address, such as https://github.com/team/code or git@host:team/code.git.", "git"),
        "ref": _text("Branch, tag or commit", "Becomes an exact commit before the job is placed.") | {"default": "HEAD"},
    }
    return _definition("git", "Git repository", fields, {"kind": "git", "address": "${address}", "ref": "${ref}"})


def recipe(name: str) -> dict[str, Any]:
    """recipes/<name>/recipe.json, with its folder as the source."""
    found = json.loads((settings.BASE_DIR / "recipes" / name / "recipe.json").read_text())
    found["template"] |= {"source": {"kind": "recipe", "name": name}}
    return {"slug": _slug(name)} | found


PLAIN = {"command": command, "script": script, "archive": archive, "git": git}


def _slug(name: str) -> str:
    return name.replace("_", "-")


def _definition(slug: str, title: str, fields: dict[str, Any], source: dict[str, Any]) -> dict[str, Any]:
    """A shell command line in the folder of a source that `fields` choose."""
    line = _text("Command", "A shell command line.", format="command") | {"maxLength": 100_000}
    template = {"command": ["/bin/sh", "-c", "${command}"], "runtime": {"name": "${runtime}"}}
    return {
        "slug": slug,
        "title": title,
        "template": template | ({"source": source} if source else {}),
        "parameters": _schema(fields | {"command": line, "runtime": _runtime()}, *fields, "command"),
        "resources": CPU_SLOT,
    }


def _schema(fields: dict[str, Any], *needed: str) -> dict[str, Any]:
    required = [name for name in needed if "default" not in fields[name]]
    return {"type": "object", "properties": fields, "x-order": list(fields), "required": required, "additionalProperties": False}


def _text(title: str, description: str, format: str = "") -> dict[str, Any]:  # noqa: A002  JSON Schema's word
    field = {"type": "string", "minLength": 1, "maxLength": 500, "title": title, "description": description}
    return field | ({"format": format} if format else {})


def _runtime() -> dict[str, Any]:
    return {
        "type": "string",
        "enum": ["", *runtimes.names()],
        "default": "",
        "title": "Runtime",
        "description": "The Python environment that it runs in, built once on a host. With none: the host's own python3.",
    }
