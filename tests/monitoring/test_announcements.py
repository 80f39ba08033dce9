from __future__ import annotations

import json
import socket
import threading
import time

import pytest
from django.db import transaction

from monitoring import announcements, events, logs, streams
from monitoring.announcements import wake
from monitoring.models import Subject

from .conftest import NOON

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def redis(valkey):
    return valkey.client()


def live(redis, address: str) -> list[dict[bytes, bytes]]:
    return [fields for _id, fields in redis.xrange(streams.live_key(address))]


def watch(redis, *addresses: str) -> None:
    for address in addresses:
        redis.set(streams.watched_key(address), 1)


def woken(redis) -> list[bytes]:
    return [fields[b"loop"] for _id, fields in redis.xrange("wake")]


def test_an_event_goes_to_those_who_watch_it_and_as_a_hint_to_its_lists(world, redis):
    watch(redis, "job:17", world.subject.list_address)
    with transaction.atomic():
        event = events.record(world.subject, "job.running", "It runs.", at=NOON, chips=4)
        assert redis.keys("live:*") == []
    [entry] = live(redis, "job:17")
    assert (entry[b"t"], json.loads(entry[b"e"])) == (b"event", event.as_json())
    assert live(redis, f"project:{world.project.pk}") == [{b"t": b"hint", b"s": b"job:17", b"n": b"1"}]
    assert 0 < redis.ttl("live:job:17") <= 60


def test_what_nobody_watches_is_not_sent(world, redis):
    with transaction.atomic():
        events.record(world.subject, "job.running", "It runs.", at=NOON)
    logs.append(world.log, offset=0, data=b"abc", now=NOON)
    assert redis.keys("*") == []


def test_log_bytes_go_out_as_they_came_and_too_many_as_a_word(world, redis):
    watch(redis, "job:17")
    logs.append(world.log, offset=0, data=b"a\x00\xff", now=NOON)
    logs.append(world.log, offset=3, data=b"b" * 70_000, now=NOON)
    logs.finish(world.log, 70_003)
    where = {b"t": b"log", b"w": str(world.log.workload_id).encode(), b"r": b"0", b"p": b"output"}
    assert live(redis, "job:17") == [where | {b"o": b"0", b"d": b"a\x00\xff"}, where | {b"o": b"3"}, where]


def test_a_loop_is_woken_once_a_transaction_and_at_once_outside_of_one(world, redis):
    with transaction.atomic():
        wake("scheduler")
        wake("follow")
        wake("scheduler")
        assert woken(redis) == []
    assert woken(redis) == [b"scheduler", b"follow"]
    wake("inbox")
    assert woken(redis)[2:] == [b"inbox"]


def test_one_transaction_makes_one_pipeline_of_what_was_not_rolled_back(world, redis, monkeypatch):
    watch(redis, "job:17")
    sent: list[list[object]] = []
    monkeypatch.setattr(announcements, "_send", sent.append)

    def append(offset: int, data: bytes) -> None:
        logs.append(world.log, offset=offset, data=data, now=NOON)

    with transaction.atomic():
        append(0, b"one")
        with pytest.raises(ZeroDivisionError), transaction.atomic():
            append(3, b"lost")
            with transaction.atomic():
                append(7, b"lost too")
            raise ZeroDivisionError
        with transaction.atomic():
            append(3, b"two")
        with pytest.raises(ZeroDivisionError), transaction.atomic():
            append(6, b"lost")
            raise ZeroDivisionError
    assert [[a.entry["d"] for a in batch] for batch in sent] == [[b"one", b"two"]]


def test_a_rolled_back_transaction_tells_nothing_then_or_later(world, redis):
    watch(redis, "job:17")
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        logs.append(world.log, offset=0, data=b"lost", now=NOON)
        wake("scheduler")
        raise ZeroDivisionError
    with transaction.atomic():
        wake("follow")
    assert (live(redis, "job:17"), woken(redis)) == ([], [b"follow"])


@pytest.mark.django_db(transaction=False)
def test_tests_that_capture_hooks_hear_what_was_announced_meanwhile(world, redis, django_capture_on_commit_callbacks):
    wake("before")
    with django_capture_on_commit_callbacks(execute=True):
        wake("scheduler")
        with transaction.atomic():
            wake("follow")
    assert woken(redis) == [b"scheduler", b"follow"]


def test_no_redis_is_logged_and_costs_nothing(world, caplog):
    began = time.monotonic()
    with transaction.atomic():
        wake("scheduler")
    assert time.monotonic() - began < 0.2
    assert "not announced count=1" in caplog.text


@pytest.mark.parametrize("answers", [b"", b"+OK\r\n" * 5], ids=["silent", "only at first"])
def test_a_redis_that_does_not_answer_holds_up_a_request_for_a_moment_only(world, settings, caplog, answers):
    with socket.create_server(("127.0.0.1", 0)) as server:
        settings.REDIS_URL = f"redis://panel:x@127.0.0.1:{server.getsockname()[1]}/0"
        held: list[socket.socket] = []

        def answer() -> None:
            connection, _ = server.accept()
            held.append(connection)
            connection.sendall(answers)

        threading.Thread(target=answer, daemon=True).start()
        began = time.monotonic()
        with transaction.atomic():
            events.record(world.subject, "job.running", "It runs.", at=NOON)
            wake("scheduler")
        assert time.monotonic() - began < 0.2
        assert "not announced count=3" in caplog.text
        for connection in held:
            connection.close()


def test_a_server_that_came_back_is_used_at_once(world, valkey):
    wake("scheduler")
    valkey.kill()
    valkey.start()
    wake("follow")
    assert woken(valkey.client()) == [b"follow"]


def test_a_live_stream_is_bounded(world, redis):
    watch(redis, "job:17")
    for n in range(600):
        announcements.announce_log(world.log, n, b"x" * 5000)
    assert streams.LIVE_LENGTH <= redis.xlen("live:job:17") <= streams.LIVE_LENGTH + 100


def test_events_of_many_go_to_who_watches_them_and_as_one_hint_to_each_list(world, redis):
    other = Subject.objects.create(kind="job", key="18", title="other", project=world.project)
    watch(redis, "job:18", world.subject.list_address)
    with transaction.atomic():
        news = [events.News(one.pk, code, f"{code}.", {"n": 1}) for one in (world.subject, other) for code in ("a", "b")]
        events.record_many(news, at=NOON, by_name="member")
        assert redis.keys("live:*") == []
    assert live(redis, "job:17") == []
    assert [json.loads(entry[b"e"]) for entry in live(redis, "job:18")] == [
        event.as_json() for event in events.since(other, 0, 9)
    ]
    assert live(redis, f"project:{world.project.pk}") == [{b"t": b"hint", b"s": b"job:18", b"n": b"2"}]
