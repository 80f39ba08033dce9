"""Gathers what a rank's program measures into its `points` file: from its output, its metrics file, its event files.

Each line of `points` says from which source it came and up to where that was read, so what was read and how far stand or
fall together: a new agent goes on behind the last whole line, and no point is lost or taken twice.
"""

from __future__ import annotations

import io
import json
import logging
import os
import time
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from agent import event_files, metric_lines
from agent.folders import WorkloadFolder
from agent.line_files import whole_bytes, whole_lines
from agent.metric_lines import Point
from agent.protocol import PART_OUTPUT, PointsLine, is_point

logger = logging.getLogger(__name__)

READ_BYTES = 1024 * 1024  # of one source at a time
POINTS_A_LINE = 2000
POINT_BYTES = 80  # at most, without its name
LINE_BYTES = 160_000  # well below the size of a report
RESCAN_S = 2.0  # between two looks for new event files
MOST_EVENT_FILES = 200
LONGEST_LINE = 64 * 1024  # a longer one of the output holds no metric


@dataclass
class Meter:
    """Of one rank. `output` is the folder into which its program writes."""

    folder: WorkloadFolder
    output: Path
    now_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000
    read_to: dict[str, int] = field(default_factory=dict)  # source -> offset
    _event_files: list[Path] = field(default_factory=list)
    _rescan_at: float = 0.0

    def __post_init__(self) -> None:
        for line in whole_lines(self.points_path):
            with suppress(ValueError):
                known = PointsLine.from_line(line)
                self.read_to[known.source] = known.until

    @property
    def points_path(self) -> Path:
        return self.folder.path / "points"

    @property
    def metrics_path(self) -> Path:
        """The file that PANEL_METRICS names to the program."""
        return self.folder.rank_folder / "metrics.jsonl"

    def read(self, *, is_last: bool = False) -> bool:
        """Take what is new, at most READ_BYTES of each source. True: there was something.

        `is_last`: the program has ended, so a last line without an end is whole.
        """
        found = [self._read_output(is_last), self._read_metrics_file(is_last)]
        found += [self._read_event_file(path) for path in self._all_event_files(is_last)]
        return any(found)

    def _read_output(self, is_last: bool) -> bool:
        spool, start = self.folder.spool(PART_OUTPUT), self.read_to.get("log", 0)
        start = max(start, spool.start())
        data = spool.read(start, READ_BYTES)
        lines, taken = _lines(data, is_last)
        if not taken:
            return False
        if b"::metric " not in data and b"::progress " not in data:
            self.read_to["log"] = start + taken  # not written down: to read it again costs little
            return True
        marks = spool.times(start, start + taken)
        self._write("log", start + taken, _of_output(lines, start, marks, self.now_ms()))
        return True

    def _read_metrics_file(self, is_last: bool) -> bool:
        return self._read_file("metrics", self.metrics_path, lambda data: self._of_lines(data, is_last))

    def _of_lines(self, data: bytes, is_last: bool) -> tuple[list[Point], int]:
        lines, taken = _lines(data, is_last)
        return list(metric_lines.written(lines, self.now_ms())), taken

    def _read_event_file(self, path: Path) -> bool:
        return self._read_file(f"events:{path.relative_to(self.output)}", path, lambda data: self._of_events(data, path))

    def _of_events(self, data: bytes, path: Path) -> tuple[list[Point], int]:
        """A tag is named with the folder below `tensorboard`, or the output: train and validation are two runs to Keras."""
        scalars, taken = event_files.read(data)
        folders = [part for part in path.relative_to(self.output).parts[:-1] if part != "tensorboard"]
        now_ms = self.now_ms()
        points = [
            (metric_lines.named("/".join([*folders, one.tag])), one.step, metric_lines.moment_ms(one.wall_s, now_ms), one.value)
            for one in scalars
        ]
        return [point for point in points if is_point(*point[1:])], taken

    def _read_file(self, source: str, path: Path, parse: Callable[[bytes], tuple[list[Point], int]]) -> bool:
        start = self.read_to.get(source, 0)
        try:
            with path.open("rb") as file:
                file.seek(start)
                data = file.read(READ_BYTES)
                points, taken = parse(data)
                while not taken and len(data) % READ_BYTES == 0 and (more := file.read(READ_BYTES)):
                    data += more  # one record that is longer than a reading
                    points, taken = parse(data)
        except FileNotFoundError:
            return False
        except event_files.BadFile as error:
            logger.warning("event file given up workload=%s file=%s error=%s", self.folder, path, error)
            self._write(source, start, ())
            self._event_files.remove(path)
            return False
        if taken:
            self._write(source, start + taken, points)
        return bool(taken)

    def _all_event_files(self, is_last: bool) -> list[Path]:
        if time.monotonic() >= self._rescan_at or is_last:
            self._rescan_at = time.monotonic() + RESCAN_S
            known = set(self._event_files)
            new = sorted(path for path in _find_event_files(self.output) if path not in known)
            self._event_files += new[: MOST_EVENT_FILES - len(known)]
        return list(self._event_files)

    def _write(self, source: str, until: int, points: Iterable[Point]) -> None:
        """One append: lines of one source, of which the last carries the new offset."""
        lines = _points_lines(source, self.read_to.get(source, 0), until, list(points))
        descriptor = os.open(self.points_path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            os.ftruncate(descriptor, whole_bytes(descriptor))
            os.write(descriptor, b"".join(lines))
        finally:
            os.close(descriptor)
        self.read_to[source] = until


def _points_lines(source: str, before: int, until: int, points: list[Point]) -> Iterator[bytes]:
    """Only the last line says `until`: what a crash cuts off is read again as a whole."""
    pieces = list(_pieces(points)) or [[]]
    for number, piece in enumerate(pieces):
        series: dict[str, tuple[list[int], list[int], list[float]]] = {}
        for name, step, wall_ms, value in piece:
            steps, walls, values = series.setdefault(name, ([], [], []))
            steps.append(step)
            walls.append(wall_ms)
            values.append(value)
        yield PointsLine(source, until if number == len(pieces) - 1 else before, series).line()


def _pieces(points: list[Point]) -> Iterator[list[Point]]:
    """At most POINTS_A_LINE and about LINE_BYTES each: a line that is longer than a report could never be sent."""
    piece: list[Point] = []
    names: set[str] = set()
    size = 0
    for point in points:
        name = point[0]
        size += POINT_BYTES + (0 if name in names else len(json.dumps(name)))
        names.add(name)
        piece.append(point)
        if size > LINE_BYTES or len(piece) == POINTS_A_LINE:
            yield piece
            piece, names, size = [], set(), 0
    if piece:
        yield piece


def _of_output(lines: list[bytes], start: int, marks: tuple[tuple[int, int], ...], now_ms: int) -> Iterator[Point]:
    offsets = [offset for offset, _ in marks]
    for line in lines:
        if b"::" in line and len(line) <= LONGEST_LINE:
            mark = bisect_right(offsets, start) - 1
            yield from metric_lines.printed(line, marks[mark][1] if mark >= 0 else now_ms)
        start += len(line)


def _find_event_files(folder: Path) -> Iterator[Path]:
    for root, _folders, files in os.walk(folder):
        yield from (Path(root, name) for name in files if "tfevents" in name)


def _lines(data: bytes, is_last: bool) -> tuple[list[bytes], int]:
    """(whole lines, bytes that they take). A line longer than a reading is taken in pieces."""
    is_piece = is_last or (len(data) >= READ_BYTES and b"\n" not in data)
    taken = len(data) if is_piece else data.rfind(b"\n") + 1
    return io.BytesIO(data[:taken]).readlines(), taken
