"""Scalars from TensorBoard event files, without TensorBoard: a host need not have it.

The format: TFRecord (tensorflow/core/lib/io/record_writer.h) of Event messages (tensorflow/core/util/event.proto). Only
the fields that a scalar needs are read. Held to the real writer by tests/agent/test_event_files.py.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

HEAD = struct.Struct("<QI")  # length of the record, masked CRC of these 8 bytes
CRC_BYTES = 4
MOST_RECORD_BYTES = 256 * 1024 * 1024
VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5  # wire types
FLOAT, DOUBLE, INT32, INT64, BFLOAT16, HALF = 1, 2, 3, 9, 14, 19  # tensorflow/core/framework/types.proto
CONTENT = {FLOAT: "<f", DOUBLE: "<d", INT32: "<i", INT64: "<q", HALF: "<e"}

Field = tuple[int, int, int | bytes]


class BadFile(ValueError):
    """What stands there is no event file, or was cut and written over."""


@dataclass(frozen=True)
class Scalar:
    tag: str
    step: int
    wall_s: float  # Unix time, as it stands there: it may be no time at all
    value: float


def read(data: bytes) -> tuple[list[Scalar], int]:
    """(scalars of the whole records in `data`, bytes that they take). What follows is half a record: it comes again.

    `data` begins at a record; one that is no event is passed over. Raises BadFile.
    """
    found: list[Scalar] = []
    place = 0
    while len(data) - place >= HEAD.size:
        length, crc = HEAD.unpack_from(data, place)
        if length > MOST_RECORD_BYTES or crc != _masked_crc(data[place : place + 8]):
            raise BadFile(f"no record at {place}")
        end = place + HEAD.size + length + CRC_BYTES
        if end > len(data):
            break
        with suppress(struct.error, ValueError, OverflowError):  # fields of other types or widths than events have
            found += _scalars(data[place + HEAD.size : end - CRC_BYTES])
        place = end
    return found, place


def _scalars(event: bytes) -> Iterator[Scalar]:
    wall_s, step, summary = 0.0, 0, b""
    for number, _kind, value in _fields(event):
        if number == 1 and isinstance(value, bytes):
            (wall_s,) = struct.unpack("<d", value)
        elif number == 2 and isinstance(value, int):
            step = value - 2**64 if value >= 2**63 else value
        elif number == 5 and isinstance(value, bytes):
            summary = value
    for number, _kind, value in _fields(summary):
        if number == 1 and isinstance(value, bytes):
            tag, number_found = _value(value)
            if tag and number_found is not None:
                yield Scalar(tag, step, wall_s, number_found)


def _value(message: bytes) -> tuple[str, float | None]:
    tag, found = "", None
    for number, kind, value in _fields(message):
        if number == 1 and isinstance(value, bytes):
            tag = value.decode("utf-8", "replace")
        elif number == 2 and kind == FIXED32 and isinstance(value, bytes):
            (found,) = struct.unpack("<f", value)
        elif number == 8 and isinstance(value, bytes):
            found = _tensor(value)
    return tag, found


def _tensor(message: bytes) -> float | None:
    """The number of a tensor without dimensions; None for any other. TF 2 and Keras write scalars so."""
    dtype, content = 0, b""
    numbers: list[float] = []
    for number, kind, value in _fields(message):
        if number == 1 and isinstance(value, int):
            dtype = value
        elif number == 2 and isinstance(value, bytes) and any(field == 2 for field, _, _ in _fields(value)):
            return None  # it has dimensions
        elif number == 4 and isinstance(value, bytes):
            content = value
        elif number in (5, 6, 7, 10, 13):
            numbers += _repeated(number, kind, value)
    if content and dtype in CONTENT and len(content) == struct.calcsize(CONTENT[dtype]):
        return float(struct.unpack(CONTENT[dtype], content)[0])
    if content and dtype == BFLOAT16 and len(content) == 2:
        return float(struct.unpack("<f", b"\0\0" + content)[0])
    if numbers and dtype in (HALF, BFLOAT16):  # bits of 16 in an integer field
        bits = struct.pack("<H", int(numbers[0]))
        return float(struct.unpack("<e", bits)[0] if dtype == HALF else struct.unpack("<f", b"\0\0" + bits)[0])
    if numbers:
        return numbers[0]
    return 0.0 if dtype in (*CONTENT, BFLOAT16) and not content else None  # zero is not written


def _repeated(number: int, kind: int, value: int | bytes) -> list[float]:
    """float_val, double_val, int_val, int64_val, half_val: packed or one by one."""
    if isinstance(value, int):
        return [float(value - 2**64 if value >= 2**63 else value)]
    width = {5: "f", 6: "d"}.get(number)
    if width is not None:
        return list(struct.unpack(f"<{len(value) // struct.calcsize(width)}{width}", value))
    found, place = [], 0
    while kind == BYTES and place < len(value):
        one, place = _varint(value, place)
        found.append(float(one - 2**64 if one >= 2**63 else one))
    return found


def _fields(message: bytes) -> Iterator[Field]:
    """(number, wire type, value) of each field: an int for a varint, else the bytes. Raises BadFile."""
    place = 0
    while place < len(message):
        key, place = _varint(message, place)
        number, kind = key >> 3, key & 7
        if kind == VARINT:
            value, place = _varint(message, place)
            yield number, kind, value
            continue
        if kind == BYTES:
            size, place = _varint(message, place)
        elif kind in (FIXED64, FIXED32):
            size = 8 if kind == FIXED64 else 4
        else:
            raise BadFile(f"unknown wire type {kind}")
        if place + size > len(message):
            raise BadFile("a field is longer than its message")
        yield number, kind, message[place : place + size]
        place += size


def _varint(message: bytes, place: int) -> tuple[int, int]:
    value = shift = 0
    while place < len(message):
        byte = message[place]
        place += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, place
        shift += 7
        if shift > 63:
            break
    raise BadFile("a number does not end")


def _crc_table() -> list[int]:
    table = []
    for number in range(256):
        for _ in range(8):
            number = (number >> 1) ^ (0x82F63B78 if number & 1 else 0)  # noqa: PLW2901  Castagnoli's polynomial, reversed
        table.append(number)
    return table


_TABLE = _crc_table()


def _masked_crc(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in data:
        crc = _TABLE[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    crc ^= 0xFFFFFFFF
    return (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF
