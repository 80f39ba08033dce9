"""What is looked for in a log: a text, a regular expression, or whatever tells of an error.

Expressions are RE2's, which takes time linear in the text, whatever the expression: the worst that was found takes 4 ns a
byte and instruction. So those are bounded, and what is searched without a pause is the shorter the more of them there are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import re2
from django.db import models
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from monitoring.log_text import Span
from projects.errors import Invalid

MOST_CHARACTERS = 1_000
MOST_MEMORY = 4 * 1024 * 1024  # bytes, of a compiled expression and what it remembers
MOST_INSTRUCTIONS = 10_000
MOST_SPANS = 100  # told of a line
BLOCK_BYTES = 256 * 1024  # searched without a pause
LINE_BYTES = 2 * 1024 * 1024  # of a longer line, which is searched in parts
LINE_ALONE = re.compile(r"\\[AzC]|\(\?\w*-")  # what would tell a line of a block from that line alone


class Mode(models.TextChoices):
    PLAIN = "plain", gettext_lazy("text")
    REGEX = "regex", gettext_lazy("regular expression")
    ERRORS = "errors", gettext_lazy("errors")


# What tells of an error, by any program: this set is kept (tests/monitoring/test_log_patterns.py has a line for each).
ERRORS = (
    r"Traceback \(most recent call last\)",
    r"\b(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Interrupt)\b\s*(?::|$)",  # Python's and Java's
    r"\bError:",
    r"(?:^|: )(?i:(?:fatal )?error(?:\[\w+\])?|fatal|panic):",  # compilers, git, Go, Rust
    r"\b(?:ERROR|FATAL|CRITICAL|PANIC)\b",  # levels of loggers
    r"^F\d{4} \d\d:\d\d:\d\d",  # glog's fatal; its E is too common at TensorFlow's start
    r"\bFAILED\b",
    r"\b(?:RESOURCE_EXHAUSTED|DEADLINE_EXCEEDED|UNAVAILABLE|INTERNAL|ABORTED|DATA_LOSS):",  # of gRPC and XLA
    r"\bOOM\b|(?i:out of memory|cannot allocate memory)|\bstd::bad_alloc\b",
    r"^(?:.*: line \d+:\s+\d+ )?Killed\b|\bKilled process \d+",
    r"(?i:segmentation fault|core dumped|bus error)|\bSIG(?:SEGV|ABRT|BUS|ILL|KILL)\b|^Fatal Python error\b",
    r"(?i:command not found|no such file or directory|permission denied|no space left on device)$",
)
# Left out of a line before it is taken for one of an error: what counts none of them, and measures.
HARMLESS = (
    r"(?i)\b(?:0|no|zero|without) (?:[\w-]+ )?(?:errors?|exceptions?|fatal|critical|failed|failures?|oom)\b"
    r"|\b(?:errors?|fatal|critical|failed|failures?|oom)[\"']?\s*[:=]\s*(?:[-+]?(?:\d*\.\d+(?:e[-+]?\d+)?|0+|nan|inf)\b|none\b|null\b|false\b)"
)


class Matcher:
    """Finds lines. `block_bytes` is how much it is given at once, `line_bytes` how much of one line."""

    block_bytes = BLOCK_BYTES
    line_bytes = LINE_BYTES

    def hits(self, data: bytes) -> Iterator[int]:
        """For each line of `data` that matches, in order, a place in it."""
        raise NotImplementedError

    def all_spans(self, line: bytes) -> Iterator[Span]:
        """What matches in one line, which has no line end."""
        raise NotImplementedError

    def spans(self, line: bytes) -> list[Span]:
        return list(islice(self.all_spans(line), MOST_SPANS))


@dataclass(frozen=True)
class Pattern:
    """What is asked for, as it stands in a request."""

    text: str
    mode: Mode = Mode.PLAIN
    has_case: bool = False  # capitals are others than small letters

    def __str__(self) -> str:
        return f"{self.mode} {self.has_case} {self.text}"

    def matcher(self) -> Matcher:
        """Raises Invalid at q."""
        if self.mode == Mode.ERRORS:
            return _Errors()
        if not self.text:
            raise Invalid({"q": _("say what to look for")})
        if len(self.text) > MOST_CHARACTERS:
            raise Invalid({"q": _("at most %(most)s characters") % {"most": MOST_CHARACTERS}})
        if "\n" in self.text:
            raise Invalid({"q": _("a search is within a line: it cannot hold a line end")})
        if self.mode == Mode.PLAIN:
            return _Text(self.text.encode(), has_case=self.has_case)
        _compiled(self.text.encode(), has_case=self.has_case)  # without our flag: RE2's words are of what was asked for
        if LINE_ALONE.search(self.text):
            return _ByLine(self.text.encode(), has_case=self.has_case)
        return _Expression(self.text.encode(), has_case=self.has_case)


class _Expression(Matcher):
    """Of whole blocks: no match reaches over a line end, and ^ and $ mean the line's."""

    def __init__(self, expression: bytes, *, has_case: bool) -> None:
        self._found = _compiled(b"(?m)" + expression, has_case=has_case)
        size = max(self._found.programsize, self._found.reverseprogramsize, 1)
        self.block_bytes = max(16 * 1024, min(BLOCK_BYTES, 30_000_000 // size))
        self.line_bytes = max(64 * 1024, min(LINE_BYTES, LINE_BYTES * 500 // size))

    def hits(self, data: bytes) -> Iterator[int]:
        end, place = len(data) - data.endswith(b"\n"), 0  # after the last line end there is no line
        while place <= end and (match := self._found.search(data, place, end)):
            yield match.start()
            place = data.find(b"\n", match.start()) + 1
            if not place:
                return

    def all_spans(self, line: bytes) -> Iterator[Span]:
        return (match.span() for match in self._found.finditer(line))


class _ByLine(_Expression):
    r"""Of each line alone: \A and \z mean the text's ends, \C takes a line end too, and a flag may undo what `hits` needs."""

    def hits(self, data: bytes) -> Iterator[int]:
        place = 0
        while place < len(data):
            end = data.find(b"\n", place)
            end = len(data) if end < 0 else end
            if self._found.search(data[place:end]):
                yield place
            place = end + 1


class _Text(_Expression):
    """Bytes that are looked for as they stand are found faster without RE2 where many lines have them."""

    def __init__(self, text: bytes, *, has_case: bool) -> None:
        super().__init__(re2.escape(text), has_case=has_case)
        self._text = text if has_case else text.lower()
        self._has_case = has_case

    def hits(self, data: bytes) -> Iterator[int]:
        if not self._has_case:
            if not (self._text.isascii() and data.isascii()):
                yield from super().hits(data)
                return
            data = data.lower()
        place = data.find(self._text)
        while place >= 0:
            yield place
            end = data.find(b"\n", place)
            if end < 0:
                return
            place = data.find(self._text, end + 1)


class _Errors(_Expression):
    """A line that still tells of an error when what is harmless in it is left out."""

    def __init__(self) -> None:
        super().__init__("|".join(f"(?:{one})" for one in ERRORS).encode(), has_case=True)
        self._harmless = _compiled(HARMLESS.encode(), has_case=True)

    def hits(self, data: bytes) -> Iterator[int]:
        for place in super().hits(data):
            end = data.find(b"\n", place)
            if self.spans(data[data.rfind(b"\n", 0, place) + 1 : end if end >= 0 else len(data)]):
                yield place

    def all_spans(self, line: bytes) -> Iterator[Span]:
        masked = bytearray(line)
        for match in self._harmless.finditer(line):
            masked[match.start() : match.end()] = b" " * (match.end() - match.start())
        return super().all_spans(bytes(masked))


def _compiled(expression: bytes, *, has_case: bool) -> Any:
    """Raises Invalid with RE2's words."""
    options = re2.Options()
    options.case_sensitive = has_case
    options.never_capture = True  # which groups matched is not asked for: the way of RE2 that is always fast
    options.never_nl = True
    options.log_errors = False
    options.max_mem = MOST_MEMORY
    try:
        found = re2.compile(expression, options=options)
    except re2.error as error:
        raise Invalid({"q": _words(error)}) from None
    finally:
        re2.purge()  # else the last 128 stay in memory, whoever asked
    if max(found.programsize, found.reverseprogramsize) > MOST_INSTRUCTIONS:
        raise Invalid({"q": _("the expression is too large; its repetitions may be less")})
    return found


def _words(error: Exception) -> str:
    words = error.args[0] if error.args else ""
    return words.decode("utf-8", "replace") if isinstance(words, bytes) else str(words)
