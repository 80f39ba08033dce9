"""How points are kept in a chunk: an open one as plain records, a full one as compressed columns. Pure, no database.

A point is (step, Unix milliseconds, value); values are doubles, NaN and infinities included.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

CHUNK_POINTS = 4096
RECORD_BYTES = 24
LEVEL = 3  # of zstd


@dataclass(frozen=True)
class Columns:
    """Points as three equally long columns."""

    steps: Sequence[int]
    walls: Sequence[int]
    values: Sequence[float]

    def __len__(self) -> int:
        return len(self.steps)

    def __getitem__(self, part: slice) -> Columns:
        return Columns(self.steps[part], self.walls[part], self.values[part])

    def plus(self, other: Columns) -> Columns:
        return Columns([*self.steps, *other.steps], [*self.walls, *other.walls], [*self.values, *other.values])


EMPTY = Columns((), (), ())


def open_bytes(points: Columns) -> bytes:
    """Plain columns one after the other, little-endian: what grows is written again and again."""
    return _bytes(array("q", points.steps)) + _bytes(array("q", points.walls)) + _bytes(array("d", points.values))


def packed_bytes(points: Columns) -> bytes:
    """Steps and times as differences, then all of it compressed: about 9 bytes a point."""
    from zstandard import ZstdCompressor

    steps, walls = array("q", _differences(points.steps)), array("q", _differences(points.walls))
    return ZstdCompressor(level=LEVEL).compress(_planes(steps) + _planes(walls) + _bytes(array("d", points.values)))


def read_open(data: bytes) -> Columns:
    count = len(data) // RECORD_BYTES
    return Columns(_array("q", data[: 8 * count]), _array("q", data[8 * count : 16 * count]), _array("d", data[16 * count :]))


def read_packed(data: bytes) -> Columns:
    from zstandard import ZstdDecompressor

    plain = ZstdDecompressor().decompress(data)
    count = len(plain) // RECORD_BYTES
    steps, walls = _sums(_unplaned(plain[: 8 * count])), _sums(_unplaned(plain[8 * count : 16 * count]))
    return Columns(steps, walls, _array("d", plain[16 * count :]))


def _sums(differences: array[int]) -> array[int]:
    try:
        return array("q", accumulate(differences))
    except OverflowError:  # two far steps
        return array("q", accumulate(differences, _wrapped_sum))


def _differences(numbers: Sequence[int]) -> Iterable[int]:
    yield from numbers[:1]
    for before, after in pairwise(numbers):
        yield _wrapped_sum(after, -before)


def _wrapped_sum(one: int, other: int) -> int:
    """The sum modulo 2^64 as a signed number: two far steps differ by more than 64 bits hold, and still come back exactly."""
    return (one + other + 2**63) % 2**64 - 2**63


def _planes(numbers: array[int]) -> bytes:
    """All first bytes, then all second bytes ...: the many zeros of small numbers stand together."""
    data = _bytes(numbers)
    return b"".join(data[plane::8] for plane in range(8))


def _unplaned(planes: bytes) -> array[int]:
    count = len(planes) // 8
    data = bytearray(len(planes))
    for plane in range(8):
        data[plane::8] = planes[plane * count : (plane + 1) * count]
    return _array("q", bytes(data))


def _bytes(numbers: array) -> bytes:
    if sys.byteorder == "big":
        numbers = numbers[:]
        numbers.byteswap()
    return numbers.tobytes()


def _array(kind: str, data: bytes) -> array:
    numbers = array(kind)
    numbers.frombytes(data)
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers
