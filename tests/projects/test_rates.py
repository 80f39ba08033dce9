from __future__ import annotations

import pytest
from rest_framework.test import APIClient

from projects import rates
from tests.factories import a_token, a_user

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _three_a_minute(settings, valkey):
    settings.API_RATE = "3/minute"


@pytest.fixture
def ann():
    return a_user(username="ann")


def asks(user):
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {a_token(user=user)[1]}")
    return client.get("/api/v1/me")


def test_each_answer_says_what_is_left(ann):
    answers = [asks(ann) for _time in range(3)]
    assert [answer.status_code for answer in answers] == [200, 200, 200]
    assert {answer["RateLimit-Policy"] for answer in answers} == {'"api";q=3;w=60'}
    assert [answer["RateLimit"].split(";")[1] for answer in answers] == ["r=2", "r=1", "r=0"]


def test_one_too_many_is_told_when_to_come_again(ann):
    for _time in range(3):
        asks(ann)
    answer = asks(ann)
    assert answer.status_code == 429
    assert answer.json()["code"] == "throttled"
    assert 1 <= int(answer["Retry-After"]) <= 60
    assert answer["RateLimit"] == f'"api";r=0;t={answer["Retry-After"]}'


def test_another_token_of_the_same_person_has_no_count_of_its_own(ann):
    assert [asks(ann).status_code for _token in range(4)] == [200, 200, 200, 429]


def test_each_person_has_a_count(ann):
    for _time in range(4):
        asks(ann)
    assert asks(a_user(username="bob")).status_code == 200


def test_a_new_window_begins_with_a_full_count(ann, settings, valkey):
    for _time in range(4):
        asks(ann)
    (key,) = valkey.client().keys("rate:*")
    valkey.client().delete(key)  # as its expiry does
    assert asks(ann)["RateLimit"].startswith('"api";r=2;')


def test_the_count_ends_by_itself(ann, valkey):
    asks(ann)
    (key,) = valkey.client().keys("rate:*")
    assert 0 < valkey.client().ttl(key) <= 60


def test_no_limit_is_no_header(ann, settings):
    settings.API_RATE = ""
    answer = asks(ann)
    assert (answer.status_code, answer.has_header("RateLimit")) == (200, False)


def test_without_valkey_the_panel_answers_and_does_not_ask_it_again_at_once(ann, settings, caplog):
    settings.REDIS_URL = "redis://127.0.0.1:1/5"
    rates._counter.cache_clear()
    answers = [asks(ann) for _time in range(5)]
    assert {(answer.status_code, answer.has_header("RateLimit")) for answer in answers} == {(200, False)}
    assert len([record for record in caplog.records if record.name == "projects.rates"]) == 1


def test_an_asker_that_is_nobody_is_not_counted(valkey):
    assert APIClient().get("/api/v1/me").status_code == 401
    assert valkey.client().keys("rate:*") == []
