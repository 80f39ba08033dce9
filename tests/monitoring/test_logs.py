from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection, transaction
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from agent.protocol import Gap
from monitoring import lines, logs, segments
from monitoring.logs import Chunk
from monitoring.models import Log, LogGap, LogPiece, LogSegment
from projects.errors import Gone

from .conftest import NOON
from .threads import at_once

NASTY = b"epoch 1\r\x00\xff\xfe\x1b[31mred\x1b[0m\xc3\n\n\r\nno end"


def test_bytes_come_back_exactly_as_they_came(log):
    assert logs.append(log, offset=0, data=NASTY, now=NOON) == len(NASTY)
    segments.seal(log.pk)
    assert logs.append(log, offset=len(NASTY), data=NASTY, now=NOON) == 2 * len(NASTY)
    assert logs.read(log, 0, 1000) == NASTY + NASTY
    assert logs.read(log, len(NASTY) - 2, 4) == NASTY[-2:] + NASTY[:2]
    assert logs.read(log, 2 * len(NASTY), 10) == b""
    assert b"".join(logs.iterate(log, 3, chunk=5)) == (NASTY + NASTY)[3:]
    log.refresh_from_db()
    assert (log.head_offset, log.sealed_offset, log.last_at) == (2 * len(NASTY), len(NASTY), NOON)


def test_only_the_new_tail_of_a_repeat_is_stored(log):
    logs.append(log, offset=0, data=b"abc", now=NOON)
    assert logs.append(log, offset=0, data=b"abc", now=NOON) == 3
    assert logs.append(log, offset=1, data=b"bcde", now=NOON) == 5
    assert list(LogPiece.objects.order_by("offset").values_list("offset", "size_bytes")) == [(0, 3), (3, 2)]
    assert logs.read(log, 0, 10) == b"abcde"


def test_a_chunk_beyond_the_head_is_not_taken(log):
    logs.append(log, offset=0, data=b"abc", now=NOON)
    assert logs.append(log, offset=4, data=b"e", gaps=[Gap(4, 9, 1, 2)], now=NOON) == 3
    assert logs.append_many(log, [Chunk(3, b"d"), Chunk(5, b"f"), Chunk(4, b"e")], now=NOON) == 4
    assert (logs.read(log, 0, 10), LogGap.objects.count()) == (b"abcd", 0)


def test_contiguous_chunks_become_one_piece_with_their_times(log):
    chunks = [Chunk(0, b"abc", [(0, 100), (2, 150)]), Chunk(1, b"bcdef", [(1, 120), (4, 200)])]
    assert logs.append_many(log, chunks, now=NOON) == 6
    piece = LogPiece.objects.get()
    assert (bytes(piece.data), piece.times) == (b"abcdef", [[0, 100], [2, 150], [3, 120], [4, 200]])
    assert logs.marks(log, 2, 4) == [(2, 150), (3, 120)]


def test_a_large_append_is_cut_into_pieces(log):
    data = bytes(range(256)) * 10_000
    assert logs.append(log, offset=0, data=data, now=NOON) == len(data)
    assert LogPiece.objects.count() == 3
    assert logs.read(log, 0, len(data)) == data
    assert max(len(part) for part in logs.iterate(log)) == 256 * 1024


def test_a_gap_is_counted_once(log):
    gaps = [Gap(3, 500, 1000, 2000), Gap(3, 7, 2500, 2600)]
    for _ in range(2):
        logs.append(log, offset=0, data=b"abc", gaps=gaps, now=NOON)
    logs.append(log, offset=3, data=b"", gaps=[*gaps, Gap(0, 1, 5, 6)], now=NOON)
    log.refresh_from_db()
    assert log.dropped_bytes == 508
    assert [(g.offset, g.dropped_bytes, g.from_ms, g.to_ms) for g in logs.gaps(log, 1, 3)] == [
        (3, 500, 1000, 2000),
        (3, 7, 2500, 2600),
    ]


def test_a_log_is_complete_when_the_store_has_reached_its_end(log):
    logs.append(log, offset=0, data=b"abc", now=NOON)
    logs.finish(log, 5)
    assert not Log.objects.get(pk=log.pk).is_complete
    logs.append(log, offset=3, data=b"de", now=NOON)
    assert Log.objects.get(pk=log.pk).is_complete
    assert logs.heads(log.subject) == [logs.Head(log.workload_id, 0, "output", 5, 5, 0)]


def test_opening_a_log_twice_gives_one(world):
    workload_id = uuid.uuid4()
    assert world.open_log(3, workload_id) == world.open_log(3, workload_id)
    assert logs.find_log(world.subject, workload_id, 3, "output") == world.open_log(3, workload_id)
    assert logs.find_log(world.subject, workload_id, 3, "prepare") is None


def test_two_shippers_of_the_same_bytes_store_them_once(shared_world):
    log, data = shared_world.log, b"0123456789" * 100

    def ship() -> None:
        offset = 0
        while offset < len(data):
            offset = logs.append(log, offset=offset, data=data[offset : offset + 100], now=NOON)

    at_once(ship, ship)
    assert logs.read(log, 0, 10_000) == data


# -- Reading while it is sealed --------------------------------------------------------------------------

LINES = b"".join(b"%d\n" % n for n in range(300))


def test_reads_while_sealing_runs_are_never_wrong(shared_world):
    """A reader against a writer and a sealer, each in a thread of its own: what it reads is a true part, and never short."""
    log, data, deadline = shared_world.log, b"".join(b"%d\n" % n for n in range(40_000)), time.monotonic() + 20
    counts, is_done = {"sealed": 0, "read": 0}, threading.Event()

    def write() -> None:
        """Until enough was sealed and read meanwhile: a machine may be slow, and SQLite's waiting is unfair."""
        offset = 0
        while offset < len(data) and time.monotonic() < deadline and (counts["sealed"] < 10 or counts["read"] < 20):
            offset = logs.append(log, offset=offset, data=data[offset : offset + 400], now=NOON)
            time.sleep(0.002)
        is_done.set()

    def seal() -> None:
        while not is_done.wait(0.005):
            counts["sealed"] += segments.seal(log.pk)

    def read() -> None:
        while not is_done.is_set():
            head = Log.objects.get(pk=log.pk).head_offset
            found = logs.read(log, 100, len(data))
            assert found == data[100 : 100 + len(found)]
            assert len(found) >= head - 100
            assert head <= 140 or (lines.offset_of_line(log, 50), lines.line_at(log, 140)) == (140, 50)
            counts["read"] += 1

    at_once(write, seal, read)
    assert min(counts.values()) >= 10
    head = Log.objects.get(pk=log.pk).head_offset
    assert logs.read(log, 0, len(data)) == data[:head]


@dataclass
class Meanwhile:
    """Does something between two statements of a reader: before statement number `at`, from 0."""

    act: Callable[[], object]
    at: int
    statements: int = 0
    is_acting: bool = False

    def __call__(self, execute, *args):
        if not self.is_acting:
            self.is_acting = True
            if self.statements == self.at:
                self.act()
            self.statements, self.is_acting = self.statements + 1, False
        return execute(*args)


def is_part(found: bytes, start: int, head: int) -> bool:
    """True bytes from `start` on, and at least those below the head of before."""
    return found == LINES[start : start + len(found)] and start + len(found) >= head


# What is asked, and whether the answer is true, given the head of before.
QUESTIONS: dict[str, tuple[Callable[[Log], Any], Callable[[Any, int], bool]]] = {
    "read": (lambda log: logs.read(log, 5, 10_000), lambda found, head: is_part(found, 5, head)),
    "read a part": (lambda log: logs.read(log, 95, 210), lambda found, _head: found == LINES[95:305]),
    "iterate": (lambda log: b"".join(logs.iterate(log, 7, 300)), lambda found, head: is_part(found, 7, head)),
    "marks": (lambda log: logs.marks(log, 200, 300), lambda found, _head: found == [(200, 1200), (250, 1250)]),
    "place of a line": (lambda log: lines.offset_of_line(log, 95), lambda found, _head: found == LINES.index(b"95\n")),
    "line at a place": (lambda log: lines.line_at(log, 280), lambda found, _head: found == LINES.count(b"\n", 0, 280)),
    "number of lines": (lines.line_count, lambda found, head: LINES.count(b"\n", 0, head) <= found <= 300),
    "tail": (lambda log: lines.tail_offset(log, 20), lambda found, head: head - 90 < found and LINES[found - 1] == 10),
    "time": (lambda log: lines.offset_at_time(log, 1280), lambda found, _head: found == 250),
}


@pytest.mark.thorough
@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("pieces_sealed", [0, 2])
def test_a_sealer_between_the_statements_of_a_reader_hides_nothing(world, settings, monkeypatch, question, pieces_sealed):
    """Whatever statement it comes before, alone, with a writer, or writing and sealing again."""
    settings.STORAGES = settings.STORAGES | {"logs": {"BACKEND": "django.core.files.storage.InMemoryStorage"}}
    monkeypatch.setattr("monitoring.segments.MAX_BYTES", 100)  # several segments of several pieces
    ask, is_true = QUESTIONS[question]

    def write(pieces: int) -> None:
        for _ in range(pieces):
            head = Log.objects.values_list("head_offset", flat=True).get(pk=log.pk)
            logs.append(log, offset=head, data=LINES[head : head + 50], times=[(head, 1000 + head)], now=NOON)

    acts: list[Callable[[], object]] = [
        lambda: segments.seal(log.pk),
        lambda: (write(3), segments.seal(log.pk)),
        lambda: (segments.seal(log.pk), write(3), segments.seal(log.pk), write(1)),
    ]
    for act in acts:
        meanwhile = Meanwhile(act, -1)
        while meanwhile.at < meanwhile.statements:  # the last time it came too late
            log = world.open_log()
            write(pieces_sealed)
            segments.seal(log.pk)
            write(7)
            head = Log.objects.get(pk=log.pk).head_offset
            meanwhile = Meanwhile(act, meanwhile.at + 1)
            with connection.execute_wrapper(meanwhile):
                found = ask(log)
            assert is_true(found, head), (meanwhile.at, found)
        assert meanwhile.at >= 2


@pytest.mark.parametrize("lost", ["a piece", "the last piece", "a segment", "the first segment"])
def test_bytes_that_the_store_has_lost_are_an_error_and_not_the_end(world, monkeypatch, lost):
    monkeypatch.setattr("monitoring.segments.MAX_BYTES", 100)
    log = world.log
    for offset in range(0, 600, 50):
        logs.append(log, offset=offset, data=LINES[offset : offset + 50], now=NOON)
        if offset == 250:
            segments.seal(log.pk)
    hole, rows = {
        "a piece": (400, LogPiece.objects.filter(offset=400)),
        "the last piece": (550, LogPiece.objects.filter(offset=550)),
        "a segment": (100, LogSegment.objects.filter(offset=100)),
        "the first segment": (0, LogSegment.objects.filter(offset=0)),
    }[lost]
    assert rows.delete()[0] == 1
    for ask in (
        lambda: logs.read(log, 0, 1000),
        lambda: logs.read(log, hole, 1),
        lambda: b"".join(logs.iterate(log, max(hole - 20, 0), 30)),
        lambda: logs.marks(log, hole, hole + 10),
        lambda: lines.tail_offset(log, 300),
    ):
        with pytest.raises(Gone) as raised:
            ask()
        assert raised.value.code == "log-hole"
    assert logs.read(log, 300, 50) == LINES[300:350]  # what is whole is read
    if "piece" in lost:
        with pytest.raises(Gone, match=f"follows byte {hole} "):
            lines.line_count(log)


def test_a_deleted_log_is_an_error_and_not_an_empty_one(log):
    logs.append(log, offset=0, data=b"abc", now=NOON)
    Log.objects.filter(pk=log.pk).delete()
    with pytest.raises(Gone) as raised:
        logs.read(log, 0, 10)
    assert raised.value.code == "log-deleted"


# -- Against a plain model: a log is its bytes ------------------------------------------------------------

texts = st.lists(st.sampled_from([b"\n", b"a", b"\x00", b"loss=0.5\n", b"\xff" * 40, b"\n\n"]), max_size=12).map(b"".join)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("append"), texts, st.integers(-30, 10), st.booleans()),
        st.tuples(st.just("seal"), st.just(b""), st.just(0), st.just(False)),
    ),
    max_size=14,
)


@pytest.mark.thorough
@hypothesis_settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=steps, data=st.data())
def test_a_log_is_its_bytes(world, steps, data):
    with transaction.atomic():
        log, model, times = world.open_log(), b"", []
        for verb, text, shift, with_time in steps:
            if verb == "seal":
                segments.seal(log.pk)
                continue
            offset = max(len(model) + min(shift, 0), 0) if shift <= 0 else len(model) + shift
            chunk = model[offset:] + text if offset <= len(model) else text  # what a host resends is what it sent
            marks = [(offset, 1000 + offset)] if with_time else []
            wanted = logs.append(log, offset=offset, data=chunk, times=marks, now=NOON)
            if offset <= len(model):
                new_from, model = len(model), model[:offset] + chunk
                if with_time and len(model) > new_from:
                    times.append((new_from, 1000 + offset))
            assert wanted == len(model)
        _compare(log, model, times, data.draw(st.integers(0, len(model) + 3)), data.draw(st.integers(0, 40)))


def _compare(log: Log, model: bytes, times: list[tuple[int, int]], place: int, count: int) -> None:
    assert logs.read(log, 0, len(model) + 1) == model
    assert logs.read(log, place, count) == model[place : place + count]
    assert b"".join(logs.iterate(log, place, chunk=7)) == model[place:]
    assert lines.line_count(log) == len(model.split(b"\n")) - (not model or model.endswith(b"\n"))
    assert lines.line_at(log, place) == model[:place].count(b"\n")
    starts = [0, *(i + 1 for i, byte in enumerate(model) if byte == 10)]
    assert lines.offset_of_line(log, count) == (starts[count] if count < len(starts) else len(model))
    real = [start for start in starts if start < len(model)]
    assert lines.tail_offset(log, count) == (len(model) if not count else (real[-count:] or [len(model)])[0])
    ms = 1000 + place
    assert lines.offset_at_time(log, ms) == max((offset for offset, at in times if at <= ms), default=0)


def test_the_tail_reaches_back_8_mib_and_no_further(log):
    megabyte = b"x" * (1024 * 1024 - 1) + b"\n"
    for n in range(10):
        logs.append(log, offset=n * len(megabyte), data=megabyte, now=NOON)
    segments.seal(log.pk)
    logs.append(log, offset=10 * len(megabyte), data=b"last\nunfinished", now=NOON)
    head = 10 * len(megabyte) + len(b"last\nunfinished")
    assert lines.tail_offset(log, 1) == head - len(b"unfinished")
    assert lines.tail_offset(log, 4) == 8 * len(megabyte)
    assert lines.tail_offset(log, 5000) == head - 8 * 1024 * 1024
    assert (lines.line_count(log), lines.offset_of_line(log, 10)) == (12, 10 * len(megabyte))


def test_a_time_is_found_among_thinned_marks_of_many_segments(log):
    for n in range(4):
        marks = [(n * 1000 + i, 10_000 * n + 10 * i) for i in range(1000)]
        logs.append(log, offset=n * 1000, data=b"x" * 1000, times=marks, now=NOON + timedelta(seconds=n))
        segments.seal(log.pk)
    assert max(len(s.times) for s in LogSegment.objects.all()) <= segments.MAX_MARKS
    found = lines.offset_at_time(log, 20_000 + 5_005)
    assert 2_500 - 8 <= found <= 2_500
    assert (lines.offset_at_time(log, -1), lines.offset_at_time(log, 10**9) >= 3_992) == (0, True)
