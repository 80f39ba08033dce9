"""What a person reads of a log's bytes, and where it stands in them. The twin of static/js/log_text.js.

Escape sequences of terminals are not read, nor carriage returns at the end of a line. Other carriage returns part a line
into its states, of which the page shows the last.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

MOST_CHARACTERS = 2_000  # shown of a line
CHARACTERS_BEFORE = 200  # of them, in front of what was found

Span = tuple[int, int]  # from and to

ESCAPE = re.compile(
    rb"\x1b(?:\[[0-?]{0,256}+[ -/]{0,8}+[@-~]"  # CSI: colours, erasing, the cursor
    rb"|[\]PX^_][^\x07\x1b\n]{0,4096}+(?:\x07|\x1b\\)"  # OSC (titles, links), DCS, SOS, PM, APC
    rb"|[ -/]{0,8}+[0-Z\\`-~])"  # two-letter ones
)
LAST_RETURNS = re.compile(rb"(?<!\r)\r++(?=\n|\Z)")
CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ufeff]")
TURNING = re.compile("[\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]")  # log_text.js says why


@dataclass(frozen=True)
class Shown:
    """A line as text, cut to what stands around its first span; `spans` are characters of `text`.

    `is_last_state`: it is what a page shows of the line, and not something that a carriage return had overwritten.
    """

    text: str
    spans: list[Span]
    cut_before: int  # characters
    cut_after: int
    is_last_state: bool


def plain(data: bytes) -> bytes:
    """Whole lines without what is not read. It has as many line ends."""
    if b"\x1b" in data:
        data = ESCAPE.sub(b"", data)
    if b"\r" in data:
        data = LAST_RETURNS.sub(b"", data)
    return data


def raw_spans(line: bytes, spans: list[Span]) -> list[Span]:
    """Spans of plain(line) as spans of `line`."""
    if b"\x1b" not in line:
        return spans
    left_out = [match.span() for match in ESCAPE.finditer(line)]
    return [(_raw(left_out, start, is_end=False), _raw(left_out, end, is_end=start < end)) for start, end in spans]


def shown(line: bytes, spans: list[Span]) -> Shown:
    """`line` is plain and without its line end, `spans` are in order and of its bytes."""
    start, end = _state(line, spans[0][0] if spans else len(line))
    if not spans:
        while start and not _read(line[start:end]):  # nothing was written over it
            start, end = _state(line, start - 1)
    state = line[start:end]
    parts, place = list[tuple[str, bool]](), 0
    for span in spans:
        from_, to = max(span[0] - start, place), min(span[1] - start, len(state))
        if from_ <= to and (from_ < to or span[0] == span[1]):
            parts += [(_read(state[place:from_]), False), (_read(state[from_:to]), True)]
            place = to
    parts.append((_read(state[place:]), False))
    return _cut(parts, is_last_state=not _read(line[end:]))


def _state(line: bytes, place: int) -> Span:
    """Of the state at this place."""
    end = line.find(b"\r", place)
    return line.rfind(b"\r", 0, place) + 1, end if end >= 0 else len(line)


def _cut(parts: list[tuple[str, bool]], *, is_last_state: bool) -> Shown:
    text = "".join(part for part, _is_span in parts)
    skipped = max(0, min(len(parts[0][0]) - CHARACTERS_BEFORE, len(text) - MOST_CHARACTERS)) if len(parts) > 1 else 0
    spans, place = list[Span](), -skipped
    for part, is_span in parts:
        if is_span and place < MOST_CHARACTERS:
            spans.append((place, min(place + len(part), MOST_CHARACTERS)))
        place += len(part)
    return Shown(
        text=text[skipped : skipped + MOST_CHARACTERS],
        spans=spans,
        cut_before=skipped,
        cut_after=max(0, len(text) - skipped - MOST_CHARACTERS),
        is_last_state=is_last_state,
    )


def _read(data: bytes) -> str:
    text = data.decode("utf-8", "replace")
    return text if text.isprintable() else TURNING.sub("\ufffd", CONTROLS.sub("", text))


def _raw(left_out: list[Span], place: int, *, is_end: bool) -> int:
    """Where the byte stands that is at `place` of the plain line; the end of a span stays before a sequence that follows it."""
    for start, end in left_out:
        if start > place or (is_end and start == place):
            break
        place += end - start
    return place
