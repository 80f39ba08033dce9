"""What two wordings of a definition differ in, field by field, and what became of one that two people changed."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from django.utils.translation import gettext as _

from jobs import documents
from jobs.wording import Wording, same

MISSING: Any = object()
Code = tuple[str, int, int, int, int]  # difflib's: what happens to which lines of the old and of the new
SHELL = ["/bin/sh", "-c"]  # what stands before a command that is one text
CONTEXT = 3  # lines around a changed one
MOST_COMPARED = 2000  # lines; beyond, what is neither at the beginning nor at the end the same counts as another text
MOST_SHOWN = 400  # lines of one difference
MOST_IN_ROW = 80  # characters of a value that stands in one row


@dataclass(frozen=True)
class Line:
    """Of a text that has changed: `kind` is same, removed, added or skipped (`text` says how many)."""

    kind: str
    text: str

    @property
    def sign(self) -> str:
        return {"removed": "−", "added": "+"}.get(self.kind, " ")


@dataclass(frozen=True)
class Difference:
    """One field; `before` and `after` are its values, MISSING where it was not said. `lines` where it is a text of several."""

    path: str
    before: Any
    after: Any
    lines: list[Line] = field(default_factory=list)

    @property
    def kind(self) -> str:
        return "added" if self.before is MISSING else "removed" if self.after is MISSING else "changed"

    @property
    def title(self) -> str:
        return title_of(self.path)

    @property
    def before_text(self) -> str:
        return _text(self.before)

    @property
    def after_text(self) -> str:
        return _text(self.after)


def between(before: Wording, after: Wording) -> list[Difference]:
    """In the order in which a definition is read."""
    old, new = before.document(), after.document()
    return [*_between(old, new, ""), *_order(*(list(one["parameters"].get("properties", {})) for one in (old, new)))]


def title_of(path: str) -> str:
    """A path in the words of the form: `parameters.properties.epochs.default` is "Parameter epochs: default"."""
    words = {
        "title": _("Title"),
        "description": _("Description"),
        "template.command": _("Command"),
        "template.secrets": _("Secrets"),
        "template.runtime": _("Runtime"),
        "template.runtime.name": _("Runtime"),
        "template.stop_grace_s": _("Time to stop"),
        "template.timeout_s": _("Longest run"),
        "resources.accelerator": _("Accelerator"),
        "resources.chips": _("Chips"),
        "resources.cluster": _("Cluster"),
        "retries": _("Retries"),
        "resources": _("Resources"),
        "template.source": _("Source"),
        "template.environment": _("Environment"),
        "parameters.properties": _("Order of parameters"),
    }
    if path in words:
        return words[path]
    beginnings = {
        "template.environment.": _("Variable %(rest)s"),
        "template.source.": _("Source: %(rest)s"),
        "template.command.": _("Command: %(rest)s"),
        "retries.": _("Retries: %(rest)s"),
        "parameters.properties.": _("Parameter %(rest)s"),
        "parameters.": _("Parameters: %(rest)s"),
    }
    for beginning, sentence in beginnings.items():
        if path.startswith(beginning):
            name, dot, below = path.removeprefix(beginning).partition(".")
            return sentence % {"rest": f"{name}: {below}" if dot else name}
    return path


def _between(before: Any, after: Any, path: str) -> Iterator[Difference]:
    if _is_same(before, after):
        return
    if not isinstance(before, Mapping) or not isinstance(after, Mapping):
        yield Difference(path, before, after, _lines(before, after, path))
        return
    for name in dict.fromkeys([*after, *before]):
        yield from _between(before.get(name, MISSING), after.get(name, MISSING), f"{path}.{name}" if path else name)


def _order(before: list[str], after: list[str]) -> Iterator[Difference]:
    """Of the parameters that there are in both."""
    old, new = ([name for name in names if name in before and name in after] for names in (before, after))
    if old != new:
        yield Difference("parameters.properties", old, new, compared(old, new))


def _text(value: Any) -> str:
    if value is MISSING:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


# -- Line by line --------------------------------------------------------------------------------------------


def _lines(before: Any, after: Any, path: str) -> list[Line]:
    """Empty where both values fit into a row."""
    old, new = _as_lines(before, path), _as_lines(after, path)
    if len(old) <= 1 and len(new) <= 1 and max(map(len, [*old, *new, ""])) <= MOST_IN_ROW:
        return []
    return compared(old, new)


def _as_lines(value: Any, path: str) -> list[str]:
    if value is MISSING:
        return []
    if path == "template.command" and isinstance(value, list) and value[:2] == SHELL and len(value) == 3:
        value = value[2]
    if isinstance(value, str):
        return value.split("\n")
    if isinstance(value, list) and all(isinstance(item, str) and "\n" not in item for item in value):
        return value
    return documents.write(value, "yaml").rstrip("\n").split("\n") if isinstance(value, dict | list) else [_text(value)]


def compared(old: list[str], new: list[str]) -> list[Line]:
    """The changed lines with some around them."""
    found = [line for group in _groups(old, new) for line in group]
    if len(found) > MOST_SHOWN:
        left = len(found) - MOST_SHOWN
        found = [*found[:MOST_SHOWN], Line("skipped", _("%(count)s more lines") % {"count": left})]
    return found


def _groups(old: list[str], new: list[str]) -> Iterator[list[Line]]:
    """Each run of changes; what lies between is told by its length."""
    seen = 0
    for codes in _changes(old, new):
        first, last = codes[0][1], codes[-1][2]
        if first > seen:
            yield [Line("skipped", _("%(count)s lines as before") % {"count": first - seen})]
        seen = last
        for tag, i1, i2, j1, j2 in codes:
            if tag == "equal":
                yield [Line("same", text) for text in old[i1:i2]]
            else:
                yield [Line("removed", text) for text in old[i1:i2]] + [Line("added", text) for text in new[j1:j2]]
    if seen < len(old):
        yield [Line("skipped", _("%(count)s lines as before") % {"count": len(old) - seen})]


def _changes(old: list[str], new: list[str]) -> Iterable[list[Code]]:
    """difflib takes the square of the length, or worse: what is the same at both ends is not given to it."""
    head = _same(old, new)
    tail = _same(old[head:][::-1], new[head:][::-1])
    inner_old, inner_new = old[head : len(old) - tail], new[head : len(new) - tail]
    if max(len(inner_old), len(inner_new)) > MOST_COMPARED:
        codes = [("replace", 0, len(inner_old), 0, len(inner_new))]
    else:
        codes = list(difflib.SequenceMatcher(None, inner_old, inner_new, autojunk=False).get_opcodes())
    whole = [(tag, i1 + head, i2 + head, j1 + head, j2 + head) for tag, i1, i2, j1, j2 in codes]
    if head:
        whole.insert(0, ("equal", 0, head, 0, head))
    if tail:
        whole.append(("equal", len(old) - tail, len(old), len(new) - tail, len(new)))
    return _Compared(whole).get_grouped_opcodes(CONTEXT)


def _same(old: list[str], new: list[str]) -> int:
    """How many lines at the beginning are the same."""
    count = 0
    for one, other in zip(old, new, strict=False):
        if one != other:
            break
        count += 1
    return count


class _Compared(difflib.SequenceMatcher):  # type: ignore[type-arg]
    """A comparison that is done already, for get_grouped_opcodes."""

    def __init__(self, codes: list[Code]) -> None:
        super().__init__(None, [], [])
        self._codes = codes

    def get_opcodes(self) -> list[Any]:
        return self._codes


# -- Two people ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Merged:
    """`document` has what either has changed; at `both`, which both have changed to something else, it is mine."""

    document: dict[str, Any]
    both: list[str]


def merge(base: Wording, mine: Wording, theirs: Wording) -> Merged:
    both: list[str] = []
    return Merged(_merge(base.document(), mine.document(), theirs.document(), "", both), both)


def _merge(base: Any, mine: Any, theirs: Any, path: str, both: list[str]) -> Any:
    if not (isinstance(mine, Mapping) and isinstance(theirs, Mapping)):
        if _is_same(mine, base):
            return theirs
        if not _is_same(theirs, base) and not _is_same(theirs, mine):
            both.append(path)
        return mine
    known = base if isinstance(base, Mapping) else {}
    order = [*theirs, *mine] if list(mine) == list(known) else [*mine, *theirs]
    found = {}
    for name in dict.fromkeys(order):
        old, my, their = (one.get(name, MISSING) for one in (known, mine, theirs))
        value = _merge(old, my, their, f"{path}.{name}" if path else name, both)
        if value is not MISSING:
            found[name] = value
    return found


def _is_same(one: Any, other: Any) -> bool:
    return one is other or (MISSING not in (one, other) and same(one, other))
