"""A parameter as a row of the form that edits a definition: its schema in fields, and back without loss.

What a kind has no field for stands in `more`, and a schema that no kind can hold is a row of the kind JSON.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import TextChoices
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from jobs import documents
from jobs.forms import Field
from jobs.schema_form import NOTHING, Choice, number_of
from jobs.schema_form import Kind as Drawn
from jobs.wording import same


class Kind(TextChoices):
    TEXT = "text", gettext_lazy("text")
    LINES = "lines", gettext_lazy("text of several lines")
    INTEGER = "integer", gettext_lazy("whole number")
    NUMBER = "number", gettext_lazy("number")
    BOOLEAN = "boolean", gettext_lazy("yes or no")
    CHOICE = "choice", gettext_lazy("choice")
    LIST = "list", gettext_lazy("list of texts")
    JSON = "json", gettext_lazy("anything else, as JSON")


NUMBERS = (Kind.INTEGER, Kind.NUMBER)
BASES: dict[str, dict[str, Any]] = {  # what each kind says by itself
    Kind.TEXT: {"type": "string"},
    Kind.LINES: {"type": "string", "format": "textarea"},
    Kind.INTEGER: {"type": "integer"},
    Kind.NUMBER: {"type": "number"},
    Kind.BOOLEAN: {"type": "boolean"},
    Kind.CHOICE: {},
    Kind.LIST: {"type": "array", "items": {"type": "string"}},
}
ALL_BUT_JSON = tuple(kind for kind in Kind if kind != Kind.JSON)
OF_KINDS = {  # field -> kinds that have it; name and kind: all
    "title": ALL_BUT_JSON,
    "description": ALL_BUT_JSON,
    "default": ALL_BUT_JSON,
    "more": ALL_BUT_JSON,
    "minimum": NUMBERS,
    "maximum": NUMBERS,
    "unit": NUMBERS,
    "choices": (Kind.CHOICE,),
    "json": (Kind.JSON,),
}
FIELDS = {  # keyword -> field of a row
    "title": "title",
    "description": "description",
    "default": "default",
    "minimum": "minimum",
    "maximum": "maximum",
    "x-unit": "unit",
    "enum": "choices",
}
TEXTS = ("name", "kind", "title", "description", "default", "minimum", "maximum", "unit", "choices", "more", "json")


@dataclass
class Row:
    """`key` tells it from the others of its form, whatever they are called; `texts` has a text for each of its fields."""

    key: str
    texts: dict[str, str]
    is_required: bool = False

    # -- From a schema and back ------------------------------------------------------------------------------------

    @classmethod
    def of(cls, key: str, name: str, schema: Any, *, is_required: bool) -> Row:
        """In the simplest kind from which the same schema comes back."""
        if isinstance(schema, Mapping):
            for kind in _kinds_of(schema):
                row = cls(key, {"name": name, "kind": kind, **_texts_of(kind, schema)}, is_required)
                if same(row.schema(), schema):
                    return row
        as_json = documents.write(schema, "json").rstrip("\n")
        return cls(key, {"name": name, "kind": Kind.JSON, "json": as_json}, is_required)

    def schema(self) -> Any:
        """What its fields say, right or wrong; what is no JSON stays a text."""
        more, _why = _json(self.texts.get("json" if self.kind == Kind.JSON else "more", ""))
        if self.kind == Kind.JSON:
            return {} if more is NOTHING else more
        found = dict(BASES[self.kind])
        found |= {keyword: value for keyword, value in self._values() if value is not NOTHING}
        return found | (more if isinstance(more, dict) else {})

    def _values(self) -> Iterator[tuple[str, Any]]:
        text = self.texts.get
        yield "title", text("title", "").strip() or NOTHING
        yield "description", text("description", "").replace("\r\n", "\n").strip() or NOTHING
        if self.kind in NUMBERS:
            for name in ("minimum", "maximum"):
                yield name, number_of(text(name, ""), whole=self.kind == Kind.INTEGER)
            yield "x-unit", text("unit", "").strip() or NOTHING
        if self.kind == Kind.CHOICE:
            yield "enum", [_chosen(line) for line in text("choices", "").splitlines() if line.strip()]
        yield "default", _default(self.kind, text("default", ""))

    @property
    def is_blank(self) -> bool:
        """Nothing was typed into it, so it is not there."""
        return not any(text.strip() for name, text in self.texts.items() if name != "kind")

    @property
    def unread(self) -> dict[str, str]:
        """Texts that are no JSON: field -> sentence."""
        name = "json" if self.kind == Kind.JSON else "more"
        value, why = _json(self.texts.get(name, ""))
        if not why and name == "more" and value is not NOTHING and not isinstance(value, dict):
            why = _("an object is needed")
        return {name: why} if why else {}

    # -- For the template ------------------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        return self.texts.get("name", "").strip()

    @property
    def kind(self) -> str:
        kind = self.texts.get("kind", "")
        return kind if kind in Kind.values else Kind.TEXT

    @property
    def prefix(self) -> str:
        return f"row.{self.key}"

    def field_of(self, keyword: str) -> str:
        """The field in which a keyword of its schema stands."""
        if self.kind == Kind.JSON:
            return "json"
        kinds = OF_KINDS.get(FIELDS.get(keyword, ""), ())
        return FIELDS[keyword] if self.kind in kinds else "more"

    def fields(self, errors: Mapping[str, str]) -> dict[str, Field]:
        """By name, those of other kinds too: the page hides them and what is in them stays. `errors` are by path in the form."""
        none = _('Left empty: none. Lists have one a line. "" is the empty text.')
        drawn = {
            "name": (Drawn.LINE, _("Name"), ""),
            "kind": (Drawn.CHOICE, _("Type"), ""),
            "title": (Drawn.LINE, _("Title"), ""),
            "description": (Drawn.LINE, _("Help"), ""),
            "default": (Drawn.LINES, _("Default"), none),
            "minimum": (Drawn.NUMBER, _("Least"), ""),
            "maximum": (Drawn.NUMBER, _("Most"), ""),
            "unit": (Drawn.LINE, _("Unit"), ""),
            "choices": (Drawn.LINES, _("Choices"), _('One a line. 1, true and null are no texts; "1" is one.')),
            "more": (Drawn.JSON, _("More of its schema"), _('A JSON object, such as {"maxLength": 20}.')),
            "json": (Drawn.JSON, _("JSON Schema"), ""),
        }
        found = {}
        for name, (kind, title, help_text) in drawn.items():
            path = f"{self.prefix}.{name}"
            text = self.kind if name == "kind" else self.texts.get(name, "")
            choices = [Choice(value, str(label)) for value, label in Kind.choices] if name == "kind" else []
            id_, error = f"definition-{path.replace('.', '-')}", errors.get(path, "")
            found[name] = Field(path, id_, title, kind, text=text, help=help_text, error=error, choices=choices)
        return found


def _kinds_of(schema: Mapping[str, Any]) -> list[str]:
    """Those that it could be, the likeliest first."""
    if "enum" in schema:
        return [Kind.CHOICE]
    match schema.get("type"):
        case "string":
            return [Kind.LINES] if schema.get("format") == "textarea" else [Kind.TEXT]
        case "integer" | "number" | "boolean" as simple:
            return [{"integer": Kind.INTEGER, "number": Kind.NUMBER, "boolean": Kind.BOOLEAN}[simple]]
        case "array":
            return [Kind.LIST]
    return []


def _texts_of(kind: str, schema: Mapping[str, Any]) -> dict[str, str]:
    """The rest of the schema stands in `more`, and whatever a field of its own would change."""
    texts = {name: "" for name in TEXTS if name not in ("name", "kind", "json")}
    base = BASES[kind]
    more = {keyword: value for keyword, value in schema.items() if keyword not in base or not same(base[keyword], value)}
    plain = {"title": _line, "description": _line}
    if kind in NUMBERS:
        plain |= {"minimum": _number, "maximum": _number, "x-unit": _line}
    for keyword, text_of in plain.items():
        if (text := text_of(more.get(keyword))) is not None:
            texts[FIELDS[keyword]] = text
            del more[keyword]
    if kind == Kind.CHOICE and isinstance(more.get("enum"), list):
        texts["choices"] = "\n".join(map(_line_of_choice, more.pop("enum")))
    if "default" in more and (text := _text_of_default(kind, more["default"])) is not None:
        texts["default"] = text
        del more["default"]
    texts["more"] = json.dumps(more, ensure_ascii=False, indent=2) if more else ""
    return texts


def _line(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _number(value: Any) -> str | None:
    return json.dumps(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _line_of_choice(value: Any) -> str:
    """From which `_chosen` makes it again."""
    is_plain = isinstance(value, str) and value.strip() == value and "\n" not in value and _chosen(value) == value and value
    return value if is_plain else json.dumps(value, ensure_ascii=False)


def _chosen(line: str) -> Any:
    """Numbers, true, false and null are themselves, what stands in quotes a text, and anything else too."""
    line = line.strip()
    value, why = _json(line)
    is_meant = not why and (isinstance(value, bool | int | float | None) or (isinstance(value, str) and line.startswith('"')))
    return value if is_meant and value is not NOTHING else line


def _text_of_default(kind: str, value: Any) -> str | None:
    """From which `_default` makes it again; None: there is no such text."""
    match kind:
        case Kind.CHOICE:
            text = _line_of_choice(value)
        case Kind.LIST if isinstance(value, list) and all(isinstance(item, str) for item in value):
            text = "\n".join(value)
            if not _makes(kind, text, value):
                text = json.dumps(value, ensure_ascii=False)
        case Kind.TEXT | Kind.LINES if isinstance(value, str):
            text = value if value and not value.startswith('"') else json.dumps(value, ensure_ascii=False)
        case _:
            text = json.dumps(value, ensure_ascii=False)
    return text if _makes(kind, text, value) else None


def _makes(kind: str, text: str, value: Any) -> bool:
    found = _default(kind, text)
    return found is not NOTHING and same(found, value)


def _default(kind: str, text: str) -> Any:
    """NOTHING for an empty field."""
    text = text.replace("\r\n", "\n")
    if not text.strip():
        return NOTHING
    match kind:
        case Kind.INTEGER | Kind.NUMBER:
            return number_of(text, whole=kind == Kind.INTEGER)
        case Kind.BOOLEAN:
            return {"true": True, "false": False}.get(text, text)
        case Kind.CHOICE:
            return _chosen(text)
        case Kind.LIST:
            value, why = _json(text) if text.startswith("[") else (None, "")
            return value if isinstance(value, list) and not why else text.removesuffix("\n").split("\n")
    value, why = _json(text) if text.startswith('"') else (None, "")
    return value if isinstance(value, str) and not why else text


def _json(text: str) -> tuple[Any, str]:
    """(what it says, why it is no JSON); NOTHING for an empty text, the text itself where it is none."""
    if not text.strip():
        return NOTHING, ""
    try:
        return documents.read(text, "json").value, ""
    except documents.Unreadable as fault:
        return text, _("line %(line)s: %(why)s") % {"line": fault.line, "why": fault.sentence}
