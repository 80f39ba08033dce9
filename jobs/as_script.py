"""A launch as a script would send it: with curl, in Python, and from a command line. The token is the reader's, never a value."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from django.conf import settings

NEXT = " \\\n  "  # the command goes on
END = "END"  # of a text on the standard input: no line of JSON is that


def launch_request(body: Mapping[str, Any]) -> str:
    """POST /jobs with this body as a command line of curl."""
    text = shlex.quote(json.dumps(body, ensure_ascii=False))
    return NEXT.join([f"curl {settings.PUBLIC_URL}/api/v1/jobs", '-H "Authorization: Bearer $TOKEN"', f"--json {text}"])


def launch_python(body: Mapping[str, Any]) -> str:
    """The same with the package tpu_panel, which reads the token from the environment."""
    lines = [f"    {name}={_literal(value)},\n" for name, value in body.items()]
    return f"from tpu_panel import Panel\n\njob = Panel({settings.PUBLIC_URL!r}).launch(\n{''.join(lines)})\njob.wait()\n"


def launch_command(body: Mapping[str, Any]) -> str:
    """The same with tpu-panel, followed to the end. What it has no option for comes as JSON on its standard input."""
    if "retries" in body or "notify" in body:
        return f"tpu-panel launch --file - --follow <<'{END}'\n{json.dumps(body, ensure_ascii=False)}\n{END}"
    return NEXT.join([shlex.join(["tpu-panel", "launch", body["definition"]]), *map(shlex.join, _options(body)), "--follow"])


def _literal(value: Any) -> str:
    """A dictionary with a line for each of its items."""
    if not isinstance(value, dict):
        return repr(value)
    return "{\n" + "".join(f"        {name!r}: {one!r},\n" for name, one in value.items()) + "    }"


def _options(body: Mapping[str, Any]) -> Iterator[list[str]]:
    """The words of each; a value that may begin with a dash stands in one word with its option."""
    named = {name: body[name] for name in ("project", "version", "name") if name in body}
    for name, value in (named | body.get("resources", {})).items():
        if value != "":
            yield [f"--{name}={value}"]
    for name, value in body.get("parameters", {}).items():
        pair = f"{name}={_text(value)}"
        yield [f"-p{pair}"] if pair.startswith("-") else ["-p", pair]
    for field, option in (("labels", "--label"), ("environment", "--env")):
        for name, value in body.get(field, {}).items():
            yield [f"{option}={name}={value}"]
    for name in body.get("secrets", ()):
        yield [f"--secret={name}"]


def _text(value: Any) -> str:
    """As the command line reads it: JSON, or a text, of which a first @ would name a file."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return f"@{text}" if text.startswith("@") else text
