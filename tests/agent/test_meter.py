from __future__ import annotations

import json
import struct
from pathlib import Path
from uuid import uuid4

import pytest

from agent import meter as meters
from agent.event_files import _masked_crc
from agent.folders import WorkloadFolder
from agent.meter import Meter
from agent.protocol import MAX_REPORT_BYTES, PointsLine
from agent.spool_writer import SpoolWriter

NOW = 1_700_000_000_000


@pytest.fixture
def folder(tmp_path: Path) -> WorkloadFolder:
    path = tmp_path / str(uuid4())
    path.mkdir()
    folder = WorkloadFolder(path)
    folder.make_rank_folder()
    return folder


@pytest.fixture
def output(tmp_path: Path) -> Path:
    (tmp_path / "output" / "tensorboard" / "train").mkdir(parents=True)
    return tmp_path / "output"


def a_meter(folder: WorkloadFolder, output: Path) -> Meter:
    return Meter(folder, output, now_ms=lambda: NOW)


def print_(folder: WorkloadFolder, text: bytes) -> None:
    spool = SpoolWriter(folder.rank_folder / "output", cap_bytes=1 << 30)
    spool.write(text)
    spool.close()


def points(folder: WorkloadFolder) -> list[tuple[str, int, float]]:
    """Name, step and value of all that is written down, in order."""
    found = []
    for line in (folder.path / "points").read_bytes().splitlines(keepends=True):
        for name, (steps, _walls, values) in PointsLine.from_line(line).series.items():
            found += [(name, step, value) for step, value in zip(steps, values, strict=True)]
    return found


def record(tag: str, step: int, value: float) -> bytes:
    """A TFRecord of an Event with one simple_value."""
    inner = b"\x0a" + bytes([len(tag)]) + tag.encode() + b"\x15" + struct.pack("<f", value)
    summary = b"\x0a" + bytes([len(inner)]) + inner
    event = b"\x09" + struct.pack("<d", 12.5) + b"\x10" + bytes([step]) + b"\x2a" + bytes([len(summary)]) + summary
    length = struct.pack("<Q", len(event))
    return length + struct.pack("<I", _masked_crc(length)) + event + struct.pack("<I", 0)


def test_each_source_is_read_once_whatever_comes_between(folder, output):
    print_(folder, b"hello\n::metric name=loss step=1::0.5\n::metric name=lo")
    folder.metrics_file.write_bytes(b'{"step": 1, "lr": 0.1}\n{"step": 2, ')
    events = output / "tensorboard" / "train" / "events.out.tfevents.1"
    whole = record("accuracy", 1, 0.25)
    events.write_bytes(whole + whole[:20])
    meter = a_meter(folder, output)
    assert meter.read()
    assert points(folder) == [("loss", 1, 0.5), ("lr", 1, 0.1), ("train/accuracy", 1, 0.25)]
    assert not meter.read()
    print_(folder, b"ss step=2::0.25\n")
    with folder.metrics_file.open("ab") as file:
        file.write(b'"lr": 0.2}\n')
    events.write_bytes(whole + record("accuracy", 2, 0.5))
    again = a_meter(folder, output)  # a new agent goes on behind what is written down
    assert again.read()
    assert points(folder)[3:] == [("loss", 2, 0.25), ("lr", 2, 0.2), ("train/accuracy", 2, 0.5)]
    assert not again.read()


def test_the_last_line_needs_no_end_once_the_program_has_ended(folder, output):
    print_(folder, b"::progress step=3 total=3")
    meter = a_meter(folder, output)
    assert not meter.read()
    assert meter.read(is_last=True)
    assert points(folder) == [("progress/step", 3, 3.0), ("progress/total", 3, 3.0)]


def test_half_a_line_that_a_power_cut_left_is_read_anew(folder, output):
    folder.metrics_file.write_bytes(b'{"step": 1, "lr": 0.1}\n')
    a_meter(folder, output).read()
    path = folder.path / "points"
    path.write_bytes(path.read_bytes()[:-5])
    assert a_meter(folder, output).read()
    assert points(folder) == [("lr", 1, 0.1)]


def test_a_reading_of_many_points_is_cut_into_lines_that_fit_a_report(folder, output, monkeypatch):
    monkeypatch.setattr(meters, "POINTS_A_LINE", 10)
    folder.metrics_file.write_bytes(b"".join(json.dumps({"step": i, "a": i}).encode() + b"\n" for i in range(25)))
    a_meter(folder, output).read()
    lines = [PointsLine.from_line(line) for line in (folder.path / "points").read_bytes().splitlines()]
    assert [len(line.series["a"][0]) for line in lines] == [10, 10, 5]
    assert [line.until for line in lines] == [0, 0, folder.metrics_file.stat().st_size]


def test_times_of_printed_metrics_are_when_they_were_printed(folder, output):
    spool = SpoolWriter(folder.rank_folder / "output", cap_bytes=1 << 30, clock=iter([(1000, 0), (5000, 4000)]).__next__)
    spool.write(b"::metric name=a step=1::1\n")
    spool.write(b"::metric name=a step=2::2\n")
    spool.close()
    a_meter(folder, output).read()
    (line,) = (folder.path / "points").read_bytes().splitlines()
    assert PointsLine.from_line(line).series["a"] == ([1, 2], [1000, 5000], [1.0, 2.0])


def test_a_file_that_is_no_event_file_is_given_up_and_the_others_are_read(folder, output):
    (output / "events.out.tfevents.bad").write_bytes(b"x" * 100)
    (output / "events.out.tfevents.good").write_bytes(record("loss", 1, 0.5))
    meter = a_meter(folder, output)
    meter.read()
    meter.read()
    assert points(folder) == [("loss", 1, 0.5)]


def test_event_files_with_odd_times_and_fields_keep_their_sound_points(folder, output):
    odd_time = _record_of(b"\x09" + struct.pack("<d", float("inf")) + _summary("odd", 1.0))
    short = _record_of(b"\x09" + struct.pack("<d", 1.0) + b"\x2a\x08\x0a\x06\x0a\x01x\x12\x01x")
    wrong_type = _record_of(b"\x0a\x01x" + _summary("typed", 2.0))
    (output / "tensorboard" / "x.tfevents.1").write_bytes(odd_time + short + wrong_type + record("last", 3, 4.0))
    assert a_meter(folder, output).read()
    assert points(folder) == [("odd", 0, 1.0), ("last", 3, 4.0)]
    [line] = map(PointsLine.from_line, (folder.path / "points").read_bytes().splitlines(keepends=True))
    assert line.series["odd"][1] == [NOW]


def test_no_line_of_points_is_longer_than_a_report(folder, output):
    names = [f"{number}" + "\N{GRINNING FACE}" * 190 for number in range(500)]
    folder_lines = b"".join(json.dumps({name: 1}).encode() + b"\n" for name in names)
    (folder.rank_folder / "metrics.jsonl").write_bytes(folder_lines)
    meter = a_meter(folder, output)
    while meter.read():
        pass
    lines = (folder.path / "points").read_bytes().splitlines(keepends=True)
    assert len(lines) > 1 and max(map(len, lines)) < MAX_REPORT_BYTES
    assert len(points(folder)) == 500


def _summary(tag: str, value: float) -> bytes:
    inner = b"\x0a" + bytes([len(tag)]) + tag.encode() + b"\x15" + struct.pack("<f", value)
    summary = b"\x0a" + bytes([len(inner)]) + inner
    return b"\x2a" + bytes([len(summary)]) + summary


def _record_of(event: bytes) -> bytes:
    length = struct.pack("<Q", len(event))
    return length + struct.pack("<I", _masked_crc(length)) + event + struct.pack("<I", 0)
