"""A definition's JSON Schema as fields of a form: what each is, how a value becomes its text and a text its value.

Nothing is judged here. A text that cannot be what the schema asks for goes on as a text, and `parameters.check` says what is
wrong with it in the schema's own words, as it does for scripts.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from django.utils.translation import gettext as _

from jobs import parameters

LONG = 1000  # a text that may be longer than this gets more than one line
WHOLE = re.compile(r"[+-]?[0-9]{1,300}")
DECIMAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,4})?")
EXACT = 2**53  # up to here a float that is whole is that whole number
NOTHING: Any = object()  # no value: the parameter is left out


class Kind(StrEnum):
    """How a field is drawn, and how its text is read."""

    LINE = "line"
    TEXT = "text"  # several lines, set as code
    WHOLE = "whole"
    NUMBER = "number"
    CHOICE = "choice"
    SWITCH = "switch"
    LINES = "lines"  # a list of texts, one a line
    ARCHIVE = "archive"  # the digest of a stored archive, or a file to be stored
    JSON = "json"  # whatever else


@dataclass(frozen=True)
class Choice:
    text: str  # as it is sent: JSON, so that 1 and "1" differ
    label: str


@dataclass(frozen=True)
class SchemaField:
    """One parameter. Its path is that of the errors at it, too: `parameters.epochs`."""

    name: str
    schema: Mapping[str, Any]
    is_required: bool = False
    prefix: str = "parameters"

    @property
    def path(self) -> str:
        return f"{self.prefix}.{self.name}"

    @property
    def title(self) -> str:
        return str(self.schema.get("title") or self.name.replace("_", " ").capitalize() or self.name)

    @property
    def unit(self) -> str:
        return str(self.schema.get("x-unit", ""))

    @property
    def kind(self) -> Kind:
        schema = self.schema
        if isinstance(schema.get("enum"), list) and schema["enum"]:
            return Kind.CHOICE
        items = schema.get("items")
        match schema.get("type"):
            case "string":
                return self._kind_of_text()
            case "array" if isinstance(items, Mapping) and items.get("type") == "string":
                return Kind.LINES
            case "integer" | "number" | "boolean" as simple:
                return {"integer": Kind.WHOLE, "number": Kind.NUMBER, "boolean": Kind.SWITCH}[simple]
        return Kind.JSON

    def _kind_of_text(self) -> Kind:
        form, most = self.schema.get("format"), self.schema.get("maxLength")
        if form == "archive":
            return Kind.ARCHIVE
        is_long = form in ("textarea", "command", "script") or (isinstance(most, int | float) and most > LONG)
        return Kind.TEXT if is_long or "\n" in str(self.schema.get("default", "")) else Kind.LINE

    @property
    def choices(self) -> list[Choice]:
        """With an empty one first where none needs to be chosen, and nothing is chosen by itself."""
        found = [Choice(json.dumps(value), _label(value)) for value in self.schema["enum"]]
        return found if "default" in self.schema else [Choice("", _("none") if not self.is_required else _("choose")), *found]

    @property
    def default(self) -> Any:
        return self.schema.get("default", NOTHING)

    @property
    def help(self) -> str:
        """What it is, what it is without saying anything, and which values it takes."""
        own = str(self.schema.get("description", "")).strip().rstrip(".")
        parts = [self._range(), self._default()]
        if self.kind == Kind.LINES:
            parts.insert(0, _("One a line"))
        if self.kind == Kind.JSON:
            parts.insert(0, _("As JSON"))
        sentences = [_("%(words)s.") % {"words": part} for part in parts if part]
        return " ".join([f"{own}.", *sentences] if own else sentences)

    def _range(self) -> str:
        schema = self.schema
        least, most = schema.get("minimum"), schema.get("maximum")
        bounds = [
            (_("at least %(value)s"), least if most is None else None),
            (_("more than %(value)s"), schema.get("exclusiveMinimum")),
            (_("at most %(value)s"), most if least is None else None),
            (_("less than %(value)s"), schema.get("exclusiveMaximum")),
            (_("a multiple of %(value)s"), schema.get("multipleOf")),
        ]
        parts = [words % {"value": value} for words, value in bounds if value is not None]
        if least is not None and most is not None:
            parts.insert(0, _("%(least)s to %(most)s") % {"least": least, "most": most})
        text = _(", ").join(parts)
        return text[:1].upper() + text[1:]

    def _default(self) -> str:
        """Long ones and switches show theirs already."""
        if self.kind == Kind.SWITCH:
            return ""
        if self.default is NOTHING:
            return "" if self.is_required else _("May be left empty")
        shown = self.default if isinstance(self.default, str) else json.dumps(self.default, ensure_ascii=False)
        is_shown = 0 < len(shown) <= 60 and "\n" not in shown and self.default not in ([], {})
        return _("Default: %(value)s") % {"value": shown} if is_shown else ""

    # -- Value and text ----------------------------------------------------------------------------------------

    def text_of(self, value: Any) -> str:
        """The text from which `value_of` makes this value again."""
        match self.kind:
            case _ if value is NOTHING:
                return ""
            case Kind.LINES if isinstance(value, list) and all(isinstance(item, str) for item in value):
                text = "\n".join(value)
                return (
                    text if value == self.default == [] or self.value_of(text) == value else json.dumps(value, ensure_ascii=False)
                )
            case Kind.LINE | Kind.TEXT | Kind.ARCHIVE if isinstance(value, str):
                return value
            case Kind.WHOLE | Kind.NUMBER if isinstance(value, str):
                return value  # what was typed and is no number
            case Kind.JSON if not isinstance(value, str):
                return json.dumps(value, ensure_ascii=False, indent=2)
        return json.dumps(value, ensure_ascii=self.kind in (Kind.CHOICE, Kind.SWITCH))

    def value_of(self, text: str) -> Any:
        """NOTHING where the field was left empty, and that says nothing."""
        text = text.replace("\r\n", "\n")
        match self.kind:
            case Kind.LINE | Kind.TEXT | Kind.ARCHIVE:
                return text if text or self.default not in (NOTHING, "") else NOTHING
            case Kind.LINES:
                return self._lines(text)
            case Kind.SWITCH:
                return {"true": True, "false": False, "": False}.get(text, text)
            case Kind.CHOICE:
                return self._chosen(text)
            case Kind.WHOLE | Kind.NUMBER:
                return number_of(text, whole=self.kind == Kind.WHOLE)
        return json_of(text)

    def _lines(self, text: str) -> Any:
        """Or a list as JSON, which can hold what lines cannot."""
        text = text.removesuffix("\n")
        if not text:
            return [] if self.is_required or self.default not in (NOTHING, []) else NOTHING
        as_json = json_of(text) if text.startswith("[") else text
        return as_json if isinstance(as_json, list) else text.split("\n")

    def _chosen(self, text: str) -> Any:
        if not text:
            return NOTHING
        values = {json.dumps(value): value for value in self.schema["enum"]}
        return values.get(text, text)


@dataclass(frozen=True)
class Form:
    """The fields of a schema; `takes_more` where it lets parameters through that it does not name."""

    fields: list[SchemaField] = field(default_factory=list)
    takes_more: bool = False

    @classmethod
    def of(cls, schema: Mapping[str, Any], template: Mapping[str, Any] | None = None) -> Form:
        """In the order of the schema's `x-order`, then of the template that they fill, then of the schema.

        PostgreSQL keeps no order of an object's names, so the schema alone would be drawn otherwise there.
        """
        properties, required = schema.get("properties", {}), schema.get("required", [])
        named = [*schema.get("x-order", []), *_places(template or {})]
        order = dict.fromkeys([name for name in named if name in properties] + list(properties))
        fields = [
            SchemaField(name, part if isinstance(part := properties[name], Mapping) else {}, name in required) for name in order
        ]
        return cls(fields, schema.get("additionalProperties", True) is not False)


def _places(template: Mapping[str, Any]) -> list[str]:
    """Names of the parameters that a template holds: first what is run, then how."""
    source, environment, runtime = ((template.get(part) or {}).values() for part in ("source", "environment", "runtime"))
    texts = [*source, *template.get("command", []), *environment, *runtime]
    return [name for text in texts if isinstance(text, str) for name in parameters.PLACE.findall(text)]


def _label(value: Any) -> str:
    return (value or _("none")) if isinstance(value, str) else json.dumps(value)


def number_of(text: str, *, whole: bool) -> Any:
    """An int or a float; NOTHING for an empty text; the text itself when it is no number."""
    text = text.strip()
    if not text:
        return NOTHING
    if WHOLE.fullmatch(text):
        return int(text)
    if not DECIMAL.fullmatch(text):
        return text
    value = float(text)
    if math.isinf(value):
        return text  # JSON has no number so large
    return int(value) if whole and value.is_integer() and abs(value) <= EXACT else value


def json_of(text: str) -> Any:
    """What the text says as JSON; NOTHING for an empty text; the text itself when it is none."""
    if not text.strip():
        return NOTHING
    try:
        return json.loads(text, parse_constant=_refuse, parse_float=_finite)
    except (ValueError, RecursionError):
        return text


def _refuse(name: str) -> Any:
    raise ValueError(name)  # NaN, Infinity: Python's, not JSON's


def _finite(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise ValueError(text)
    return value
