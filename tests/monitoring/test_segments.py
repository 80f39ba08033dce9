from __future__ import annotations

import os
import uuid
from datetime import timedelta

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import InMemoryStorage, storages
from django.db import DatabaseError
from django.utils import timezone

from monitoring import logs, objects, segments
from monitoring.models import Log, LogPiece, LogSegment
from projects.errors import Gone

from .conftest import NOON
from .threads import at_once

LINES = b"".join(b"step %d loss 0.5\n" % n for n in range(500))


@pytest.fixture
def written(log):
    logs.append(log, offset=0, data=LINES[:5000], times=[(0, 10), (4999, 20)], now=NOON)
    logs.append(log, offset=5000, data=LINES[5000:], now=NOON)
    return log


def stored_names() -> list[str]:
    return [name for _folder, names in objects.folders() for name in names]


def test_sealing_turns_pieces_into_one_object_and_its_row(written):
    assert segments.seal(written.pk) == 1
    segment = LogSegment.objects.get()
    assert (segment.offset, segment.size_bytes, segment.first_line, segment.line_count) == (0, len(LINES), 0, 500)
    assert (segment.first_ms, segment.last_ms, segment.times) == (10, 20, [[0, 10], [4999, 20]])
    assert stored_names() == [segment.name] == [f"{written.workload_id}/0/output/{0:016d}-{len(LINES)}.zst"]
    assert not LogPiece.objects.exists()
    log = Log.objects.get()
    assert (log.sealed_offset, log.sealed_lines, logs.read(log, 0, 10**6)) == (len(LINES), 500, LINES)
    assert segments.seal(written.pk) == 0


def test_a_log_is_due_when_large_complete_or_quiet(log, settings):
    def due_after(seconds: float) -> list[int]:
        return segments.due(NOON + timedelta(seconds=seconds))

    assert due_after(1000) == []  # empty
    logs.append(log, offset=0, data=b"x" * 100, now=NOON)
    assert (due_after(59), due_after(60)) == ([], [log.pk])
    logs.finish(log, 101)
    assert due_after(1) == []
    logs.finish(log, 100)
    assert due_after(1) == [log.pk]
    Log.objects.update(final_offset=None)
    settings.LOG_SEAL_BYTES = 100
    assert due_after(1) == [log.pk]
    assert segments.tick(NOON) == 1
    assert due_after(1000) == []


def test_a_backlog_is_cut_into_segments_of_4_mib(log):
    data = os.urandom(1_000_000)
    for n in range(10):
        logs.append(log, offset=n * len(data), data=data, now=NOON)
    assert segments.seal(log.pk) == 3
    assert list(LogSegment.objects.order_by("offset").values_list("size_bytes", flat=True)) == [4_000_000, 4_000_000, 2_000_000]
    assert logs.read(log, 3_999_000, 2000) == data[-1000:] + data[:1000]


class Crash(Exception):
    pass


def crash(*_args, **_kwargs):
    raise Crash


@pytest.mark.parametrize(
    "place",
    [
        "monitoring.segments.objects.save",
        "zstandard.ZstdCompressor",
        "os.fsync",
        "pathlib.Path.replace",
        "monitoring.segments._commit",
        "monitoring.models.LogSegment.save",
        "monitoring.models.Log.save",
        "django.db.models.query.QuerySet.delete",
    ],
)
def test_a_crash_anywhere_loses_nothing_and_is_done_again(written, monkeypatch, place):
    with monkeypatch.context() as patch, pytest.raises(Crash):
        patch.setattr(place, crash)
        segments.seal(written.pk)
    assert logs.read(written, 0, 10**6) == LINES
    assert (LogPiece.objects.count(), LogSegment.objects.count()) == (2, 0)
    logs.append(written, offset=len(LINES), data=b"more\n", now=NOON)
    assert segments.seal(written.pk) == 1
    assert logs.read(written, 0, 10**6) == LINES + b"more\n"
    assert (LogPiece.objects.count(), Log.objects.get().sealed_lines) == (0, 501)


def test_an_object_that_is_there_is_not_written_again(written, monkeypatch):
    with monkeypatch.context() as patch, pytest.raises(Crash):
        patch.setattr("monitoring.segments._commit", crash)
        segments.seal(written.pk)
    monkeypatch.setattr("monitoring.objects._write_whole", crash)
    assert segments.seal(written.pk) == 1
    assert logs.read(written, 0, 10**6) == LINES


def test_of_two_sealers_one_wins(written, monkeypatch):
    """The second has taken its object's bytes before the first commits, and more of them."""
    commit = segments._commit

    def commit_late(segment):
        monkeypatch.setattr("monitoring.segments._commit", commit)
        logs.append(written, offset=len(LINES), data=b"more\n", now=NOON)
        assert segments.seal(written.pk) == 1
        return commit(segment)

    monkeypatch.setattr("monitoring.segments._commit", commit_late)
    assert segments.seal(written.pk) == 0
    assert logs.read(written, 0, 10**6) == LINES + b"more\n"
    assert LogSegment.objects.get().size_bytes == len(LINES) + 5


def test_sealers_in_threads_seal_each_byte_once(shared_world):
    log = shared_world.log
    for n in range(40):
        logs.append(log, offset=n * 10, data=b"%09d\n" % n, now=NOON)

    at_once(*[lambda: segments.seal(log.pk)] * 4)
    assert logs.read(log, 0, 1000) == b"".join(b"%09d\n" % n for n in range(40))
    assert (LogSegment.objects.count(), Log.objects.get(pk=log.pk).sealed_lines) == (1, 40)


class StoreError(Exception):
    """As the client of an object store has its own."""


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), StoreError("SlowDown")])
def test_one_log_that_cannot_be_sealed_stops_no_other(world, monkeypatch, error):
    ok, bad = world.open_log(), world.open_log()
    for log in (bad, ok):
        logs.append(log, offset=0, data=b"x", now=NOON)
    save = objects.save

    def save_if_room(name, data):
        if str(bad.workload_id) in name:
            raise error
        save(name, data)

    monkeypatch.setattr("monitoring.segments.objects.save", save_if_room)
    assert segments.tick(NOON + timedelta(hours=1)) == 1
    assert list(LogPiece.objects.values_list("log_id", flat=True)) == [bad.pk]


def test_a_hole_is_said_and_stops_no_other_log(world, caplog):
    bad, ok = world.open_log(), world.open_log()
    for log in (bad, ok):
        for n in range(3):
            logs.append(log, offset=n, data=b"x", now=NOON)
    LogPiece.objects.get(log=bad, offset=1).delete()
    assert segments.tick(NOON + timedelta(hours=1)) == 1
    assert list(LogPiece.objects.values_list("log_id", "offset")) == [(bad.pk, 2)]
    assert f"not sealed log={bad.pk}" in caplog.text
    with pytest.raises(Gone, match="follows byte 1 "):
        segments.seal(bad.pk)


def test_a_database_that_is_away_is_no_matter_of_one_log(written, monkeypatch):
    def away(_log_id):
        raise DatabaseError("server closed the connection")

    monkeypatch.setattr("monitoring.segments.seal", away)
    with pytest.raises(DatabaseError):
        segments.tick(NOON + timedelta(hours=1))


def test_a_lost_or_damaged_object_is_said_and_not_guessed(written):
    segments.seal(written.pk)
    name = LogSegment.objects.get().name
    path = storages["logs"].path(name)
    with open(path, "r+b") as file:  # noqa: PTH123
        file.truncate(40)
    with pytest.raises(Gone, match="missing|damaged"):
        logs.read(written, 0, 10)
    storages["logs"].delete(name)
    with pytest.raises(Gone, match="missing"):
        logs.read(written, 0, 10)


def test_a_store_that_has_no_files_is_used_too(written, settings):
    settings.STORAGES = settings.STORAGES | {"logs": {"BACKEND": "django.core.files.storage.InMemoryStorage"}}
    assert isinstance(storages["logs"], InMemoryStorage)
    assert segments.seal(written.pk) == 1
    assert (logs.read(written, 0, 10**6), len(stored_names())) == (LINES, 1)


def test_the_sweep_takes_only_what_nobody_has_and_nobody_will(world, written):
    segments.seal(written.pk)
    kept = LogSegment.objects.get().name
    folder = kept.rpartition("/")[0]
    lost_race, may_come = f"{folder}/{0:016d}-12.zst", f"{folder}/{len(LINES):016d}-5.zst"
    unfinished, of_no_log = f"{kept}.0123.part", f"{uuid.uuid4()}/0/output/{0:016d}-5.zst"
    for name in (lost_race, may_come, unfinished, of_no_log):
        storages["logs"].save(name, ContentFile(b"..."))
    assert segments.sweep_objects(timezone.now()) == 0  # young
    assert segments.sweep_objects(timezone.now() + timedelta(days=1, minutes=1)) == 3
    assert sorted(stored_names()) == sorted([kept, may_come])


def test_nothing_is_swept_where_nothing_was_stored(db):
    assert segments.sweep_objects(timezone.now()) == 0
