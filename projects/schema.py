"""What openapi.yaml says of every operation: words from its docstring, our tokens, errors, and an example."""

from __future__ import annotations

from typing import Any

from drf_spectacular.drainage import get_override
from drf_spectacular.extensions import OpenApiAuthenticationExtension, OpenApiSerializerExtension
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.plumbing import get_doc
from drf_spectacular.utils import Direction

ERROR = {
    "type": "object",
    "required": ["code", "message", "details"],
    "properties": {
        "code": {"type": "string", "description": "For programs; it stays."},
        "message": {"type": "string", "description": "For people, in their language."},
        "details": {
            "type": "object",
            "additionalProperties": True,
            "description": "What it is about; of `invalid` a sentence for each field.",
        },
    },
    "example": {"code": "no-such-job", "message": "There is no job 99, or you may not see it.", "details": {"job": 99}},
}
ERRORS = {
    "400": "The request cannot be read.",
    "401": "Nobody knows who asks.",
    "403": "The role or the token's scope does not allow it.",
    "404": "There is no such thing, or the asker may not know that there is.",
    "409": "It is in a state in which this cannot be done.",
    "410": "It was there and is gone for good.",
    "413": "The body is too large.",
    "415": "The body is of a type that is not taken.",
    "422": "A parameter or a field is wrong; `details` says which.",
    "429": "Too many requests; `Retry-After` says in how many seconds there are more.",
}
OF_FORMATS = {
    "date-time": "2026-03-01T12:00:00Z",
    "uuid": "019505c5-7c00-7000-8000-000000000001",
    "binary": "(bytes)",
}
OF_BODIES = {"409", "413", "415"}


class PanelSchema(AutoSchema):
    """An operation's summary is the first line of its docstring, its description what follows."""

    def get_summary(self) -> str | None:
        return self._words()[0].removesuffix(".")

    def get_description(self) -> str:  # type: ignore[override]
        return self._words()[1]

    def _words(self) -> tuple[str, str]:
        action = getattr(self.view, self.method.lower(), None)
        first, _line, rest = (get_doc(action) or get_override(action, "description", "")).partition("\n")
        return first, rest.strip()


class TokenScheme(OpenApiAuthenticationExtension):
    target_class = "projects.tokens.TokenAuthentication"
    name = "token"

    def get_security_definition(self, auto_schema: AutoSchema) -> dict[str, Any]:
        return {"type": "http", "scheme": "bearer", "bearerFormat": "tpu_..."}


class WithExample(OpenApiSerializerExtension):
    """A shape's `example` stands at its schema."""

    target_class = "rest_framework.serializers.Serializer"
    match_subclasses = True

    def map_serializer(self, auto_schema: AutoSchema, direction: Direction) -> dict[str, Any]:
        schema = auto_schema._map_serializer(self.target, direction, bypass_extensions=True)
        example = getattr(self.target, "example", None)
        return schema | ({"example": example} if example else {})


def complete(result: dict[str, Any], generator: Any, request: Any, public: bool) -> dict[str, Any]:
    """drf-spectacular's hook: the errors that any operation may answer, and an example for each body."""
    components = result["components"]
    components["schemas"]["Error"] = ERROR
    content = {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}
    components["responses"] = {f"Error{status}": {"description": words, "content": content} for status, words in ERRORS.items()}
    for method, operation in ((method, one) for path in result["paths"].values() for method, one in path.items()):
        bodies = [operation.get("requestBody", {}), *operation["responses"].values()]
        for media in (media for body in bodies for media in body.get("content", {}).values()):
            if "example" not in media and "examples" not in media:
                media["example"] = example_of(media["schema"], components["schemas"])
        if method == "get" and "application/json" in operation["responses"].get("200", {}).get("content", {}):
            operation["responses"]["304"] = {"description": "Nothing has changed since the `ETag` sent as `If-None-Match`."}
        for status in ERRORS:
            if method != "get" or status not in OF_BODIES:
                operation["responses"].setdefault(status, {"$ref": f"#/components/responses/Error{status}"})
    return result


def example_of(schema: dict[str, Any], schemas: dict[str, Any]) -> Any:
    """The example that stands at a schema, or one put together from those of its parts."""
    if "example" in schema:
        return schema["example"]
    if "$ref" in schema:
        return example_of(schemas[schema["$ref"].rpartition("/")[2]], schemas)
    if found := next((schema[parts][0] for parts in ("allOf", "oneOf", "anyOf") if parts in schema), None):
        return example_of(found, schemas)
    made = {
        "object": lambda: {name: example_of(part, schemas) for name, part in schema.get("properties", {}).items()},
        "array": lambda: [example_of(schema["items"], schemas)],
        "integer": lambda: 1,
        "number": lambda: 1.5,
        "boolean": lambda: False,
    }
    usual = schema["enum"][0] if "enum" in schema else OF_FORMATS.get(schema.get("format", ""), "")
    return made.get(schema.get("type", ""), lambda: usual)()
