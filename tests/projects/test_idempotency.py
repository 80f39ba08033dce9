import threading
import time
from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.utils import timezone

from projects import idempotency
from projects.actors import Actor
from projects.errors import Invalid
from projects.models import IdempotencyKey, Team
from tests.factories import a_token, a_user
from tests.projects import doors

pytestmark = [pytest.mark.django_db, pytest.mark.urls("tests.projects.doors")]


@pytest.fixture(autouse=True)
def made():
    doors.Teams.made = []
    return doors.Teams.made


def post(script, slug, key=None, **body):
    headers = {} if key is None else {"Idempotency-Key": key}
    return script.post("/api/teams", {"slug": slug} | body, **headers)


def test_without_a_key_each_request_makes(script, vision, made):
    member = script(vision.member)
    assert [post(member, slug).status_code for slug in ("a", "b")] == [201, 201]
    assert made == ["a", "b"]
    assert not IdempotencyKey.objects.exists()


def test_the_same_request_with_the_same_key_makes_once_and_gets_the_same_answer(script, vision, made):
    member = script(vision.member)
    first, second = post(member, "a", "k1"), post(member, "a", "k1")
    assert (first.status_code, first["Replayed"], second.status_code, second["Replayed"]) == (201, "False", 201, "True")
    assert second.json() == first.json() == {"id": Team.objects.get(slug="a").pk, "at": first.json()["at"]}
    assert made == ["a"]


def test_a_key_with_another_request_is_refused(script, vision, made):
    member = script(vision.member)
    post(member, "a", "k1")
    answer = post(member, "b", "k1")
    assert (answer.status_code, answer.json()["code"]) == (409, "idempotency-key-reused")
    assert member.post("/api/teams?dry=1", {"slug": "a"}, **{"Idempotency-Key": "k1"}).status_code == 409
    assert made == ["a"] and not Team.objects.filter(slug="b").exists()


def test_a_key_is_a_persons_own(script, vision, made):
    post(script(vision.member), "a", "k1")
    assert post(script(vision.stranger), "b", "k1")["Replayed"] == "False"
    assert made == ["a", "b"]


def test_an_error_is_not_kept_and_leaves_nothing(script, vision, made):
    member = script(vision.member)
    assert post(member, "a", "k1", fails=True).status_code == 409
    assert not IdempotencyKey.objects.exists() and not Team.objects.filter(slug="a").exists()
    assert post(member, "a", "k1")["Replayed"] == "False"
    assert made == ["a", "a"]
    assert Team.objects.filter(slug="a").count() == 1


def test_an_integrity_error_of_what_is_made_is_not_taken_for_a_repeat(script, vision, made):
    member = script(vision.member)
    assert post(member, "vision", "k1").status_code == 500
    assert not IdempotencyKey.objects.exists()


@pytest.mark.parametrize("key", ["", "k" * 201])
def test_a_key_of_a_wrong_length_is_refused(script, vision, made, key):
    answer = post(script(vision.member), "a", key)
    assert (answer.status_code, list(answer.json()["details"])) == (422, ["Idempotency-Key"])
    assert made == []


def test_a_key_of_the_greatest_length_is_kept(script, vision):
    post(script(vision.member), "a", "k" * 200)
    assert IdempotencyKey.objects.get().key == "k" * 200


def test_answers_are_forgotten_after_a_day(made):
    user, now = a_user(), timezone.now()
    for key, age in (("old", timedelta(hours=24, seconds=1)), ("new", timedelta(hours=24))):
        row = IdempotencyKey.objects.create(user=user, key=key, fingerprint="f")
        IdempotencyKey.objects.filter(pk=row.pk).update(created_at=now - age)
    assert idempotency.forget_old(now) == 1
    assert IdempotencyKey.objects.get().key == "new"


@pytest.mark.django_db(transaction=True)
def test_many_at_once_make_one_and_all_get_its_answer(shared_database, made, monkeypatch):
    answers = at_once(8, monkeypatch, body={"slug": "a"})
    assert [status for status, _body, _replayed in answers] == [201] * 8
    assert sorted(replayed for _status, _body, replayed in answers) == ["False"] + ["True"] * 7
    assert all(body == answers[0][1] for _status, body, _replayed in answers)
    assert (made, Team.objects.filter(slug="a").count(), IdempotencyKey.objects.count()) == (["a"], 1, 1)


@pytest.mark.django_db(transaction=True)
def test_who_waits_for_one_that_fails_makes_it_themselves(shared_database, made, monkeypatch):
    answers = at_once(4, monkeypatch, body={"slug": "a", "fails": True})
    assert [status for status, _body, _replayed in answers] == [409] * 4
    assert made == ["a"] * 4
    assert not Team.objects.filter(slug="a").exists() and not IdempotencyKey.objects.exists()


def at_once(number, monkeypatch, *, body):
    """Sends so many equal requests with one key; each that makes takes its time over it."""
    text = a_token()[1]
    gate, answers = threading.Barrier(number), []
    create = Team.objects.create
    monkeypatch.setattr(Team.objects, "create", lambda **values: (time.sleep(0.05), create(**values))[1])

    def send():
        gate.wait()
        headers = {"Authorization": f"Bearer {text}", "Idempotency-Key": "k1"}
        answer = Client(raise_request_exception=False).post("/api/teams", body, content_type="application/json", headers=headers)
        answers.append((answer.status_code, answer.json(), answer.get("Replayed")))
        connection.close()

    threads = [threading.Thread(target=send) for _ in range(number)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answers


# -- A page's form ---------------------------------------------------------------------------------------------


def test_a_form_sent_twice_makes_once(vision):
    made = []

    def make():
        made.append(1)
        return 201, {"number": len(made)}

    by = Actor(user=vision.member)
    answers = [idempotency.once_a_form("key", {"a": 1}, by, make) for _ in range(2)]
    assert answers == [(201, {"number": 1}, False), (201, {"number": 1}, True)]
    assert idempotency.once_a_form("key", {"a": 2}, by, make)[1:] == ({"number": 2}, False)  # changed, and sent again
    assert idempotency.once_a_form("other", {"a": 1}, by, make)[1:] == ({"number": 3}, False)
    assert idempotency.once_a_form("key", {"a": 1}, Actor(user=vision.viewer), make)[1:] == ({"number": 4}, False)


def test_a_form_that_was_refused_may_be_sent_again(vision):
    by = Actor(user=vision.member)
    with pytest.raises(Invalid):
        idempotency.once_a_form("key", {}, by, _refuse)
    assert not IdempotencyKey.objects.exists()
    assert idempotency.once_a_form("key", {}, by, lambda: (201, {})) == (201, {}, False)


def _refuse():
    raise Invalid({"name": "is needed"})
