"""The API's documentation as a page of the panel, from docs/openapi.yaml; each operation with a line of curl that works here.

Not Swagger UI or Redoc: they need what the content security policy refuses, and a megabyte of script for a list of 40 things.
"""

from __future__ import annotations

import functools
import json
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import yaml
from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET


@dataclass(frozen=True)
class Field:
    """One row of what is sent or answered; `of` names the shape that an object or a list's item has."""

    name: str
    kind: str
    where: str
    is_needed: bool
    words: str


@dataclass(frozen=True)
class Operation:
    id: str
    method: str
    path: str
    noun: str
    summary: str
    words: str
    parameters: list[Field]
    sent: list[Field]
    answered: list[Field]
    curl: str
    status: str
    answer: str
    errors: list[str]

    def matches(self, words: list[str]) -> bool:
        text = f"{self.method} {self.path} {self.id} {self.summary} {self.words}".lower()
        return all(word in text for word in words)


@login_required
@require_GET
def api_reference(request: HttpRequest) -> HttpResponse:
    sought = request.GET.get("q", "").strip()[:200]
    found = [one for one in operations() if one.matches(sought.lower().split())]
    nouns: dict[str, list[Operation]] = {}
    for one in found:
        nouns.setdefault(one.noun, []).append(one)
    context = {
        "sought": sought,
        "nouns": nouns,
        "paragraphs": document()["info"]["description"].split("\n\n"),
        "statuses": [(name.removeprefix("Error"), said["description"]) for name, said in _shared_answers()],
        "base": f"{settings.PUBLIC_URL}/api/v1",
    }
    return render(request, "api_reference/api_reference.html", context)


@require_GET
def openapi_document(request: HttpRequest) -> HttpResponse:
    """For generators of clients. Public: it tells of shapes, not of what is in them."""
    return HttpResponse((settings.BASE_DIR / "docs/openapi.yaml").read_bytes(), content_type="application/yaml; charset=utf-8")


@functools.cache
def document() -> dict[str, Any]:
    return yaml.load((settings.BASE_DIR / "docs/openapi.yaml").read_text(), yaml.CSafeLoader)  # noqa: S506  # a safe loader


@functools.cache
def operations() -> list[Operation]:
    """All, by noun and in the order of their addresses."""
    found = [_operation(method, path, said) for path, item in document()["paths"].items() for method, said in item.items()]
    return sorted(found, key=lambda one: one.noun)


def _operation(method: str, path: str, said: dict[str, Any]) -> Operation:
    status, answer = next((status, one) for status, one in said["responses"].items() if status.startswith("2"))
    sent, answered = _media(said.get("requestBody", {})), _media(answer)
    return Operation(
        id=said["operationId"],
        method=method.upper(),
        path=path,
        noun=said["tags"][0],
        summary=said["summary"],
        words=said.get("description", ""),
        parameters=[_field(one["name"], one["schema"], one) for one in said.get("parameters", ())],
        sent=_fields(sent),
        answered=_fields(answered),
        curl=_curl(method, path, said),
        status=status,
        answer=_text(answered["example"]) if answered else "",
        errors=[status for status in said["responses"] if not status.startswith("2")],
    )


def _media(body: dict[str, Any]) -> dict[str, Any]:
    """Schema and example of a body in its first form, with its type; {} where there is none."""
    content = body.get("content", {})
    for kind, media in content.items():
        example = media["example"] if "example" in media else next(iter(media["examples"].values()))["value"]
        return {"kind": kind, "schema": media["schema"], "example": example}
    return {}


def _fields(media: dict[str, Any]) -> list[Field]:
    if not media:
        return []
    schema = _resolved(media["schema"])
    properties = schema.get("properties", {})
    results = properties.get("results")
    if results:  # of a list what one of its results has
        schema = _resolved(results["items"])
        properties = schema.get("properties", {})
    needed = schema.get("required", ())
    return [_field(name, one, {"required": name in needed}) for name, one in properties.items()]


def _field(name: str, schema: dict[str, Any], said: dict[str, Any]) -> Field:
    words = said.get("description") or schema.get("description", "")
    return Field(name=name, kind=_kind(schema), where=said.get("in", ""), is_needed=bool(said.get("required")), words=words)


def _kind(schema: dict[str, Any]) -> str:
    """integer, list of string, ProgressAnswer or null, one of queued, running, ..."""
    known = _resolved(schema)
    if "enum" in known:
        kind = " | ".join(json.dumps(value) if not isinstance(value, str) else value for value in known["enum"] if value != "")
    elif known.get("type") == "array":
        kind = f"list of {_kind(known['items'])}"
    elif known.get("type") == "object" and isinstance(known.get("additionalProperties"), dict):
        kind = f"object of {_kind(known['additionalProperties'])}"
    else:
        kind = known.get("format") or known.get("type") or "any"
    return f"{kind} or null" if schema.get("nullable") and kind != "any" else kind


def _resolved(schema: dict[str, Any]) -> dict[str, Any]:
    if parts := schema.get("allOf") or schema.get("oneOf"):
        return _resolved(parts[0])
    if "$ref" in schema:
        return _resolved(document()["components"]["schemas"][schema["$ref"].rpartition("/")[2]])
    return schema


def _curl(method: str, path: str, said: dict[str, Any]) -> str:
    """The token is a variable of the reader's shell, and names in braces are theirs to fill in."""
    return " ".join(["curl", *_words(method, path, said)])


def _words(method: str, path: str, said: dict[str, Any]) -> Iterator[str]:
    sent = _media(said.get("requestBody", {}))
    if method != "get" and not (method == "post" and sent):
        yield f"-X {method.upper()}"
    yield shlex.quote(f"{settings.PUBLIC_URL}/api/v1{path}")
    yield '-H "Authorization: Bearer $TOKEN"'
    if any(one["name"] == "Idempotency-Key" for one in said.get("parameters", ())):
        yield '-H "Idempotency-Key: $(uuidgen)"'
    if sent and sent["kind"] == "application/json":
        yield f"--json {shlex.quote(json.dumps(sent['example'], ensure_ascii=False))}"
    elif sent:
        yield "-F archive=@code.tar.gz"


def _text(example: Any) -> str:
    return example if isinstance(example, str) else json.dumps(example, indent=2, ensure_ascii=False)


def _shared_answers() -> list[tuple[str, dict[str, Any]]]:
    return list(document()["components"]["responses"].items())
