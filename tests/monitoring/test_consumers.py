from __future__ import annotations

import json
import random
import threading
import time
from collections.abc import Iterator
from types import SimpleNamespace

import pytest
from django.contrib.sessions.models import Session
from django.db import connection, transaction
from websockets.exceptions import InvalidStatus

import projects
from agent.protocol import Gap
from monitoring import events, logs, segments, subjects
from monitoring.consumers import SubjectConsumer
from monitoring.models import Log

from .conftest import NOON, World
from .listening import Listener, Server, wait_for

GHOST = "0198c0de-0000-7000-8000-000000000000"  # no workload


@pytest.fixture
def world(shared_world) -> World:
    return shared_world


@pytest.fixture
def server(world, valkey) -> Iterator[Server]:
    server = Server().start()
    yield server
    server.stop()


@pytest.fixture
def quick_checks(monkeypatch):
    monkeypatch.setattr(SubjectConsumer, "check_every_s", 0.3)


@pytest.fixture
def token(world, monkeypatch) -> Iterator[dict]:
    """A token of the member; emptied, it is revoked."""
    held = {"tok-1": SimpleNamespace(user=world.member, scope="read", pk=1)}
    tokens = SimpleNamespace(find=lambda text, now: held.get(text))
    monkeypatch.setitem(__import__("sys").modules, "projects.tokens", tokens)
    monkeypatch.setattr(projects, "tokens", tokens, raising=False)
    yield held


def record(world: World, code: str) -> None:
    with transaction.atomic():
        events.record(world.subject, code, f"{code}.", at=NOON)


def append(log: Log, data: bytes, **fields) -> None:
    head = Log.objects.values_list("head_offset", flat=True).get(pk=log.pk)
    logs.append(log, offset=head, data=data, now=NOON, **fields)


def place(log: Log, offset: int) -> dict:
    return {"workload": str(log.workload_id), "rank": log.rank, "part": log.part, "from": offset}


# -- Events and logs ----------------------------------------------------------------------------------------


def test_a_subscriber_gets_what_it_misses_and_then_what_happens(world, server):
    for code in ("job.queued", "job.starting", "job.running"):
        record(world, code)
    append(world.log, b"0123456789")
    with Listener(server, world.member) as listener:
        answer = listener.subscribe("job:17", events_from=1, logs=[place(world.log, 4)])
        head = {"workload": str(world.log.workload_id), "rank": 0, "part": "output", "head": 10, "final": None}
        assert answer == {"type": "subscribed", "subject": "job:17", "seq": 3, "logs": [head]}
        assert listener.until_bytes(6) == b"456789"
        record(world, "job.succeeded")
        append(world.log, b"\x00\xffabc")
        assert listener.until_bytes(11) == b"456789\x00\xffabc"
        listener.until(lambda m: m.get("code") == "job.succeeded")
        heard = [m for m in listener.messages if m["type"] == "event"]
        assert [(m["seq"], m["code"]) for m in heard] == [(2, "job.starting"), (3, "job.running"), (4, "job.succeeded")]
        assert heard[0]["sentence"] == "job.starting." and heard[0]["subject"] == "job:17"


def test_without_a_position_events_come_from_now_on(world, server):
    record(world, "job.queued")
    with Listener(server, world.member) as listener:
        assert listener.subscribe("job:17")["seq"] == 1
        record(world, "job.running")
        assert listener.hear()["seq"] == 2


def test_gaps_and_the_end_are_told_once(world, server, quick_checks):
    append(world.log, b"abc", gaps=[Gap(3, 100, 1, 2)])
    with Listener(server, world.member) as listener:
        listener.subscribe("job:17", logs=[place(world.log, 0)])
        first = listener.until(lambda m: m["type"] == "gap")
        append(world.log, b"def", gaps=[Gap(6, 50, 3, 4)])
        second = listener.until(lambda m: m["type"] == "gap")
        logs.finish(world.log, 6)
        end = listener.until(lambda m: m["type"] == "complete")
        assert [(m["offset"], m["dropped_bytes"], m["from_ms"], m["to_ms"]) for m in (first, second)] == [
            (3, 100, 1, 2),
            (6, 50, 3, 4),
        ]
        assert (end["final"], listener.quiet(0.8)) == (6, [])


def test_all_logs_are_followed_with_those_that_come_later(world, server):
    append(world.log, b"".join(b"%d\n" % n for n in range(2000)))
    with Listener(server, world.member) as listener:
        listener.subscribe("job:17", logs="all")
        tail = listener.hear()
        assert (tail["data"].count(b"\n"), tail["data"][:5]) == (500, b"1500\n")
        later = world.open_log(rank=1)
        append(later, b"first\n")
        assert listener.hear()["data"] == b"first\n"
        append(later, b"second\n")
        assert listener.hear()["data"] == b"second\n"
    with Listener(server, world.member) as listener:
        listener.subscribe("job:17", logs="all", log_from="start")
        wait_total = len(b"".join(b"%d\n" % n for n in range(2000))) + len(b"first\nsecond\n")
        while sum(map(len, listener.logs.values())) < wait_total:
            listener.hear()


def test_a_log_that_is_named_before_it_exists_is_followed_from_its_start(world, server):
    ghost = Log(workload_id=GHOST, rank=2, part="output")
    with Listener(server, world.member) as listener:
        listener.subscribe("job:17", logs=[place(ghost, 0)])
        append(world.open_log(2, ghost.workload_id), b"here")
        assert listener.until_bytes(4) == b"here"


def test_subscribing_while_bytes_come_loses_and_repeats_nothing(world, server):
    """The race of fill and live, again and again, with a sealer at work."""
    log, model, done = world.log, bytearray(), threading.Event()

    def write() -> None:
        numbers = random.Random(17)
        for n in range(300):
            chunk = b"line %d %s\n" % (n, b"x" * numbers.choice([1, 50, 400, 9000]))
            append(log, chunk)
            model.extend(chunk)
            if n % 3 == 0:
                record(world, "job.running")
            if n % 40 == 0:
                segments.seal(log.pk)
            time.sleep(0.004)
        logs.finish(log, len(model))
        record(world, "job.succeeded")
        done.set()
        connection.close()

    def listen(number: int, listener: Listener) -> None:
        try:
            with listener:
                listener.subscribe("job:17", events_from=0, logs=[place(log, 0)])
                listener.until(lambda m: m.get("code") == "job.succeeded" or m["type"] == "complete", timeout=60)
                listener.until(lambda m: m.get("code") == "job.succeeded" or m["type"] == "complete", timeout=60)
                [data] = listener.logs.values()
                seqs = [m["seq"] for m in listener.messages if m["type"] == "event"]
                results[number] = (bytes(data) == bytes(model), seqs == list(range(1, 102)))
        except Exception as error:
            results[number] = error

    results: dict[int, object] = {}
    writer = threading.Thread(target=write)
    writer.start()
    listeners = []
    while not done.is_set() and len(listeners) < 12:
        listeners.append(threading.Thread(target=listen, args=(len(listeners), Listener(server, world.member))))
        listeners[-1].start()
        time.sleep(0.07)
    for thread in (writer, *listeners):
        thread.join(90)
    assert len(results) > 5
    assert set(results.values()) == {(True, True)}, results


def test_a_hot_log_is_gathered_and_the_first_bytes_go_at_once(world, server):
    with Listener(server, world.member) as listener:
        listener.subscribe("job:17", logs=[place(world.log, 0)])
        listener.quiet(0.2)
        began = time.monotonic()
        append(world.log, b"first\n")
        listener.hear()
        assert time.monotonic() - began < 0.1
        for n in range(100):
            append(world.log, b"%04d\n" % n)
            time.sleep(0.005)
        spent = time.monotonic() - began
        listener.until_bytes(6 + 500)
        assert listener.frames <= 25 * spent + 4


# -- Slow browsers ----------------------------------------------------------------------------------------


def test_a_browser_that_takes_nothing_for_a_while_gets_every_byte_later(world, server, quick_checks):
    log = world.log
    with Listener(server, world.member, max_queue=1) as listener:
        listener.subscribe("job:17", logs=[place(log, 0)])
        chunks = [bytes([n]) * 60_000 for n in range(100)]
        for chunk in chunks:  # 6 MB, more than the kernel's buffers and the socket's room
            append(log, chunk)
        time.sleep(0.5)
        assert listener.until_bytes(6_000_000) == b"".join(chunks)


def test_who_is_too_far_behind_is_told_so_once_and_goes_on_where_it_says(world, server, quick_checks):
    log = world.log
    for n in range(9):
        append(log, bytes([n]) * 1_000_000)
    with Listener(server, world.member) as listener:
        listener.subscribe("job:17", logs=[place(log, 0)])
        behind = listener.hear()
        assert (behind["type"], behind["head"], behind["workload"]) == ("behind", 9_000_000, str(log.workload_id))
        append(log, b"more")
        assert listener.quiet(0.8) == []
        listener.say(type="log", subject="job:17", **place(log, 8_999_998))
        assert listener.until_bytes(6) == b"\x08\x08more"
        append(log, b"live")
        assert listener.until_bytes(10) == b"\x08\x08morelive"


# -- Redis -------------------------------------------------------------------------------------------------


def test_redis_may_die_and_come_back(world, server, valkey, quick_checks):
    with Listener(server, world.member) as listener:
        listener.subscribe("job:17", events_from=0, logs=[place(world.log, 0)])
        append(world.log, b"before ")
        listener.until_bytes(7)
        valkey.kill()
        try:
            append(world.log, b"while away ")
            record(world, "job.running")
            assert listener.until_bytes(18) == b"before while away "
            began = time.monotonic()
            with Listener(server, world.member) as newcomer:
                newcomer.subscribe("job:17", logs=[place(world.log, 0)])
                assert newcomer.until_bytes(18) == b"before while away "
            assert time.monotonic() - began < 2
        finally:
            valkey.start()
        wait_for(lambda: valkey.client().exists("watched:job:17"))
        append(world.log, b"after")
        assert listener.until_bytes(23) == b"before while away after"
        listener.until(lambda m: m["type"] == "event")
        assert [m["seq"] for m in listener.messages if m["type"] == "event"] == [1]


def test_a_lost_announcement_is_made_good_by_the_next_comparison(world, server, quick_checks, monkeypatch):
    with Listener(server, world.member) as listener:
        listener.subscribe("job:17", events_from=0, logs=[place(world.log, 0)])
        listener.subscribe(world.subject.list_address)
        listener.quiet(0.3)
        monkeypatch.setattr("monitoring.announcements._send", lambda announcements: None)
        append(world.log, b"abc")
        record(world, "job.running")
        assert listener.until_bytes(3) == b"abc"
        listener.until(lambda m: m["type"] == "hint")
        listener.quiet(0.7)
        told = [(m["type"], m["subject"], m.get("seq")) for m in listener.messages if m["type"] in ("event", "hint")]
        assert sorted(told) == [("event", "job:17", 1), ("hint", "job:17", 1)]


def test_pages_of_lists_get_hints(world, server):
    host = subjects.ensure(kind="host", key="tpu-3", title="tpu-3")
    with Listener(server, world.member) as listener:
        listener.subscribe(world.subject.list_address)
        listener.subscribe("shared:all")
        record(world, "job.running")
        assert listener.hear() == {"type": "hint", "subject": "job:17", "seq": 1, "via": world.subject.list_address}
        with transaction.atomic():
            events.record(host, "host.ready", "Ready.", at=NOON)
        assert listener.hear() == {"type": "hint", "subject": "host:tpu-3", "seq": 1, "via": "shared:all"}


# -- The door -----------------------------------------------------------------------------------------------


def test_a_stranger_and_an_unknown_subject_are_refused_alike(world, server):
    with Listener(server, world.stranger) as listener:
        for address in ("job:17", "job:18", "nothing", world.subject.list_address, "project:999"):
            answer = listener.subscribe(address, events_from=0, logs="all")
            assert answer == {"type": "refused", "subject": address, "code": "no-such-subject"}
        record(world, "job.running")
        append(world.log, b"secret")
        assert listener.quiet(0.3) == []


@pytest.mark.parametrize(
    "origin",
    ["https://evil.example", "http://127.0.0.1:1", "http://localhost.evil.example", "null", None],
)
def test_a_page_that_is_not_ours_is_refused_before_it_is_accepted(world, server, origin):
    with pytest.raises(InvalidStatus) as raised:
        Listener(server, world.member, origin=origin)
    assert raised.value.response.status_code == 403


def test_our_pages_by_public_url_are_let_in(world, server, settings):
    settings.PUBLIC_URL = "https://panel.example"
    with Listener(server, world.member, origin="https://panel.example") as listener:
        assert listener.subscribe("job:17")["type"] == "subscribed"


def test_nobody_is_let_in_without_a_name(world, server, token):
    for wrong in ("", "tok-2"):
        with pytest.raises(InvalidStatus) as raised:
            Listener(server, token=wrong)
        assert raised.value.response.status_code == 403


def test_a_script_with_a_token_needs_no_origin(world, server, token):
    with Listener(server, token="tok-1", origin=None) as listener:
        assert listener.subscribe("job:17")["type"] == "subscribed"


def test_who_leaves_the_team_hears_nothing_more(world, server, quick_checks):
    with Listener(server, world.member) as listener:
        listener.subscribe("job:17", events_from=0, logs=[place(world.log, 0)])
        append(world.log, b"before")
        listener.until_bytes(6)
        world.membership.delete()
        refused = listener.until(lambda m: m["type"] == "refused")
        assert refused == {"type": "refused", "subject": "job:17", "code": "no-such-subject"}
        append(world.log, b"after")
        record(world, "job.running")
        assert listener.quiet(0.8) == []
        assert listener.subscribe("job:17")["type"] == "refused"


def test_who_leaves_the_team_while_taking_nothing_gets_only_what_was_under_way(world, server, quick_checks):
    log = world.log
    for n in range(8):
        append(log, bytes([n]) * 1_000_000)
    with Listener(server, world.member, max_queue=1) as listener:
        listener.subscribe("job:17", logs=[place(log, 0)])
        time.sleep(0.2)  # the socket is full
        world.membership.delete()
        time.sleep(0.8)
        append(log, b"after")
        assert not any(m["type"] == "bytes" and b"after" in m["data"] for m in listener.quiet(1.5))
        assert sum(map(len, listener.logs.values())) < 8_000_000


@pytest.mark.parametrize("how", ["signed out", "deactivated", "token revoked", "password changed"])
def test_whose_credentials_end_is_put_out(world, server, quick_checks, token, how):
    by_token = how == "token revoked"
    with Listener(server, None if by_token else world.member, token="tok-1" if by_token else "") as listener:
        listener.subscribe("job:17", logs=[place(world.log, 0)])
        match how:
            case "signed out":
                Session.objects.all().delete()
            case "deactivated":
                world.member.is_active = False
                world.member.save()
            case "token revoked":
                token.clear()
            case "password changed":
                world.member.set_password("another-password")
                world.member.save()
        assert listener.close_code() == 4403


# -- What clients say ----------------------------------------------------------------------------------------


def log_message(**wrong) -> str:
    return json.dumps({"type": "log", "subject": "job:17", "workload": GHOST, "rank": 0, "part": "output", "from": 0} | wrong)


def subscribe_message(**wrong) -> str:
    return json.dumps({"type": "subscribe", "subject": "job:17"} | wrong)


MALFORMED = [
    *("", "nothing", "[]", "17", "null", "{}", '{"type": "no such"}', '{"type": "subscribe"}', "[" * 60_000, b"\x00\xff"),
    *(subscribe_message(subject=wrong) for wrong in (17, "", "job:\x00", "job:\ud800", "x" * 200)),
    *(subscribe_message(events_from=wrong) for wrong in (-1, 1e3, "1", True, 10**20)),
    *(subscribe_message(logs=wrong) for wrong in ("some", [{}], [17], {}, None)),
    subscribe_message(logs="all", log_from="middle"),
    *(
        log_message(**wrong)
        for wrong in ({"workload": "x"}, {"rank": True}, {"rank": -1}, {"part": "x"}, {"from": None}, {"from": 2**63})
    ),
]


def test_malformed_messages_are_answered_and_the_socket_lives_on(world, server):
    with Listener(server, world.member) as listener:
        for text in MALFORMED:
            listener.socket.send(text)
            assert listener.hear() == {"type": "error", "code": "malformed"}, text
        listener.say(type="ping")
        assert listener.hear() == {"type": "pong"}


def test_a_message_that_is_too_long_ends_the_socket(world, server):
    with Listener(server, world.member) as listener:
        listener.socket.send(json.dumps({"type": "ping", "x": "y" * 70_000}))
        assert listener.close_code() == 1009


def test_subscriptions_of_a_socket_are_counted(world, server):
    for n in range(65):
        subjects.ensure(kind="job", key=n + 100, title="job", project=world.project)
    with Listener(server, world.member) as listener:
        answers = [listener.subscribe(f"job:{n + 100}") for n in range(65)]
        assert [a["type"] for a in answers] == ["subscribed"] * 64 + ["refused"]
        assert answers[64]["code"] == "too-many-subscriptions"
        listener.say(type="unsubscribe", subject="job:100")
        assert listener.subscribe("job:164")["type"] == "subscribed"


def test_unsubscribed_is_unheard(world, server):
    with Listener(server, world.member) as listener:
        listener.subscribe("job:17", events_from=0, logs="all")
        listener.say(type="unsubscribe", subject="job:17")
        listener.say(type="log", subject="job:17", **place(world.log, 0))
        assert listener.hear() == {"type": "refused", "subject": "job:17", "code": "not-subscribed"}
        record(world, "job.running")
        append(world.log, b"abc")
        assert listener.quiet(0.3) == []


def test_lost_bytes_of_one_log_stop_no_other(world, server):
    from django.core.files.storage import storages

    append(world.log, b"lost")
    segments.seal(world.log.pk)
    storages["logs"].delete(world.log.segments.get().name)
    other = world.open_log(rank=1)
    append(other, b"fine")
    with Listener(server, world.member) as listener:
        listener.subscribe("job:17", logs=[place(world.log, 0), place(other, 0)])
        assert listener.until_bytes(4) == b"fine"
        assert listener.until(lambda m: m["type"] == "error") == {
            "type": "error",
            "code": "log-bytes-lost",
            "subject": "job:17",
            "workload": str(world.log.workload_id),
            "rank": 0,
            "part": "output",
        }
