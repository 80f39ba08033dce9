"""A log in blocks of whole lines, from any line on, downwards or upwards: what a search goes through.

A line longer than `line_bytes` comes in parts, each a block of its own, which begin where they do whichever way one goes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from monitoring import lines, logs
from monitoring.models import Log

WINDOW_BYTES = 4 * 1024 * 1024  # read at once; more than any line that comes whole


@dataclass(frozen=True)
class Place:
    """Before the line `line`, from 0, or within it: between two parts of a long one, which began at `line_start`."""

    offset: int
    line: int
    line_start: int

    @property
    def is_within_line(self) -> bool:
        return self.line_start < self.offset


@dataclass(frozen=True)
class Block:
    """`line` is the number of its first line, which began at `line_start`; `rest` is where one goes on after it."""

    offset: int
    line: int
    data: bytes
    line_start: int
    is_part: bool
    rest: Place


@dataclass(frozen=True)
class Sizes:
    """How large a block should be, and how large it may be for the sake of one line: less than a window."""

    block_bytes: int
    line_bytes: int


def line_at(log: Log, offset: int) -> Place:
    """Before the line that the byte at `offset` belongs to."""
    line = lines.line_at(log, offset)
    start = min(lines.offset_of_line(log, line), offset)
    return Place(start, line, start)


def next_line(log: Log, offset: int) -> Place:
    """Before the first line that begins at `offset` or later; the head when there is none."""
    place = line_at(log, offset)
    if place.offset == offset:
        return place
    end = lines.offset_of_line(log, place.line + 1)
    return Place(end, lines.line_at(log, end), end)


def downwards(log: Log, place: Place, end: int, sizes: Sizes) -> Iterator[Block]:
    """From `place` to `end`, where a line begins or the log has its head."""
    while place.offset < end:
        data = logs.read(log, place.offset, min(WINDOW_BYTES, end - place.offset))
        if not data:
            return
        is_last, at = place.offset + len(data) >= end, 0
        while at < len(data) and (size := _first(data, at, place, sizes, is_last=is_last)):
            block = _block_down(data[at : at + size], place, sizes)
            yield block
            at, place = at + size, block.rest


def upwards(log: Log, place: Place, floor: int, sizes: Sizes) -> Iterator[Block]:
    """From `place` back to `floor`, where a line begins."""
    while place.offset > floor:
        if place.is_within_line:
            for block in _parts_up(log, place, sizes):
                yield block
                place = block.rest
            continue
        start = max(floor, place.offset - WINDOW_BYTES)
        data = logs.read(log, start, place.offset - start)
        cut, end = (0 if start == floor else data.find(b"\n", 0, len(data) - 1) + 1), len(data)
        if start > floor and not cut:  # it is longer than the window
            place = _end_of(line_at(log, place.offset - 1), place.offset)
        while end > cut and not place.is_within_line:
            at = _last(data, cut, end, sizes)
            if end - at > sizes.line_bytes:
                first = Place(start + at, place.line - data.endswith(b"\n", at, end), start + at)
                place = _end_of(first, place.offset)
                break
            piece = data[at:end]
            place = Place(start + at, place.line - piece.count(b"\n"), start + at)
            yield Block(place.offset, place.line, piece, place.offset, is_part=False, rest=place)
            end = at


def _first(data: bytes, at: int, place: Place, sizes: Sizes, *, is_last: bool) -> int:
    """How many bytes the block that begins at data[at] has: whole lines, else one line, else a part. 0: its end is not here."""
    if not place.is_within_line and (end := data.rfind(b"\n", at, at + sizes.block_bytes) + 1):
        return end - at
    if end := data.find(b"\n", at, at + sizes.line_bytes) + 1:
        return end - at
    left = min(len(data) - at, sizes.line_bytes)
    return left if left == sizes.line_bytes or is_last else 0


def _block_down(piece: bytes, place: Place, sizes: Sizes) -> Block:
    is_part = place.is_within_line or (len(piece) == sizes.line_bytes and not piece.endswith(b"\n"))
    end = place.offset + len(piece)
    rest = Place(end, place.line + piece.count(b"\n"), end if piece.endswith(b"\n") else place.line_start)
    return Block(place.offset, place.line, piece, place.line_start, is_part, rest)


def _last(data: bytes, cut: int, end: int, sizes: Sizes) -> int:
    """Where the last block of data[cut:end] begins: as many whole lines as it may have, or one that is longer."""
    least = end - sizes.block_bytes
    if least <= cut:
        return cut
    return data.find(b"\n", least - 1, end - 1) + 1 or max(data.rfind(b"\n", cut, least) + 1, cut)


def _end_of(line: Place, end: int) -> Place:
    """Behind a long line, which is to come in parts."""
    return Place(end, line.line, line.offset)


def _parts_up(log: Log, place: Place, sizes: Sizes) -> Iterator[Block]:
    start, end = place.line_start, place.offset
    while end > start:
        at = start + (end - start - 1) // sizes.line_bytes * sizes.line_bytes
        data = logs.read(log, at, end - at)
        yield Block(at, place.line, data, start, is_part=True, rest=Place(at, place.line, start))
        end = at
