"""JSON and YAML as people type it: what it says, and on which line; and the text of a value.

YAML is read as the JSON that it stands for: no anchors (a few lines of them can stand for gigabytes), no tags, no names twice,
and plain words are what JSON has, so that `no` and `12:30` are texts. PyYAML parses, and its events alone are used.
"""

from __future__ import annotations

import json
import math
import re
from bisect import bisect_right
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import Any

import yaml
from django.utils.translation import gettext as _

from jobs.values import MOST_LEVELS, is_storable

MOST_BYTES = 512 * 1024
FORMATS = ("yaml", "json")


class Unreadable(Exception):
    """Why there is no value in a text, in a sentence; `line` counts from 1."""

    def __init__(self, sentence: str, line: int = 1) -> None:
        super().__init__(sentence)
        self.sentence, self.line = sentence, line


@dataclass(frozen=True)
class Document:
    value: Any
    lines: Mapping[str, int] = field(default_factory=dict)  # path, as errors have it -> line

    def line_of(self, path: str) -> int:
        """Where a path stands, or what it would stand in."""
        while path not in self.lines and path:
            path = path.rpartition(".")[0]
        return self.lines.get(path, 1)


def read(text: str, format: str) -> Document:  # noqa: A002  one of FORMATS
    """Raises Unreadable."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if len(text.encode(errors="replace")) > MOST_BYTES:
        raise Unreadable(_("It is larger than %(most)s KiB.") % {"most": MOST_BYTES // 1024})
    for number, line in enumerate(text.split("\n"), start=1):
        if not is_storable(line):
            raise Unreadable(_("The line holds a NUL or half a character."), number)
    return _read_yaml(text) if format == "yaml" else _read_json(text)


def write(value: Any, format: str) -> str:  # noqa: A002
    """The text from which `read` makes the value again."""
    if format == "json":
        return json.dumps(value, ensure_ascii=False, indent=2) + "\n"
    return yaml.dump(  # type: ignore[no-any-return]
        value, Dumper=_Dumper, default_flow_style=False, allow_unicode=True, sort_keys=False, width=110
    )


# -- YAML ----------------------------------------------------------------------------------------------------

WORDS: dict[str, Any] = {"": None, "~": None} | {
    spelt: value
    for word, value in (("null", None), ("true", True), ("false", False))
    for spelt in (word, word.capitalize(), word.upper())
}
WHOLE = re.compile(r"[-+]?[0-9]+")
DECIMAL = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
NO_NUMBER = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
MOST_DIGITS = 300


def _read_yaml(text: str) -> Document:
    builder = _Builder()
    try:
        for event in yaml.parse(text, Loader=yaml.CSafeLoader):
            builder.take(event)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise Unreadable(_("No YAML: %(why)s.") % {"why": error.problem or error.context}, mark.line + 1 if mark else 1) from None
    except yaml.reader.ReaderError as error:
        before = text.encode()[: error.position].decode(errors="ignore")
        raise Unreadable(_("It holds a control character."), before.count("\n") + 1) from None
    if builder.documents == 0:
        raise Unreadable(_("There is nothing in it."))
    return Document(builder.value, builder.lines)


class _Builder:
    """A value made of a parser's events, without recursion."""

    def __init__(self) -> None:
        self.value: Any = None
        self.lines: dict[str, int] = {}
        self.documents = 0
        self._open: list[tuple[str, Any]] = []  # path and value of the lists and objects that are open
        self._name: str | None = None  # of the next value of the innermost object

    def take(self, event: Any) -> None:
        line = event.start_mark.line + 1
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            raise Unreadable(_("Anchors (&) and aliases (*) are not taken; a text that begins so stands in quotes."), line)
        if isinstance(event, yaml.NodeEvent) and event.tag:  # type: ignore[attr-defined]
            raise Unreadable(_("Tags (!) are not taken; a text that begins so stands in quotes."), line)
        if isinstance(event, yaml.ScalarEvent) and not is_storable(event.value):
            raise Unreadable(_("The text holds a NUL or half a character."), line)
        match event:
            case yaml.DocumentStartEvent():
                self.documents += 1
                if self.documents > 1:
                    raise Unreadable(_("A second document begins here; there is one definition in a text."), line)
            case yaml.ScalarEvent() if self._expects_name():
                self._take_name(event.value, line)
            case yaml.ScalarEvent():
                self._put(_plain(event.value, line) if event.implicit[0] else event.value, line)
            case yaml.MappingStartEvent() | yaml.SequenceStartEvent() if self._expects_name():
                raise Unreadable(_("A name is needed, and no list and no object."), line)
            case yaml.MappingStartEvent():
                self._put({}, line)
            case yaml.SequenceStartEvent():
                self._put([], line)
            case yaml.MappingEndEvent() | yaml.SequenceEndEvent():
                self._open.pop()
                self._name = None

    def _expects_name(self) -> bool:
        return bool(self._open) and isinstance(self._open[-1][1], dict) and self._name is None

    def _take_name(self, name: str, line: int) -> None:
        path, inner = self._open[-1]
        if name in inner:
            raise Unreadable(_("%(name)s stands here for the second time.") % {"name": name[:100]}, line)
        inner[name] = None  # its place
        self.lines[_below(path, name)] = line
        self._name = name

    def _put(self, value: Any, line: int) -> None:
        if not self._open:
            path, self.value = "", value
        else:
            outer, inner = self._open[-1]
            if isinstance(inner, dict):
                assert self._name is not None
                path = _below(outer, self._name)
                inner[self._name] = value
                self._name = None
            else:
                path = _below(outer, str(len(inner)))
                inner.append(value)
        self.lines.setdefault(path, line)
        if isinstance(value, dict | list):
            self._open.append((path, value))
            if len(self._open) > MOST_LEVELS:
                raise Unreadable(_("It is nested too deeply."), line)


def _plain(text: str, line: int) -> Any:
    """What a word without quotes is, as in JSON."""
    if text in WORDS:
        return WORDS[text]
    if NO_NUMBER.fullmatch(text):
        raise Unreadable(_("There is no number %(text)s here.") % {"text": text}, line)
    if WHOLE.fullmatch(text):
        return _number(text, int, line)
    return _number(text, float, line) if DECIMAL.fullmatch(text) else text


def _number(text: str, kind: type[int] | type[float], line: int) -> Any:
    value = kind(text) if len(text) <= MOST_DIGITS else math.inf
    if math.isinf(value):
        raise Unreadable(_("The number is too large."), line)
    return value


def _below(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


class _Dumper(yaml.CSafeDumper):
    """Whatever YAML 1.1 or `_plain` would take for something else stands in quotes."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _as_text(dumper: _Dumper, text: str) -> Any:
    style = "|" if "\n" in text.rstrip("\n") else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _as_text)
_Dumper.add_implicit_resolver("tag:yaml.org,2002:float", re.compile(f"^({DECIMAL.pattern})$"), list("-+.0123456789"))


# -- JSON ----------------------------------------------------------------------------------------------------

BLANK = re.compile(r"[ \t\n]*")
NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")
CONSTANTS = {"true": True, "false": False, "null": None}


def _read_json(text: str) -> Document:
    return _Scanner(text).read()


class _Scanner:
    """Python's own reader tells where it failed, and not where each value stands."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._starts = [0, *(found.end() for found in re.finditer("\n", text))]
        self.lines: dict[str, int] = {}

    def read(self) -> Document:
        if not self._text.strip(" \t\n"):
            raise Unreadable(_("There is nothing in it."))
        value, end = self._value(self._blank(0), "", MOST_LEVELS)
        if (end := self._blank(end)) < len(self._text):
            raise self._fault(_("Nothing may follow the value."), end)
        return Document(value, self.lines)

    def _value(self, at: int, path: str, levels: int) -> tuple[Any, int]:
        self.lines.setdefault(path, self._line(at))
        first = self._text[at : at + 1]
        if first in ("{", "[") and levels == 0:
            raise self._fault(_("It is nested too deeply."), at)
        if first == "{":
            return self._object(at, path, levels - 1)
        if first == "[":
            return self._list(at, path, levels - 1)
        if first == '"':
            return self._string(at)
        for word, value in CONSTANTS.items():
            if self._text.startswith(word, at):
                return value, at + len(word)
        if found := NUMBER.match(self._text, at):
            return _number(found[0], float if found[1] or found[2] else int, self._line(at)), found.end()
        raise self._fault(_("A value is needed: a text in double quotes, a number, true, false, null, a list or an object."), at)

    def _object(self, at: int, path: str, levels: int) -> tuple[dict[str, Any], int]:
        found: dict[str, Any] = {}

        def member(at: int) -> int:
            if self._text[at : at + 1] != '"':
                raise self._fault(_("A name in double quotes is needed."), at)
            name, end = self._string(at)
            if name in found:
                raise self._fault(_("%(name)s stands here for the second time.") % {"name": name[:100]}, at)
            self.lines[_below(path, name)] = self._line(at)
            end = self._blank(end)
            if self._text[end : end + 1] != ":":
                raise self._fault(_("A colon is needed after the name."), end)
            found[name], end = self._value(self._blank(end + 1), _below(path, name), levels)
            return end

        return found, self._members(at, "}", member)

    def _list(self, at: int, path: str, levels: int) -> tuple[list[Any], int]:
        found: list[Any] = []

        def member(at: int) -> int:
            value, end = self._value(at, _below(path, str(len(found))), levels)
            found.append(value)
            return end

        return found, self._members(at, "]", member)

    def _members(self, at: int, close: str, member: Callable[[int], int]) -> int:
        """Reads what stands between `at` and `close`, with commas between."""
        at = self._blank(at + 1)
        if self._text[at : at + 1] == close:
            return at + 1
        while True:
            at = self._blank(member(at))
            mark = self._text[at : at + 1]
            if mark == close:
                return at + 1
            if mark != ",":
                raise self._fault(_("A comma or %(close)s is needed.") % {"close": close}, at)
            at = self._blank(at + 1)
            if self._text[at : at + 1] == close:
                raise self._fault(_("The comma before %(close)s is one too many.") % {"close": close}, at)

    def _string(self, at: int) -> tuple[str, int]:
        try:
            text, end = scanstring(self._text, at + 1, True)
        except json.JSONDecodeError as error:
            raise self._fault(_("The text is broken: %(why)s.") % {"why": error.msg}, error.pos) from None
        if not is_storable(text):
            raise self._fault(_("The text holds a NUL or half a character."), at)
        return text, end

    def _blank(self, at: int) -> int:
        found = BLANK.match(self._text, at)
        assert found
        return found.end()

    def _line(self, at: int) -> int:
        return bisect_right(self._starts, at)

    def _fault(self, sentence: str, at: int) -> Unreadable:
        return Unreadable(sentence, self._line(min(at, len(self._text))))
