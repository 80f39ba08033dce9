"""Searching a log: the lines that match, from anywhere on, oldest or newest first, with a count of them.

One answer takes as long as its time and its limit let it, and says where the next one goes on. Sealed segments and open
pieces are one sequence, the line that is being written is a line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from monitoring import lines, log_blocks, log_context, log_text
from monitoring.log_blocks import Block, Place, Sizes
from monitoring.log_context import Line
from monitoring.log_patterns import Matcher
from monitoring.log_text import Span
from monitoring.models import Log


@dataclass(frozen=True)
class Hit(Line):
    """`end` is where the next line begins; `spans` are bytes from `offset` on, those of `shown` characters of its text."""

    end: int
    spans: list[Span]
    before: list[Line]
    after: list[Line]


@dataclass(frozen=True)
class Range:
    """Lines that begin from `start` on and before `end`, in the order in which they are asked for."""

    start: int
    end: int
    is_upwards: bool = False


@dataclass(frozen=True)
class Start:
    """Where an answer begins: a place, and the lines that were counted on the way to it."""

    place: Place
    count: int = 0
    is_counted: bool = False  # the line that the place is within


@dataclass
class Found:
    """`next` is where the search goes on; None: it has reached the end of what was asked for.

    `resume`: of a log that may still grow, where one goes on later, before the line that is being written now. `reached`: the
    offset to which it came.
    """

    hits: list[Hit] = field(default_factory=list)
    count: int = 0
    next: Start | None = None
    resume: Start | None = None
    reached: int = 0


def range_of(log: Log, *, start: int | None, until: int | None, is_upwards: bool) -> Range:
    """Downwards from the line that holds byte `start` to the last that begins before `until`; upwards from the last line that
    begins before `start` to the first that begins at `until` or later. None: from end to end."""
    head = log.head_offset
    if is_upwards:
        top = log_blocks.next_line(log, min(until, head)).offset if until else 0
        bottom = head if start is None else log_blocks.next_line(log, min(start, head)).offset
    else:
        top = log_blocks.line_at(log, min(start, head)).offset if start else 0
        bottom = head if until is None else log_blocks.next_line(log, min(until, head)).offset
    return Range(top, max(top, bottom), is_upwards)


def beginning(log: Log, asked: Range) -> Start:
    if not asked.is_upwards:
        return Start(log_blocks.line_at(log, asked.start))
    return Start(Place(asked.end, lines.line_at(log, asked.end), asked.end))


def search(
    log: Log, matcher: Matcher, asked: Range, start: Start, *, limit: int, context: int, is_over: Callable[[], bool]
) -> Found:
    """At most `limit` hits from `start` on, each with `context` lines around it; with a limit of 0 lines are counted only.

    However soon it is over, it has come further. Raises Gone where the store has lost bytes.
    """
    found = Found(count=start.count, next=start, reached=start.place.offset)
    counted = start.place.line_start if start.is_counted else -1  # the long line that has matched, by where it begins
    block: Block | None = None
    for block in _blocks(log, asked, start.place, Sizes(matcher.block_bytes, matcher.line_bytes)):
        rest = block.rest
        if not (block.is_part and block.line_start == counted):
            before = found.count
            for line in _matching(block, matcher, asked) if limit else ():
                found.hits.append(_hit(log, block, matcher, line, context))
                found.count += 1
                if len(found.hits) == limit:
                    rest = rest if block.is_part else _behind(block, line, asked)
                    break
            if not limit:
                found.count += sum(1 for _place in matcher.hits(log_text.plain(block.data)))
            if block.is_part and found.count > before:
                counted = block.line_start
        found.reached = rest.offset
        found.next = Start(rest, found.count, rest.is_within_line and rest.line_start == counted)
        if (limit and len(found.hits) == limit) or is_over():
            break
    if found.next and _is_at_end(found.next.place, asked):
        found.next = None
        if not asked.is_upwards and asked.end == log.head_offset and not log.is_complete:
            found.resume = _resume(start, found.count, block, matcher, counted)
    return found


def matching_lines(
    log: Log, matcher: Matcher, asked: Range, start: Start, *, most_bytes: int, is_over: Callable[[], bool]
) -> tuple[bytes, Start | None]:
    """The lines themselves, as they were printed, and where to go on. Of a line that comes in parts those that match."""
    lines_found, place = bytearray(), start.place
    for block in _blocks(log, asked, place, Sizes(matcher.block_bytes, matcher.line_bytes)):
        for line in _matching(block, matcher, asked):
            lines_found += block.data[line.start : line.end]
            if not lines_found.endswith(b"\n"):
                lines_found += b"\n"
        place = block.rest
        if len(lines_found) >= most_bytes or is_over():
            break
    return bytes(lines_found), None if _is_at_end(place, asked) else Start(place)


def _blocks(log: Log, asked: Range, place: Place, sizes: Sizes) -> Iterator[Block]:
    if asked.is_upwards:
        return log_blocks.upwards(log, place, asked.start, sizes)
    return log_blocks.downwards(log, place, asked.end, sizes)


def _is_at_end(place: Place, asked: Range) -> bool:
    return place.offset <= asked.start if asked.is_upwards else place.offset >= asked.end


@dataclass(frozen=True)
class _Found:
    """A line in a block: its number, and where in the block's data it begins and ends, its line end included."""

    number: int
    start: int
    end: int


def _matching(block: Block, matcher: Matcher, asked: Range) -> Iterator[_Found]:
    text = log_text.plain(block.data)
    places = matcher.hits(text)
    if asked.is_upwards:
        return reversed(list(_lines(block, text, places)))
    return _lines(block, text, places)


def _lines(block: Block, text: bytes, places: Iterator[int]) -> Iterator[_Found]:
    """Of places in `text`, which is block.data as it is read: the two have the same lines."""
    number, seen, start = block.line, 0, 0
    for place in places:
        line_start = text.rfind(b"\n", 0, place) + 1
        further = text.count(b"\n", seen, line_start)
        if text is block.data:
            start = line_start
        else:
            for _ in range(further):
                start = block.data.find(b"\n", start) + 1
        number, seen = number + further, line_start
        yield _Found(number, start, block.data.find(b"\n", start) + 1 or len(block.data))


def _behind(block: Block, line: _Found, asked: Range) -> Place:
    """Where one goes on after a line of whole ones."""
    if asked.is_upwards:
        offset = block.offset + line.start
        return Place(offset, line.number, offset)
    offset = block.offset + line.end
    return Place(offset, line.number + block.data.endswith(b"\n", line.start, line.end), offset)


def _hit(log: Log, block: Block, matcher: Matcher, line: _Found, context: int) -> Hit:
    raw = block.data[line.start : line.end].removesuffix(b"\n")
    text = log_text.plain(raw)
    spans = matcher.spans(text)
    offset, before, after = block.offset + line.start, block.data[: line.start], block.data[line.end :]
    skipped, end = 0, block.offset + line.end
    if block.is_part:
        skipped, offset, before, after = offset - block.line_start, block.line_start, b"", b""
        end = log_blocks.next_line(log, offset + 1).offset
    return Hit(
        number=line.number,
        offset=offset,
        end=end,
        shown=log_text.shown(text, spans),
        spans=[(skipped + start, skipped + to) for start, to in log_text.raw_spans(raw, spans)],
        before=log_context.before(log, before, offset, line.number, context),
        after=log_context.after(log, after, end, line.number, context),
    )


def _resume(start: Start, count: int, block: Block | None, matcher: Matcher, counted: int) -> Start:
    """Before the line that is being written, which `count` may count."""
    if block is None:
        return start
    if block.is_part:
        return Start(Place(block.line_start, block.line, block.line_start), count - (block.line_start == counted))
    cut = block.data.rfind(b"\n") + 1
    is_open_counted = any(True for _place in matcher.hits(log_text.plain(block.data[cut:])))
    offset = block.offset + cut
    return Start(Place(offset, block.line + block.data.count(b"\n"), offset), count - is_open_counted)
