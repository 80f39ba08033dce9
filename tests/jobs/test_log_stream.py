"""Who follows a log gets each byte once, whatever happens between, and hears nothing that they may not."""

from __future__ import annotations

import random
import socket
import threading
from types import SimpleNamespace

import httpx
import pytest
from django.contrib.auth.models import User
from django.core.asgi import get_asgi_application
from django.db import transaction

from agent.protocol import PROGRESS_STEP, PROGRESS_TOTAL, Gap
from clusters import ranks, sweep, workloads
from clusters.scheduling import schedule
from jobs import attempts, log_outlet, log_stream, services
from jobs.models import Job
from monitoring import logs, long_answers, metrics, segments
from monitoring.metric_chunks import Columns
from monitoring.models import Log, LogPiece
from projects import tokens
from projects.actors import Actor
from projects.models import Membership
from tests.clusters.steps import after
from tests.factories import NOON, a_host, a_job, a_token
from tests.jobs.following import Reader
from tests.monitoring.listening import Server, wait_for

pytestmark = [pytest.mark.usefixtures("shared_database", "quick_checks"), pytest.mark.thorough]


@pytest.fixture
def quick_checks(settings):
    settings.STREAM_CHECK_S = 0.3


@pytest.fixture
def server(vision, valkey):
    server = Server(get_asgi_application()).start()
    yield server
    server.stop()


@pytest.fixture
def job(vision):
    return a_job(project=vision.project, by=vision.member)


@pytest.fixture
def follow(server, vision, job):
    """follow(**query) reads the log of the job as its viewer."""
    token, opened = a_token(user=vision.viewer, scope="read")[1], []

    def open_(*, last_id: str = "", token: str = token, of: Job = job, options=None, **query) -> Reader:
        address = f"{server.origin}/api/v1/jobs/{of.pk}/log/stream"
        address += "?" + "&".join(f"{name}={value}" for name, value in query.items())
        opened.append(Reader(address, token, last_id=last_id, **(options or {})))
        return opened[-1]

    yield open_
    for reader in opened:
        reader.close()


def log_of(job, *, rank=0, part="output", workload_id=None) -> Log:
    return logs.open_log(subject=job.subject, workload_id=workload_id or job.workload_id, rank=rank, part=part)


def append(log: Log, data: bytes, **fields) -> None:
    logs.append(log, offset=Log.objects.values_list("head_offset", flat=True).get(pk=log.pk), data=data, now=NOON, **fields)


def test_a_log_is_followed_from_its_start_to_its_end(job, follow):
    log = log_of(job)
    append(log, "größer\n".encode())
    reader = follow()
    assert reader.answer.headers["Content-Type"] == "text/event-stream"
    assert reader.answer.headers["Cache-Control"] == "no-store"
    reader.until_bytes(9)
    append(log, b"more\n")
    reader.until_bytes(14)
    logs.finish(log, 14)
    assert reader.rest() == [("complete", {"attempt": 1, "rank": 0, "offset": 14})]
    assert reader.events[0] == (
        "attempt",
        {"attempt": 1, "rank": 0, "workload": str(job.workload_id), "part": "output", "offset": 0},
    )
    assert reader.of("log") == [
        {"attempt": 1, "rank": 0, "offset": 0, "text": "größer\n"},
        {"attempt": 1, "rank": 0, "offset": 9, "text": "more\n"},
    ]
    assert reader.last_id == "1:14"


def test_bytes_that_are_no_text_are_exact_all_the_same(job, follow):
    log, data = log_of(job), b"nul\0 \xff\xfe \x1b[31m\r" + "模".encode()[:2]
    append(log, data)
    logs.finish(log, len(data))
    reader = follow()
    reader.rest()
    assert reader.data == data
    assert [event[0] for event in reader.events if event[0] != "job"] == ["attempt", "log", "log", "complete"]


def test_a_character_that_comes_in_two_parts_is_shown_whole(job, follow):
    log, whole = log_of(job), "模型".encode()
    append(log, whole[:4])
    reader = follow()
    reader.until_bytes(3)
    append(log, whole[4:])
    reader.until_bytes(6)
    assert [data["text"] for data in reader.of("log")] == ["模", "型"]


def test_a_log_that_does_not_exist_yet_is_followed_from_its_first_byte(job, follow):
    reader = follow()
    reader.until(lambda name, _: name == "job")
    append(log_of(job), b"first\n")
    assert reader.until_bytes(6) == b"first\n"


def test_who_comes_again_goes_on_where_they_were(job, follow):
    log = log_of(job)
    append(log, bytes(range(256)) * 100)
    moments, last_id, data = random.Random(7), "", b""
    for _ in range(12):
        append(log, bytes(moments.randrange(256) for _ in range(3000)))
        reader = follow(last_id=last_id)
        reader.until_bytes(moments.randrange(1, 2900))
        last_id, data = reader.last_id, data + reader.data
        reader.close()
    logs.finish(log, log_head(log))
    reader = follow(last_id=last_id)
    assert reader.rest()[-1][0] == "complete"
    assert data + reader.data == b"".join(logs.iterate(log))


def log_head(log: Log) -> int:
    return Log.objects.values_list("head_offset", flat=True).get(pk=log.pk)


def test_an_offset_alone_is_taken_as_an_id(job, follow):
    append(log_of(job), b"0123456789")
    assert follow(last_id="4").until_bytes(6) == b"456789"


def test_a_log_larger_than_what_a_page_is_sent_is_brought_whole(job, follow):
    log = log_of(job)
    for _ in range(12):
        append(log, random.Random(3).randbytes(1024 * 1024))
    segments.seal(log.pk)
    logs.finish(log, log_head(log))
    reader = follow()
    assert reader.rest()[-1][0] == "complete"
    assert reader.data == b"".join(logs.iterate(log))


@pytest.mark.parametrize(
    ("query", "data"),
    [
        ({"offset": 4}, b"two\nthree"),
        ({"line": 1}, b"two\nthree"),
        ({"tail": 3}, b"ree"),
        ({"tail_lines": 1}, b"three"),
        ({"tail_lines": 0}, b""),
        ({"line": 9}, b""),
    ],
)
def test_it_begins_where_it_is_asked_to(job, follow, query, data):
    log = log_of(job)
    append(log, b"one\ntwo\nthree")
    logs.finish(log, 13)
    reader = follow(**query)
    reader.rest()
    assert reader.data == data
    assert reader.of("attempt")[0]["offset"] == 13 - len(data)


def test_each_rank_and_part_is_followed_by_itself(job, follow):
    append(log_of(job, rank=1), b"of rank 1")
    append(log_of(job, part="prepare"), b"preparing")
    one, preparing = follow(rank=1), follow(part="prepare")
    append(log_of(job), b"another")
    assert (one.until_bytes(9), preparing.until_bytes(9)) == (b"of rank 1", b"preparing")
    assert one.of("attempt")[0]["rank"] == 1


def test_gaps_are_told_and_told_again_to_who_comes_again(job, follow):
    log = log_of(job)
    append(log, b"abc", gaps=[Gap(3, 500, 1000, 2000)])
    gap = {"attempt": 1, "rank": 0, "offset": 3, "dropped_bytes": 500, "from_ms": 1000, "to_ms": 2000}
    reader = follow()
    assert reader.until(lambda name, _: name == "gap") == gap
    append(log, b"def")
    reader.until_bytes(6)
    again = follow(last_id=reader.last_id)
    assert again.until(lambda name, _: name == "gap") == gap


def test_an_attempt_that_never_ran_ends_its_stream(vision, job, follow):
    reader = follow()
    services.cancel(job=job, by=Actor(user=vision.member), now=NOON)
    attempts.follow(now=NOON)
    last = reader.rest()[-1]
    assert last == (
        "incomplete",
        {"attempt": 1, "rank": 0, "offset": 0, "code": "no-log", "message": "The attempt has ended and printed nothing."},
    )


@pytest.fixture
def lost(job):
    """The job was taken by a host that is lost now, and its log has no end."""
    host = a_host()
    schedule(now=NOON)
    ranks.claim(job.workload_id, 0, host=host, now=NOON)
    append(log_of(job), b"last words")
    workloads.abandon(job.workload_id, now=NOON)
    return job


def test_an_end_that_does_not_come_is_waited_for_a_little(lost, follow, monkeypatch):
    monkeypatch.setattr(log_stream, "timezone", SimpleNamespace(now=lambda: after(9)))
    reader = follow()
    reader.until_bytes(10)
    monkeypatch.setattr(log_stream, "timezone", SimpleNamespace(now=lambda: after(11)))
    ((name, data),) = [event for event in reader.rest() if event[0] != "job"]
    assert (name, data["code"], data["offset"], reader.data) == ("incomplete", "no-end", 10, b"last words")


def test_what_is_stored_is_brought_before_a_missing_end_is_told(lost, follow, monkeypatch):
    append(log_of(lost), b"x" * 3_000_000)
    monkeypatch.setattr(log_stream, "timezone", SimpleNamespace(now=lambda: after(11)))
    reader = follow()
    assert reader.rest()[-1][0] == "incomplete"
    assert len(reader.data) == 3_000_010


def test_bytes_that_the_panel_has_lost_are_told(job, follow):
    log = log_of(job)
    append(log, b"here")
    append(log, b"lost")
    LogPiece.objects.filter(log=log, offset=4).delete()
    last = follow().rest()[-1]
    assert (last[0], last[1]["code"]) == ("failure", "log-hole")


def test_the_job_is_told_of_whenever_it_has_news(vision, job, follow, monkeypatch):
    monkeypatch.setattr(log_stream, "NEWS_EVERY_S", 0.0)
    reader = follow()
    first = reader.until(lambda name, _: name == "job")
    assert first == {
        "number": job.pk,
        "state": "queued",
        "reason": {"code": "no-pass-yet", "sentence": "The scheduler has not looked at it yet."},
        "progress": None,
    }
    host = a_host()
    schedule(now=NOON)
    attempts.follow(now=NOON)
    assert reader.until(lambda name, data: name == "job" and data["state"] == "starting")["reason"]["code"] == "placed"
    ranks.claim(job.workload_id, 0, host=host, now=NOON)
    Job.objects.filter(pk=job.pk).update(state="running", started_at=NOON)
    points = {PROGRESS_STEP: Columns([1], [1], [30.0]), PROGRESS_TOTAL: Columns([1], [1], [120.0])}
    with transaction.atomic():
        metrics.append(job.subject, points, workload_id=job.workload_id, rank=0)
    told = reader.until(lambda name, data: name == "job" and data["progress"])
    assert told["progress"] == {"step": 30, "total": 120, "percent": 25, "left_s": None}


def test_an_attempt_is_followed_by_number_and_the_last_one_unasked(job, follow):
    first = job.workload_id
    a_host()
    schedule(now=NOON)
    sweep.end_unclaimed({}, now=after(60))
    attempts.follow(now=after(61))
    job.refresh_from_db()
    append(log_of(job, workload_id=first), b"of the first")
    append(log_of(job), b"of the second")
    assert follow().until_bytes(13) == b"of the second"
    reader = follow(attempt=1)
    assert reader.until_bytes(12) == b"of the first"
    assert follow(last_id="1:7").until_bytes(5) == b"first"
    assert follow(last_id="2:7", attempt=1).answer.status_code == 422


# -- Who may ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "end_of",
    [
        lambda vision: Membership.objects.filter(user=vision.viewer).delete(),
        lambda vision: User.objects.filter(pk=vision.viewer.pk).update(is_active=False),
        lambda vision: tokens.revoke(token=tokens.of(vision.viewer).get(), by=Actor(user=vision.viewer)),
    ],
    ids=["left the team", "deactivated", "token revoked"],
)
def test_who_may_see_it_no_more_hears_nothing_more(vision, job, follow, end_of):
    log = log_of(job)
    append(log, b"before")
    reader = follow()
    reader.until_bytes(6)
    end_of(vision)
    last = reader.rest()[-1]
    append(log, b"after")
    assert (last[0], set(last[1])) == ("refused", {"code", "message"})
    assert last[1]["code"] in ("no-such-job", "not-signed-in")
    assert reader.data == b"before"


def test_a_stranger_and_a_wrong_token_get_an_error_as_json(vision, job, follow):
    stranger = follow(token=a_token(user=vision.stranger)[1]).answer
    unknown = follow(token="tpu_unknown").answer
    assert [(a.status_code, a.headers["Content-Type"]) for a in (stranger, unknown)] == [
        (404, "application/json"),
        (401, "application/json"),
    ]


@pytest.mark.parametrize("last_id", ["x", "1:", ":4", "1:2:3", "-4", "1:" + "9" * 19])
def test_an_id_that_is_none_is_told(job, follow, last_id):
    answer = follow(last_id=last_id).answer
    assert (answer.status_code, list(httpx.Response(422, content=answer.read()).json()["details"])) == (422, ["Last-Event-ID"])


# -- What it holds ---------------------------------------------------------------------------------------------


def test_a_reader_that_takes_nothing_is_brought_no_more_than_fits(job, follow, server):
    log = log_of(job)
    reader = follow(options={"transport": small_transport()})
    reader.until(lambda name, _: name == "job")
    for _ in range(40):
        append(log, b"x" * 500_000)
    wait_for(lambda: is_held_up(server))
    assert server.unsent_bytes() < 1_500_000
    logs.finish(log, 20_000_000)
    assert reader.rest()[-1][0] == "complete"
    assert len(reader.data) == 20_000_000


def test_a_reader_that_takes_nothing_for_long_is_let_go_and_may_come_again(job, follow, server, monkeypatch):
    monkeypatch.setattr(log_outlet, "GIVE_UP_S", 0.2)
    log = log_of(job)
    reader = follow(options={"transport": small_transport()})
    for _ in range(10):
        append(log, b"y" * 500_000)
    wait_for(lambda: is_held_up(server))
    wait_for(lambda: not server.followed())
    assert reader.rest()[-1][0] == "log"  # no last word: come again
    assert len(reader.data) < 5_000_000
    logs.finish(log, 5_000_000)
    again = follow(last_id=reader.last_id)
    assert again.rest()[-1][0] == "complete"
    assert len(reader.data) + len(again.data) == 5_000_000


def is_held_up(server: Server) -> bool:
    return any(protocol.flow.write_paused for protocol in list(server._server.server_state.connections))


def small_transport() -> httpx.HTTPTransport:
    return httpx.HTTPTransport(socket_options=[(socket.SOL_SOCKET, socket.SO_RCVBUF, 64 * 1024)])


def test_followers_hold_no_thread_and_leave_nothing_behind(job, follow, server):
    append(log_of(job), b"z")
    threads = threads_of_requests()
    readers = [follow() for _ in range(12)]
    for reader in readers:
        reader.until_bytes(1)
    wait_for(lambda: threads_of_requests() <= threads)
    assert server.followed() == {f"job:{job.pk}"}
    for reader in readers:
        reader.close()
    wait_for(lambda: not server.followed())
    wait_for(lambda: not server.tasks())


def threads_of_requests() -> int:
    """Those that asgiref makes for requests, one each; what reads for followers has a pool of its own (asyncio_n)."""
    return len([thread for thread in threading.enumerate() if thread.name.startswith("ThreadPoolExecutor")])


def test_a_quiet_log_is_commented_on_without_a_look_at_the_database(job, follow, settings, monkeypatch):
    monkeypatch.setattr(log_outlet, "KEEP_ALIVE_S", 0.3)
    settings.STREAM_CHECK_S = 60
    looks = []
    standing, news = log_stream._standing, log_stream._news
    monkeypatch.setattr(log_stream, "_standing", lambda wanted: looks.append("standing") or standing(wanted))
    monkeypatch.setattr(log_stream, "_news", lambda wanted: looks.append("news") or news(wanted))
    reader = follow()
    reader.until(lambda name, _: name == "job")
    reader.hear_comments(10)
    assert len(looks) <= 4  # when it begins, and once the live stream has


def test_a_word_that_is_lost_is_made_up_for_by_the_next_check(job, follow, monkeypatch):
    log = log_of(job)
    reader = follow()
    reader.until(lambda name, _: name == "job")
    monkeypatch.setattr("monitoring.announcements._send", lambda announcements: None)
    append(log, b"unheard")
    assert reader.until_bytes(7) == b"unheard"


def test_the_end_of_the_process_ends_a_stream_at_once(job, follow, server):
    append(log_of(job), b"a")
    reader = follow()
    reader.until_bytes(1)
    long_answers.end_all()
    assert [name for name, _ in reader.rest() if name != "job"] == []  # no last word: come again


def test_who_comes_while_the_process_ends_is_told_to_come_again(job, follow, server, monkeypatch):
    monkeypatch.setattr(long_answers, "_is_ending", threading.Event())
    append(log_of(job), b"a")
    long_answers._told(lambda *_: None, 15, None)
    assert [name for name, _ in follow().rest() if name not in ("log", "job")] == ["attempt"]


def test_who_goes_at_once_is_left_at_once(job, follow, server):
    follow().close()
    wait_for(lambda: not server.followed())
