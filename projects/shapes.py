"""How all JSON of the API is made: answers, bodies, lists. An app's own shapes are in its shapes.py, or beside its doors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from drf_spectacular.utils import OpenApiParameter, extend_schema_field, inline_serializer
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from projects.errors import Invalid

FIELDS = OpenApiParameter(
    "fields",
    str,
    description="Only these fields of each result, with commas between them: the others are left out, required ones too.",
)
LIMIT = OpenApiParameter("limit", int, description="How many results at most, from 1 to 200.")
CURSOR = OpenApiParameter("cursor", str, description="`next_cursor` of the page before, with the same filters and order.")
PAGED = [FIELDS, LIMIT, CURSOR]


class Answer(serializers.Serializer):
    """What the API answers of one thing. With `fields` in its context (from `?fields=`) only those."""

    def get_fields(self) -> dict[str, serializers.Field]:
        fields = super().get_fields()
        wanted = self.context.get("fields")
        if not wanted or not self._is_outermost():
            return fields
        if unknown := [name for name in wanted if name not in fields]:
            words = {"names": ", ".join(unknown), "known": ", ".join(fields)}
            raise Invalid({"fields": _("there is no field %(names)s; known are %(known)s") % words})
        return {name: field for name, field in fields.items() if name in wanted}

    def _is_outermost(self) -> bool:
        parent = self.parent
        return parent is None or (isinstance(parent, serializers.ListSerializer) and parent.parent is None)


class Body(serializers.Serializer):
    """What the API is sent. A field that it does not know is an error: a mistyped name does not pass unheard."""

    default_error_messages = {"unknown": gettext_lazy("there is no such field; known are {known}")}

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        if not isinstance(data, Mapping):
            if self.parent is not None:  # a part of a body
                raise serializers.ValidationError(_("an object is needed"))
            raise Invalid({"": _("The body must be a JSON object.")})
        unknown = sorted(set(data) - set(self.fields))
        try:
            values = super().to_internal_value(data)
        except serializers.ValidationError as error:
            raise serializers.ValidationError(error.detail | self._unknown(unknown)) from None  # type: ignore[operator]
        if unknown:
            raise serializers.ValidationError(self._unknown(unknown))
        return values

    def _unknown(self, names: Iterable[str]) -> dict[str, list[str]]:
        known = ", ".join(self.fields)
        return {name: [self.error_messages["unknown"].format(known=known)] for name in names}


class Typed(serializers.Field):
    """A field that takes one JSON type as it is and nothing else: no 7 for a text, no "no" for a flag."""

    kind: type = object
    default_error_messages = {"required": gettext_lazy("is needed"), "null": gettext_lazy("is needed")}

    def to_internal_value(self, data: Any) -> Any:
        if not isinstance(data, self.kind) or not self.fits(data):
            self.fail("kind")
        return data

    def fits(self, data: Any) -> bool:
        return True

    def to_representation(self, value: Any) -> Any:
        return value


@extend_schema_field({"type": "string"})
class Text(Typed):
    kind = str
    default_error_messages = {"kind": gettext_lazy("a text is needed")}


@extend_schema_field({"type": "integer", "minimum": 1})
class Whole(Typed):
    kind = int
    default_error_messages = {"kind": gettext_lazy("a whole number from 1 is needed")}

    def fits(self, data: Any) -> bool:
        return not isinstance(data, bool) and data >= 1


@extend_schema_field({"type": "boolean"})
class Flag(Typed):
    kind = bool
    default_error_messages = {"kind": gettext_lazy("true or false is needed")}


@extend_schema_field({"type": "object", "additionalProperties": True})
class Object(Typed):
    kind = dict
    default_error_messages = {"kind": gettext_lazy("an object is needed")}


@extend_schema_field({"type": "object", "additionalProperties": {"type": "string"}})
class Texts(Typed):
    kind = dict
    default_error_messages = {"kind": gettext_lazy("an object of texts is needed")}

    def fits(self, data: Any) -> bool:
        return all(isinstance(text, str) for text in data.values())


@extend_schema_field({"type": "array", "items": {"type": "string"}})
class Names(Typed):
    kind = list
    default_error_messages = {"kind": gettext_lazy("a list of names is needed")}

    def fits(self, data: Any) -> bool:
        return all(isinstance(name, str) for name in data)


def listed(kind: type[Answer], **more: serializers.Field) -> serializers.Serializer:
    """The schema of a list of `kind`, with `next_cursor` where it has pages (`more` says of what type)."""
    return inline_serializer(kind.__name__.removesuffix("Answer") + "List", {"results": kind(many=True), **more})


def paged(kind: type[Answer]) -> serializers.Serializer:
    return listed(kind, next_cursor=serializers.CharField(allow_null=True, help_text="Null at the end."))


def one(kind: type[Answer], request: Request, thing: Any, *, status: int = 200, **context: Any) -> Response:
    """The answer of one thing; `?fields=` of the request counts."""
    return Response(kind(thing, context=context | {"fields": _fields(request)}).data, status=status)


def many(
    kind: type[Answer], request: Request, things: Iterable[Any], *, more: Mapping[str, Any] | None = None, **context: Any
) -> Response:
    """The answer of a list, with `more` beside its results."""
    context |= {"fields": _fields(request)}
    kind(context=context).fields  # noqa: B018  # a name that is none is told of an empty list too
    results = kind(things, many=True, context=context).data  # type: ignore[arg-type]
    return Response({"results": results, **(more or {})})


def read(kind: type[serializers.Serializer], request: Request) -> dict[str, Any]:
    """The body of the request. Raises Invalid."""
    return checked(kind, request.data)


def checked(kind: type[serializers.Serializer], data: Any) -> dict[str, Any]:
    """`data` (JSON) as `kind` takes it. Raises Invalid with the path of each field that is wrong."""
    body = kind(data=data)
    try:
        body.is_valid(raise_exception=True)
    except serializers.ValidationError as error:
        raise Invalid(paths(error.detail)) from None
    return dict(body.validated_data)


def paths(detail: Any) -> dict[str, str]:
    """DRF's nested detail as field paths: {"labels": {"a": ["too long"]}} is labels.a."""
    return dict(_paths(detail, ""))


def _paths(detail: Any, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(detail, dict):
        parts: Iterable[tuple[Any, Any]] = detail.items()
    elif isinstance(detail, list) and any(isinstance(item, dict | list) for item in detail):
        parts = enumerate(detail)
    else:
        text = " ".join(map(str, detail)) if isinstance(detail, list) else str(detail)
        yield path.removesuffix(".non_field_errors").replace("non_field_errors", ""), text
        return
    for key, value in parts:
        yield from _paths(value, f"{path}.{key}" if path else str(key))


def _fields(request: Request) -> list[str]:
    return [name for name in request.query_params.get("fields", "").split(",") if name]
