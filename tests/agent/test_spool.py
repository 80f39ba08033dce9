from __future__ import annotations

import errno
import os
import struct
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent import spool_writer
from agent.protocol import Gap
from agent.spool import SPOOL_FILE_BYTES, SpoolReader, SpoolWriter

NO_CAP = 1 << 40


class Clock:
    """Wall time 1,000,000 ms ahead of the monotonic one; moves when told."""

    def __init__(self) -> None:
        self.ms = 0

    def __call__(self) -> tuple[int, int]:
        return 1_000_000 + self.ms, self.ms


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def full_disk(monkeypatch):
    """A disk with `full_disk["free"]` bytes left for data; None is a disk with room. Records always fit."""
    disk: dict[str, int | None] = {"free": None}
    write = os.write

    def limited(descriptor: int, data: bytes) -> int:
        if disk["free"] is None or Path(f"/proc/self/fd/{descriptor}").readlink().suffix != ".log":
            return write(descriptor, data)
        if not disk["free"]:
            raise OSError(errno.ENOSPC, "No space left on device")
        written = write(descriptor, data[: disk["free"]])
        disk["free"] -= written
        return written

    monkeypatch.setattr(spool_writer.os, "write", limited)
    return disk


def test_a_spool_that_is_not_there_yet_is_empty(tmp_path):
    reader = SpoolReader(tmp_path / "output")
    assert (reader.start(), reader.end(), reader.read(0, 10)) == (0, 0, b"")
    assert (reader.times(0, 10), reader.gaps(0, 10)) == ((), ())


def test_files_roll_at_4_mib_and_read_as_one(tmp_path):
    data = os.urandom(SPOOL_FILE_BYTES + 1000)
    writer = SpoolWriter(tmp_path, cap_bytes=NO_CAP)
    writer.write(data)
    assert writer.offset == len(data)
    assert sorted(path.name for path in tmp_path.glob("*.log")) == ["0000000000000000.log", "0000000004194304.log"]
    assert (tmp_path / "0000000000000000.log").stat().st_size == SPOOL_FILE_BYTES
    assert SpoolReader(tmp_path).read(SPOOL_FILE_BYTES - 10, 20) == data[SPOOL_FILE_BYTES - 10 :][:20]
    assert SpoolReader(tmp_path).read(0, len(data) + 1) == data


def test_marks_come_at_most_each_50_ms_and_lead_with_the_time_of_the_first_byte(tmp_path, clock):
    writer = SpoolWriter(tmp_path, cap_bytes=NO_CAP, clock=clock)
    for clock.ms in (0, 20, 49, 50, 70, 130):
        writer.write(b"line\n")
    reader = SpoolReader(tmp_path)
    assert reader.times(0, 30) == ((0, 1_000_000), (15, 1_000_050), (25, 1_000_130))
    assert reader.times(7, 25) == ((7, 1_000_000), (15, 1_000_050))
    assert reader.times(15, 16) == ((15, 1_000_050),)
    assert reader.times(28, 30) == ((28, 1_000_130),)
    assert reader.times(5, 5) == ()
    assert (tmp_path / "index").read_bytes()[40:80] == struct.pack("<c7xQqqq", b"T", 15, 1_000_050, 50, 0)


def test_beyond_the_cap_the_newest_is_dropped_and_counted_once(tmp_path, clock):
    writer = SpoolWriter(tmp_path, cap_bytes=100, clock=clock)
    for clock.ms in (0, 1, 2):
        writer.write(b"x" * 70)
    assert (writer.offset, SpoolReader(tmp_path).gaps(0, NO_CAP)) == (100, ())
    assert writer.close() is True
    assert SpoolReader(tmp_path).gaps(0, NO_CAP) == (Gap(100, 110, 1_000_001, 1_000_002),)


def test_room_made_by_the_reader_ends_the_gap(tmp_path, clock):
    writer = SpoolWriter(tmp_path, cap_bytes=100, clock=clock, file_bytes=40)
    reader = SpoolReader(tmp_path)
    writer.write(b"a" * 130)
    reader.drop_before(79)
    assert (reader.start(), reader.end()) == (40, 100)
    clock.ms = 60
    writer.write(b"b" * 50)
    writer.close()
    assert reader.read(40, 999) == b"a" * 60 + b"b" * 40
    assert reader.gaps(0, NO_CAP) == (Gap(100, 30, 1_000_000, 1_000_000), Gap(140, 10, 1_000_060, 1_000_060))
    assert reader.gaps(101, 139) == ()
    assert reader.gaps(100, 100) == (Gap(100, 30, 1_000_000, 1_000_000),)


def test_the_last_file_stays_and_below_the_start_is_an_error(tmp_path):
    writer = SpoolWriter(tmp_path, cap_bytes=NO_CAP, file_bytes=10)
    writer.write(b"0123456789" * 3)
    reader = SpoolReader(tmp_path)
    reader.drop_before(10_000)
    assert (reader.start(), reader.end(), reader.read(20, 99)) == (20, 30, b"0123456789")
    with pytest.raises(LookupError, match="offset 19 was dropped"):
        reader.read(19, 1)
    writer.write(b"abc")
    assert reader.read(25, 99) == b"56789abc"


def test_a_full_disk_takes_what_fits_and_one_gap_lasts_until_it_has_room(tmp_path, clock, full_disk):
    writer = SpoolWriter(tmp_path, cap_bytes=NO_CAP, clock=clock)
    full_disk["free"] = 7
    writer.write(b"0123456789")
    for clock.ms in (100, 200):
        writer.write(b"lost")
    assert (SpoolReader(tmp_path).read(0, 99), SpoolReader(tmp_path).gaps(0, 99)) == (b"0123456", ())
    full_disk["free"] = None
    clock.ms = 300
    writer.write(b"again")
    assert SpoolReader(tmp_path).read(0, 99) == b"0123456again"
    assert SpoolReader(tmp_path).gaps(0, 99) == (Gap(7, 11, 1_000_000, 1_000_200),)
    assert SpoolReader(tmp_path).times(0, 99) == ((0, 1_000_000), (7, 1_000_300))


def test_a_gap_that_the_disk_does_not_take_is_recorded_later(tmp_path, monkeypatch):
    writer = SpoolWriter(tmp_path, cap_bytes=10)
    writer.write(b"x" * 15)

    def full(*_: object) -> int:
        raise OSError(errno.EDQUOT, "Disk quota exceeded")

    with monkeypatch.context() as patched:
        patched.setattr(spool_writer.os, "write", full)
        assert writer.close() is False
    assert writer.close() is True
    assert [gap.dropped_bytes for gap in SpoolReader(tmp_path).gaps(0, 99)] == [5]


def test_a_new_writer_goes_on_after_a_crash_that_cut_a_record(tmp_path, clock):
    first = SpoolWriter(tmp_path, cap_bytes=NO_CAP, clock=clock)
    first.write(b"before")
    first.close()
    with (tmp_path / "index").open("ab") as index:  # a record of bytes that never came to the disk, and half a record
        index.write(struct.pack("<c7xQqqq", b"T", 50, 1, 1, 0) + b"T" * 13)
    clock.ms = 10
    second = SpoolWriter(tmp_path, cap_bytes=NO_CAP, clock=clock)
    assert second.offset == 6
    second.write(b" and after")
    assert SpoolReader(tmp_path).read(0, 99) == b"before and after"
    assert SpoolReader(tmp_path).times(0, 99) == ((0, 1_000_000), (6, 1_000_010))


def test_marks_are_found_without_reading_the_whole_index(tmp_path, monkeypatch):
    (tmp_path / "0000000000000000.log").write_bytes(b"")
    with (tmp_path / "index").open("wb") as index:
        index.writelines(struct.pack("<c7xQqqq", b"T", number * 10, number, number, 0) for number in range(100_000))
    read: list[int] = []
    pread = os.pread
    monkeypatch.setattr(os, "pread", lambda *call: read.append(call[1]) or pread(*call))
    assert SpoolReader(tmp_path).times(500_005, 500_021) == ((500_005, 50_000), (500_010, 50_001), (500_020, 50_002))
    assert sum(read) < 20_000


steps = st.lists(
    st.one_of(
        st.tuples(st.just("write"), st.integers(0, 60)),
        st.tuples(st.just("read"), st.integers(1, 50)),
        st.tuples(st.just("reopen"), st.just(0)),
        st.tuples(st.just("drop"), st.integers(0, 200)),
    ),
    max_size=40,
)


@given(steps, st.integers(1, 25), st.integers(20, 400))
def test_what_is_read_and_what_is_dropped_is_what_was_written(steps, file_bytes, cap_bytes):
    with tempfile.TemporaryDirectory() as folder:
        clock = Clock()
        writer = SpoolWriter(folder, cap_bytes=cap_bytes, clock=clock, file_bytes=file_bytes)
        reader = SpoolReader(folder)
        kept, got, written = b"", b"", 0
        for what, size in steps:
            clock.ms += 17
            if what == "write":
                data = os.urandom(size)
                before = writer.offset
                writer.write(data)
                kept += data[: writer.offset - before]
                written += size
            elif what == "read":
                got += reader.read(len(got), size)
            elif what == "drop":
                reader.drop_before(min(size, len(got)))
            else:
                writer.close()
                writer = SpoolWriter(folder, cap_bytes=cap_bytes, clock=clock, file_bytes=file_bytes)
            assert writer.offset == reader.end() == len(kept)
            assert reader.end() - reader.start() <= cap_bytes
        writer.close()
        got += reader.read(len(got), 1 << 20)
        assert got == kept
        assert len(kept) + sum(gap.dropped_bytes for gap in reader.gaps(0, NO_CAP)) == written
        marks = reader.times(0, len(kept))
        assert list(marks) == sorted(set(marks))
        assert not kept or marks[0][0] == 0
