"""The form that edits a definition: what its fields say as the definition's JSON, and each error at its field."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from django.http import QueryDict
from django.utils import timezone
from django.utils.datastructures import MultiValueDict
from django.utils.translation import gettext as _

from clusters import sources
from jobs import definition_fields, documents
from jobs.definition_rows import TEXTS, Row
from jobs.definition_texts import ARGUMENTS, BUDGETS, RESOURCES, SECONDS, command_of, missing, rows_of, secrets_of, texts_of
from jobs.forms import Field
from jobs.pairs import pairs_of
from jobs.schema_form import NOTHING, number_of
from jobs.schema_form import Kind as Drawn
from jobs.template_rules import SOURCES
from projects.actors import Actor
from projects.errors import Invalid
from projects.models import Project

KEY = re.compile(r"[0-9]{1,6}")  # of a row
MOST_ROWS = 60  # a row has a dozen fields, and Django reads a thousand of a request; more are edited as text


@dataclass
class DefinitionForm:
    """A text for each field, names of secrets, and a row for each parameter. `errors` is path in the form -> sentence."""

    texts: dict[str, str]
    secrets: list[str]
    rows: list[Row]
    unread: dict[str, str] = field(default_factory=dict)  # texts that say nothing at all
    errors: dict[str, str] = field(default_factory=dict)
    general: list[str] = field(default_factory=list)  # errors of no field

    # -- Where it comes from ---------------------------------------------------------------------------------------

    @classmethod
    def of(cls, said: Mapping[str, Any]) -> DefinitionForm:
        """Of a document, which may be wrong; `lost` tells what of it the form has no field for."""
        return cls(texts_of(said), secrets_of(said), rows_of(said))

    @classmethod
    def posted(cls, sent: QueryDict, files: MultiValueDict, project: Project, by: Actor | None = None) -> DefinitionForm:
        """As it was sent. With `by`, an archive that came along is stored, and its digest is the text."""
        texts = {name: str(sent.get(name, "")) for name in definition_fields.drawn()}
        rows = [_posted_row(sent, key) for key in dict.fromkeys(sent.getlist("row")) if KEY.fullmatch(key)]
        form = cls(texts, list(dict.fromkeys(sent.getlist("secrets"))), rows)
        if by and texts["source.kind"] == "archive" and (file := files.get("archive.digest")):
            try:
                stored = sources.upload(project=project, name=file.name, file=file, by=by, now=timezone.now())
                form.texts["archive.digest"] = stored.source_id
            except Invalid as refused:
                form.unread["archive.digest"] = "; ".join(refused.fields.values())
        form._note_unread()
        return form

    def _note_unread(self) -> None:
        """Texts that say nothing, and names that two rows have: a document has room for one of them."""
        _pairs, fault = pairs_of(self.texts["environment"], strip=False)
        if fault:
            self.unread["environment"] = fault
        seen: set[str] = set()
        for row in self._filled_rows:
            self.unread |= {f"{row.prefix}.{name}": why for name, why in row.unread.items()}
            if row.name in seen:
                self.unread[f"{row.prefix}.name"] = _("another parameter has this name")
            seen.add(row.name)
        if why := _object_of(self.texts["rest"])[1]:
            self.unread["rest"] = why

    def add_row(self) -> Row | None:
        """An empty one at the end; None where there is no room."""
        if len(self.rows) >= MOST_ROWS:
            return None
        key = str(max((int(row.key) for row in self.rows), default=-1) + 1)
        self.rows.append(Row(key, {"kind": "text"}))
        return self.rows[-1]

    def remove_row(self, key: str) -> None:
        self.rows = [row for row in self.rows if row.key != key]

    def move_row(self, key: str, by: int) -> None:
        """Up (-1) or down (1), where there is another."""
        here = next((number for number, row in enumerate(self.rows) if row.key == key), None)
        if here is not None and 0 <= here + by < len(self.rows):
            self.rows[here], self.rows[here + by] = self.rows[here + by], self.rows[here]

    # -- What it says ----------------------------------------------------------------------------------------------

    def document(self) -> dict[str, Any]:
        """Right or wrong; without what is empty."""
        parts = {
            "title": self.texts["title"],
            "description": self.texts["description"].replace("\r\n", "\n"),
            "template": _filled(self._template()),
            "parameters": self._parameters(),
            "resources": _filled({name: self._value(f"resources.{name}") for name in RESOURCES}),
            "retries": self._retries(),
        }
        needed = ("title", "template", "parameters")
        return {name: value for name, value in parts.items() if value not in ("", {}) or name in needed}

    def _template(self) -> dict[str, Any]:
        return {
            "source": self._source(),
            "command": command_of(self.texts["command.kind"], self.texts["command"]),
            "environment": pairs_of(self.texts["environment"], strip=False)[0],
            "secrets": self.secrets,
            "runtime": _filled({"name": self._value("runtime")}),
            **{name: self._value(name) for name in SECONDS},
        }

    def _source(self) -> dict[str, Any]:
        kind = self.texts["source.kind"]
        if kind in ("", "none"):
            return {}
        source = {name: self._value(f"{kind}.{name}") for name in SOURCES.get(kind, ()) if name}
        return {"kind": kind} | {name: text for name, text in source.items() if text or name != "ref"}

    def _retries(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for path in BUDGETS:
            cause, _dot, name = path.partition(".")
            if (value := self._value(f"retries.{path}")) is not NOTHING:
                found.setdefault(cause, {})[name] = value
        return found

    def _parameters(self) -> dict[str, Any]:
        rest, _why = _object_of(self.texts["rest"])
        properties = {row.name: row.schema() for row in self._filled_rows}
        required, more = [row.name for row in self._filled_rows if row.is_required], rest.pop("required", [])
        if isinstance(more, list):
            required += [name for name in more if name not in required]
        parts = {"properties": properties, "required": required if isinstance(more, list) else more}
        kind = {"type": rest.pop("type")} if "type" in rest else {}
        return kind | _filled(parts) | {name: value for name, value in rest.items() if name != "properties"}

    def _value(self, path: str) -> Any:
        """A number where the field is for one and has one; NOTHING where such a field is empty."""
        text = self.texts[path]
        if path in (*SECONDS, "resources.chips") or path.startswith("retries."):
            return number_of(text, whole=True)
        return text.replace("\r\n", "\n") if path == "script.text" else text.strip()

    @property
    def _filled_rows(self) -> list[Row]:
        return [row for row in self.rows if not row.is_blank]

    def lost(self, said: Mapping[str, Any]) -> list[str]:
        """Paths of what a document says and this form, made of it, does not or has no room for."""
        if len(self.rows) > MOST_ROWS:
            return ["parameters.properties"]
        of_one_line = (Drawn.LINE, Drawn.WHOLE, Drawn.NUMBER)  # browsers take the ends of lines out of their texts
        broken = [one.path for one in self.all_fields if one.kind in of_one_line and "\n" in one.text]
        return broken or list(missing(said, self.document()))

    # -- What is wrong with it ---------------------------------------------------------------------------------------

    def refuse(self, wrong: Mapping[str, str]) -> None:
        """Puts each error of its document at its field."""
        known = {one.path for one in self.all_fields}
        for path, sentence in wrong.items():
            owner, text = self._owner_of(path, sentence)
            if owner not in known:
                self.general.append(f"{path}: {sentence}" if path else sentence)
            else:
                self.errors[owner] = f"{self.errors[owner]}; {text}" if owner in self.errors else text

    def _owner_of(self, path: str, sentence: str) -> tuple[str, str]:
        """(path in the form, the sentence with what the field alone does not tell)."""
        found = path, sentence
        match path.split("."):
            case ["template", "source", "kind"] | ["template", "source"]:
                found = "source.kind", sentence
            case ["template", "source", name]:
                found = f"{self.texts['source.kind']}.{name}", sentence
            case ["template", "command", number] if self.texts["command.kind"] == ARGUMENTS:
                found = "command", _("line %(number)s: %(why)s") % {"number": int(number) + 1, "why": sentence}
            case ["template", "environment", *name] if name:
                found = "environment", f"{'.'.join(name)}: {sentence}"
            case ["template", "secrets", number]:
                found = "secrets", f"{self.secrets[int(number)]}: {sentence}"
            case ["template", name, *_more]:
                found = name, sentence
            case ["parameters", "properties", name, *below]:
                found = self._owner_in_row(name, below, sentence)
            case ["parameters", *below]:
                found = "rest", f"{'.'.join(below)}: {sentence}" if below else sentence
        return found

    def _owner_in_row(self, name: str, below: list[str], sentence: str) -> tuple[str, str]:
        row = next((one for one in self._filled_rows if one.name == name), None)
        if row is None:
            return "", sentence
        if not below:
            return f"{row.prefix}.name", sentence
        owner = row.field_of(below[0])
        is_its_own = owner not in ("more", "json") and len(below) == 1
        return f"{row.prefix}.{owner}", sentence if is_its_own else f"{'.'.join(below)}: {sentence}"

    @property
    def faults(self) -> list[tuple[Field, str]]:
        """In the order of the page, for the summary; a parameter's tell its name."""
        names = {f"{row.prefix}.": row.name for row in self.rows}
        found = []
        for one in self.all_fields:
            name = next((name for prefix, name in names.items() if one.path.startswith(prefix)), "")
            if one.error:
                found.append((replace(one, title=f"{name}: {one.title}") if name else one, one.error))
        return found

    # -- Its fields --------------------------------------------------------------------------------------------------

    @cached_property
    def fields(self) -> dict[str, Field]:
        """By path with _ for dots, for the template; without the rows'."""
        return {one.path.replace(".", "_"): one for one in self._plain_fields}

    @property
    def row_fields(self) -> list[tuple[Row, dict[str, Field]]]:
        return [(row, row.fields(self.errors)) for row in self.rows]

    @property
    def all_fields(self) -> list[Field]:
        *plain, last = self._plain_fields
        return [*plain, *(one for _row, found in self.row_fields for one in found.values()), last]

    @property
    def has_more(self) -> bool:
        """Whether the part that is folded has something to see."""
        folded = ("environment", *SECONDS, *(f"retries.{path}" for path in BUDGETS))
        return bool(self.secrets) or any(self.texts[path] or path in self.errors for path in folded)

    @property
    def _plain_fields(self) -> list[Field]:
        return [
            Field(
                path,
                f"definition-{path.replace('.', '-')}",
                title,
                kind,
                text=self.texts.get(path, ""),
                help=help_text,
                unit=unit,
                error=self.errors.get(path, ""),
            )
            for path, (kind, title, help_text, unit) in definition_fields.drawn().items()
        ]


def _posted_row(sent: QueryDict, key: str) -> Row:
    texts = {name: str(sent.get(f"row.{key}.{name}", "")) for name in TEXTS}
    return Row(key, texts, bool(sent.get(f"row.{key}.required")))


def _filled(found: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in found.items() if value is not NOTHING and value not in ("", [], {})}


def _object_of(text: str) -> tuple[dict[str, Any], str]:
    """(the JSON object, why there is none)."""
    if not text.strip():
        return {}, ""
    try:
        found = documents.read(text, "json").value
    except documents.Unreadable as fault:
        return {}, _("line %(line)s: %(why)s") % {"line": fault.line, "why": fault.sentence}
    return (found, "") if isinstance(found, dict) else ({}, _("an object is needed"))
