"""Who waits for a job hears of its end as soon as it is there, and holds nothing up meanwhile."""

from __future__ import annotations

import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor

import httpx
import pytest
from django.core.asgi import get_asgi_application

from jobs import attempts, services, waiting_api
from monitoring import live
from projects import tokens
from projects.actors import Actor
from tests.factories import NOON, a_job, a_token
from tests.monitoring.listening import Server, wait_for

pytestmark = [pytest.mark.usefixtures("shared_database"), pytest.mark.thorough]


@pytest.fixture
def server(vision, valkey):
    server = Server(get_asgi_application()).start()
    yield server
    server.stop()


@pytest.fixture
def job(vision):
    return a_job(project=vision.project, by=vision.member)


@pytest.fixture
def wait(server, vision, job):
    """wait(**query): the answer that is on its way to the job's viewer."""
    token = a_token(user=vision.viewer, scope="read")[1]
    pool = ThreadPoolExecutor()

    def ask(*, token: str = token, **query) -> Future[httpx.Response]:
        address, headers = f"{server.origin}/api/v1/jobs/{job.pk}/wait", {"Authorization": f"Bearer {token}"}
        return pool.submit(httpx.get, address, params=query, headers=headers, timeout=30)

    yield ask
    pool.shutdown()


def end(vision, job) -> None:
    services.cancel(job=job, by=Actor(user=vision.member), now=NOON)
    attempts.follow(now=NOON)


def test_the_answer_comes_with_the_end(vision, job, server, wait):
    started = time.monotonic()
    waits = [wait(timeout_s=20) for _ in range(5)]
    wait_for(lambda: len(followers(server, job)) == 5)
    end(vision, job)
    answers = [one.result() for one in waits]
    assert time.monotonic() - started < 10
    assert [(a.status_code, a.json()["number"], a.json()["state"]) for a in answers] == [(200, job.pk, "canceled")] * 5
    assert answers[0].headers["Content-Type"] == "application/json"
    wait_for(lambda: not server.followed())


def followers(server: Server, job) -> list:
    return [
        follower
        for loop, reader in list(live._readers.items())
        if loop is server._loop
        for follower in (reader._streams[f"job:{job.pk}"].followers if f"job:{job.pk}" in reader._streams else [])
    ]


def test_without_an_end_the_job_comes_after_that_time_as_it_is(job, wait):
    started = time.monotonic()
    answer = wait(timeout_s=1).result()
    assert 1 <= time.monotonic() - started < 5
    assert answer.json()["state"] == "queued"


def test_a_job_that_has_ended_is_told_at_once(vision, job, wait):
    end(vision, job)
    assert wait(timeout_s=60).result().json()["state"] == "canceled"


def test_no_time_is_no_wait(job, wait):
    assert wait(timeout_s=0).result().json()["state"] == "queued"


def test_only_the_fields_that_are_asked_for_come(vision, job, wait):
    assert wait(timeout_s=1, fields="number,state").result().json() == {"number": job.pk, "state": "queued"}
    refused = wait(timeout_s=1, fields="number,colour").result()
    assert (refused.status_code, list(refused.json()["details"])) == (422, ["fields"])


@pytest.mark.parametrize("timeout_s", ["61", "-1", "1.5", "x"])
def test_a_time_that_is_none_is_told(job, wait, timeout_s):
    answer = wait(timeout_s=timeout_s).result()
    assert (answer.status_code, list(answer.json()["details"])) == (422, ["timeout_s"])


def test_a_stranger_and_nobody_wait_for_nothing(vision, job, wait):
    answers = [wait(token=a_token(user=vision.stranger)[1]).result(), wait(token="tpu_unknown").result()]
    assert [answer.status_code for answer in answers] == [404, 401]


def test_whose_token_is_revoked_meanwhile_is_told_nothing(vision, job, server, wait):
    waiting = wait(timeout_s=20)
    wait_for(lambda: followers(server, job))
    tokens.revoke(token=tokens.of(vision.viewer).get(), by=Actor(user=vision.viewer))
    end(vision, job)
    assert waiting.result().content.strip() == b""


def test_whose_token_is_revoked_holds_the_connection_no_longer(vision, job, server, wait, monkeypatch):
    monkeypatch.setattr(waiting_api, "LOOK_EVERY_S", 0.3)
    waiting = wait(timeout_s=25)
    wait_for(lambda: followers(server, job))
    tokens.revoke(token=tokens.of(vision.viewer).get(), by=Actor(user=vision.viewer))
    assert waiting.result(timeout=10).content.strip() == b""


def test_an_end_of_which_no_word_came_is_seen_all_the_same(vision, job, server, wait, monkeypatch):
    monkeypatch.setattr(waiting_api, "LOOK_EVERY_S", 0.3)
    waiting = wait(timeout_s=20)
    wait_for(lambda: followers(server, job))
    monkeypatch.setattr("monitoring.announcements._send", lambda announcements: None)
    end(vision, job)
    assert waiting.result().json()["state"] == "canceled"


def test_the_database_is_left_alone_while_nothing_happens(job, wait, monkeypatch):
    looks, is_to_wait = [], waiting_api._is_to_wait
    monkeypatch.setattr(waiting_api, "_is_to_wait", lambda *about: looks.append(about) or is_to_wait(*about))
    wait(timeout_s=4).result()
    assert len(looks) <= 3  # at the beginning, a second after the live stream has begun, at the end


def test_who_waits_holds_no_thread(job, server, wait):
    def threads() -> set[threading.Thread]:
        return {thread for thread in threading.enumerate() if thread.name.startswith("ThreadPoolExecutor")}

    before = threads()  # pools of tests before this one may still be ending theirs
    waiting = wait(timeout_s=3)
    wait_for(lambda: followers(server, job))
    wait_for(lambda: len(threads() - before) == 1)  # the test's own, which waits for the answer
    assert waiting.result().json()["state"] == "queued"
