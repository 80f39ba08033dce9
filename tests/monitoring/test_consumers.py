from __future__ import annotations

import json
import os
import random
import socket
import threading
import time
from collections.abc import Iterator

import pytest
from django.contrib.sessions.models import Session
from django.db import connection, transaction
from django.utils import timezone
from websockets.exceptions import InvalidStatus

from agent.protocol import Gap
from monitoring import door, events, log_following, logs, metrics, objects, segments, subjects
from monitoring.consumers import SubjectConsumer
from monitoring.log_following import FRAME_EVERY_S
from monitoring.metric_chunks import Columns
from monitoring.models import Event, Log, Subject
from monitoring.positions import ByteRoom
from projects import tokens
from projects.actors import Actor

from .conftest import NOON, World
from .listening import Listener, Server, wait_for

pytestmark = pytest.mark.thorough
ONE_POINT = Columns([1], [1000], [0.5])
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
def dark_server(world) -> Iterator[Server]:
    """One whose Redis is away from the start."""
    server = Server().start()
    yield server
    server.stop()


def issue(world: World) -> tuple[tokens.ApiToken, str]:
    """A token of the member that may read, and its text."""
    return tokens.issue(user=world.member, name="script", scope="read", expires_at=None, by=Actor(user=world.member))


def record(world: World, code: str, at=NOON) -> None:
    with transaction.atomic():
        events.record(world.subject, code, f"{code}.", at=at)


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
        assert listener.frames <= spent / FRAME_EVERY_S + 4


# -- Slow browsers ----------------------------------------------------------------------------------------


def test_a_browser_that_takes_nothing_for_a_while_gets_every_byte_later(world, server, quick_checks):
    log = world.log
    with Listener(server, world.member, max_queue=1) as listener:
        listener.subscribe("job:17", logs=[place(log, 0)])
        chunks = [os.urandom(60_000) for _ in range(50)]  # 3 MB that do not compress: more than buffers and room hold
        for chunk in chunks:
            append(log, chunk)
        wait_for(server.is_held_up)
        append(log, b"last")
        assert listener.until_bytes(3_000_004) == b"".join(chunks) + b"last"


def test_what_a_browser_does_not_take_stays_in_the_store(world, server, monkeypatch):
    """Twenty hot logs: of one socket one frame at a time is in memory, and of what came live as much as its room holds."""
    rooms: list[ByteRoom] = []
    monkeypatch.setattr("monitoring.consumers.ByteRoom", lambda: rooms.append(ByteRoom()) or rooms[-1])
    others = [subjects.ensure(kind="job", key=n, title="job", project=world.project) for n in range(100, 120)]
    followed = [logs.open_log(subject=other, workload_id=GHOST, rank=n, part="output") for n, other in enumerate(others)]
    for log in followed:
        append(log, os.urandom(600_000))
    with Listener(server, world.member, max_queue=1) as listener:
        for log in followed:
            listener.subscribe(log.subject.address)
        for log in followed:  # it takes nothing from here on
            listener.say(type="log", subject=log.subject.address, **place(log, 0))
        wait_for(server.is_held_up)
        held = 0
        for n in range(60):
            append(followed[n % 20], os.urandom(50_000))
            held = max(held, server.unsent_bytes())
        assert 0 < held < 2 * log_following.FRAME_BYTES
        assert [room.used_bytes <= room.limit_bytes for room in rooms] == [True]
        while sum(map(len, listener.logs.values())) < 20 * 600_000 + 60 * 50_000:
            held = max(held, server.unsent_bytes())
            listener.hear()
        assert held < 2 * log_following.FRAME_BYTES


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


def test_without_redis_a_page_fills_from_the_store_and_follows_by_comparing(world, dark_server, quick_checks):
    record(world, "job.queued")
    append(world.log, b"before ")
    with Listener(dark_server, world.member) as listener:
        began = time.monotonic()
        listener.subscribe("job:17", events_from=0, logs=[place(world.log, 0)])
        listener.subscribe(world.subject.list_address)
        assert listener.until_bytes(7) == b"before "
        assert time.monotonic() - began < 2
        record(world, "job.running")
        append(world.log, b"after")
        assert listener.until_bytes(12) == b"before after"
        told = [("event", "job:17", 1), ("event", "job:17", 2), ("hint", "job:17", 2)]
        while len(listener.messages) < 5:
            listener.hear()
        assert sorted((m["type"], m["subject"], m["seq"]) for m in listener.messages if m["type"] in ("event", "hint")) == told


def test_a_word_that_comes_while_the_store_is_read_is_not_forgotten(world, server, monkeypatch):
    """The log ends, and is gone on with, after it was read and before that was taken note of."""
    read, reads = log_following._read, []

    def read_then_end(*args, **more):
        found = read(*args, **more)
        if not reads:
            reads.append(1)
            logs.finish(world.log, 3)
            time.sleep(0.3)  # until the word has come
        return found

    monkeypatch.setattr(log_following, "_read", read_then_end)
    append(world.log, b"abc")
    with Listener(server, world.member) as listener:
        listener.subscribe("job:17", logs=[place(world.log, 0)])
        assert listener.until(lambda m: m["type"] == "complete", timeout=5)["final"] == 3  # earlier than the next comparison


def test_a_page_of_a_list_hears_what_happened_while_it_was_on_its_way(world, server):
    record(world, "job.queued", at=timezone.now())
    with Listener(server, world.member) as listener:
        assert listener.subscribe(world.subject.list_address)["type"] == "subscribed"
        assert listener.hear() == {"type": "hint", "subject": "job:17", "seq": 1, "via": world.subject.list_address}


def test_a_list_misses_none_of_very_many_changes(world, server, quick_checks):
    jobs = Subject.objects.bulk_create(
        [Subject(kind="job", key=str(n), title="job", project=world.project, seq=1) for n in range(1000, 1600)]
    )
    with Listener(server, world.member) as listener:
        listener.subscribe(world.subject.list_address)
        Event.objects.bulk_create([Event(subject=job, seq=1, at=NOON, code="job.running", sentence="On.") for job in jobs])
        wait_for(lambda: listener.hear()["type"] == "hint" and len(listener.messages) == 1 + len(jobs), timeout=20)
        assert {m["subject"] for m in listener.messages[1:]} == {job.address for job in jobs}


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
    ["http://[::1", "https://evil.example", "http://127.0.0.1:1", "http://localhost.evil.example", "null", None],
)
def test_a_page_that_is_not_ours_is_refused_before_it_is_accepted(world, server, origin):
    with pytest.raises(InvalidStatus) as raised:
        Listener(server, world.member, origin=origin)
    assert raised.value.response.status_code == 403


def test_our_pages_by_public_url_are_let_in(world, server, settings):
    settings.PUBLIC_URL = "https://panel.example"
    with Listener(server, world.member, origin="https://panel.example") as listener:
        assert listener.subscribe("job:17")["type"] == "subscribed"


def test_nobody_is_let_in_without_a_name(world, server):
    for wrong in ("", "tpu_unknown"):
        with pytest.raises(InvalidStatus) as raised:
            Listener(server, token=wrong)
        assert raised.value.response.status_code == 403


def test_a_script_with_a_token_needs_no_origin(world, server):
    with Listener(server, token=issue(world)[1], origin=None) as listener:
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
    for _ in range(4):
        append(log, os.urandom(1_000_000))  # compressed, all of it would fit into the buffers on the way
    with Listener(server, world.member, max_queue=1) as listener:
        listener.subscribe("job:17", logs=[place(log, 0)])
        wait_for(server.is_held_up)
        world.membership.delete()
        wait_for(lambda: not server.followed())
        listener.until(lambda m: m["type"] == "refused")
        assert listener.quiet(0.5) == []
        assert 0 < sum(map(len, listener.logs.values())) < 2_000_000


@pytest.mark.parametrize("how", ["signed out", "deactivated", "token revoked", "password changed"])
def test_whose_credentials_end_is_put_out(world, server, quick_checks, how):
    token, text = issue(world)
    by_token = how == "token revoked"
    with Listener(server, None if by_token else world.member, token=text if by_token else "") as listener:
        listener.subscribe("job:17", logs=[place(world.log, 0)])
        match how:
            case "signed out":
                Session.objects.all().delete()
            case "deactivated":
                world.member.is_active = False
                world.member.save()
            case "token revoked":
                tokens.revoke(token=token, by=Actor(user=world.member))
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


def test_what_is_left_or_refused_is_not_followed(world, server):
    with Listener(server, world.member) as listener:
        for n in range(150):
            listener.say(type="subscribe", subject=f"job:{n + 1000}", logs="all")
        for _ in range(40):
            listener.say(type="subscribe", subject="job:17", logs="all")
            listener.say(type="unsubscribe", subject="job:17")
        listener.say(type="ping")
        listener.until(lambda m: m["type"] == "pong")
        told = [m["type"] for m in listener.messages]
        assert (told.count("refused"), told.count("subscribed")) == (150, 40)
        wait_for(lambda: (server.followed(), server.tasks()) == (set(), ["checks of a socket"]))


@pytest.mark.parametrize("how", ["closed", "torn"])
def test_who_is_gone_leaves_nothing(world, server, valkey, how):
    listener = Listener(server, world.member)
    listener.subscribe("job:17", logs="all")
    listener.subscribe(world.subject.list_address)
    wait_for(lambda: (len(server.followed()), len(server.tasks())) == (2, 3))
    if how == "closed":
        listener.socket.close()
    else:
        listener.socket.socket.shutdown(socket.SHUT_RDWR)
    wait_for(lambda: (server.followed(), server.tasks()) == (set(), []))
    assert 0 < valkey.client().ttl("watched:job:17") <= 30  # and nobody renews it
    listener.__exit__()


def test_who_takes_nothing_for_long_is_given_up(world, server, monkeypatch):
    """Its connection still stands: a machine that was switched off says nothing."""
    monkeypatch.setattr(SubjectConsumer, "give_up_s", 0.5)
    append(world.log, os.urandom(2_000_000))
    with Listener(server, world.member, max_queue=1, close_timeout=0.1) as listener:
        listener.subscribe(world.subject.list_address)
        listener.subscribe("job:17", logs=[place(world.log, 0)])
        wait_for(lambda: server.is_held_up() and server.tasks())
        wait_for(lambda: (server.followed(), server.tasks()) == (set(), []))
        assert server.is_held_up()
        assert listener.close_code() == 1013  # who comes back after all is told to connect anew


def test_who_subscribes_during_a_check_is_not_refused_by_it(world, server, quick_checks, monkeypatch):
    still_admitted, is_asked, may_answer = door.still_admitted, threading.Event(), threading.Event()

    def answer_late(scope, addresses):
        admitted = still_admitted(scope, addresses)
        is_asked.set()
        may_answer.wait(10)
        return admitted

    monkeypatch.setattr(door, "still_admitted", answer_late)
    with Listener(server, world.member) as listener:
        assert is_asked.wait(10)
        assert listener.subscribe("job:17")["type"] == "subscribed"
        may_answer.set()
        record(world, "job.running")
        listener.until(lambda m: m["type"] == "event")
        assert [m for m in listener.quiet(0.5) if m["type"] == "refused"] == []


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


def test_a_storage_that_is_away_holds_up_no_other_log_and_is_asked_again(world, server, monkeypatch):
    monkeypatch.setattr(log_following, "RETRY_S", 0.1)
    append(world.log, b"later")
    segments.seal(world.log.pk)
    other = world.open_log(rank=1)
    append(other, b"fine")
    is_away, load = threading.Event(), objects.load
    is_away.set()

    def load_unless_away(name, size_bytes):
        if is_away.is_set():
            raise PermissionError(13, "Permission denied")
        return load(name, size_bytes)

    monkeypatch.setattr(objects, "load", load_unless_away)
    with Listener(server, world.member) as listener:
        listener.subscribe("job:17", logs=[place(world.log, 0), place(other, 0)])
        assert listener.until_bytes(4) == b"fine"
        is_away.clear()
        wait_for(lambda: listener.hear() and b"later" in listener.logs.values())


# -- Metrics ------------------------------------------------------------------------------------------------


def test_who_asks_for_metrics_is_told_which_have_news(world, server):
    metrics.append(world.subject, {"loss": ONE_POINT}, workload_id=world.log.workload_id)
    with Listener(server, world.member) as listener:
        listener.subscribe("job:17", metrics=True)
        listener.until(lambda m: m == {"type": "metrics", "subject": "job:17", "names": ["loss"]})
        metrics.append(world.subject, {"loss": ONE_POINT, "accuracy": ONE_POINT}, workload_id=world.log.workload_id)
        listener.until(lambda m: m == {"type": "metrics", "subject": "job:17", "names": ["accuracy", "loss"]})


def test_metrics_whose_live_word_was_lost_are_told_at_the_next_comparison(world, server, quick_checks, monkeypatch):
    with Listener(server, world.member) as listener:
        listener.subscribe("job:17", metrics=True)
        monkeypatch.setattr(metrics.announcements, "announce_metrics", lambda *_: None)
        metrics.append(world.subject, {"loss": ONE_POINT}, workload_id=world.log.workload_id)
        listener.until(lambda m: m == {"type": "metrics", "subject": "job:17", "names": ["loss"]})


def test_an_end_that_is_known_before_the_last_bytes_is_told_with_them(world, server):
    with Listener(server, world.member) as listener:
        logs.finish(world.log, 3)
        listener.subscribe("job:17", logs=[place(world.log, 0)])
        assert listener.quiet(0.3) == []  # it has looked, and the end is yet to come
        append(world.log, b"abc")
        assert listener.until_bytes(3) == b"abc"
        assert listener.until(lambda m: m["type"] == "complete", timeout=5)["final"] == 3  # earlier than the next comparison


# -- What is counted -----------------------------------------------------------------------------------------


def test_who_asks_for_changes_is_told_that_there_are_some(world, server):
    subjects.changed(world.subject)
    with Listener(server, world.member) as listener:
        listener.subscribe("job:17", changes=0)
        listener.until(lambda m: m == {"type": "changes", "subject": "job:17", "count": 1})
        subjects.changed(world.subject)
        listener.until(lambda m: m == {"type": "changes", "subject": "job:17", "count": 2})


def test_who_has_drawn_the_last_change_or_asks_for_none_is_not_told(world, server):
    subjects.changed(world.subject)
    for wanted in ({"changes": 1}, {}):
        with Listener(server, world.member) as listener:
            listener.subscribe("job:17", **wanted)
            assert not [m for m in listener.quiet(0.5) if m["type"] == "changes"]


def test_a_change_whose_live_word_was_lost_is_told_at_the_next_comparison(world, server, quick_checks, monkeypatch):
    with Listener(server, world.member) as listener:
        listener.subscribe("job:17", changes=0)
        monkeypatch.setattr(subjects.announcements, "announce_changes", lambda *_: None)
        subjects.changed(world.subject)
        listener.until(lambda m: m == {"type": "changes", "subject": "job:17", "count": 1})
