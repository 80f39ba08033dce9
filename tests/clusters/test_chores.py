"""Slow work of the panel: published until it is done, and never forgotten in between."""

from __future__ import annotations

import pytest
from celery import current_app

from clusters import chores
from clusters.models import Chore
from tests.clusters.steps import after
from tests.factories import NOON

pytestmark = pytest.mark.django_db


@pytest.fixture
def sent(monkeypatch):
    """Ids that went to the queue."""
    ids = []
    monkeypatch.setattr(current_app, "send_task", lambda name, *, args, queue, **_: ids.append((name, queue, *args)))
    return ids


def row():
    return Chore.objects.values_list("sent_at", "sent_times", "done_at", "detail").get()


def test_a_chore_that_is_wanted_twice_is_there_once_until_it_is_done():
    for _ in range(2):
        chores.want("resolve-source", "x", now=NOON)
    assert Chore.objects.count() == 1
    Chore.objects.update(done_at=NOON)
    chores.want("resolve-source", "x", now=NOON)
    assert Chore.objects.count() == 2


def test_it_is_published_once(sent):
    chores.want("resolve-source", "x", now=NOON)
    assert [chores.publish(now=after(s)) for s in (1, 2)] == [1, 0]
    assert sent == [("controlpanel.tasks.do_chore", "panel", Chore.objects.get().pk)]
    assert row() == (after(1), 1, None, "")


def test_a_broker_that_is_away_is_asked_again_at_the_next_tick(monkeypatch, sent):
    chores.want("resolve-source", "x", now=NOON)
    chores.want("resolve-source", "y", now=NOON)
    tries = []

    def refuse(*_, args, **__):
        tries.append(args)
        raise OSError("nobody there")

    with monkeypatch.context() as patched:
        patched.setattr(current_app, "send_task", refuse)
        assert chores.publish(now=NOON) == 0
    assert len(tries) == 1
    assert chores.publish(now=after(1)) == 2


def test_what_nobody_did_is_published_again_later_each_time_and_at_last_given_up(sent):
    chores.want("resolve-source", "x", now=NOON)
    at, moments = 0, []
    while row()[2] is None:
        if chores.publish(now=after(at)):
            moments.append(at)
        chores.sweep(now=after(at))
        at += 1
    waits = [later - earlier for earlier, later in zip(moments, moments[1:], strict=False)]
    assert [wait - wait % 10 for wait in waits] == [10, 20, 40, 80, 160, 300, 300]
    assert (len(sent), row()[3]) == (chores.MOST_TIMES, "never done")


def test_what_is_done_is_done_once(sent):
    done = []
    chores.want("resolve-source", "x", now=NOON)
    pk = Chore.objects.get().pk
    for _ in range(2):
        chores.run(pk, {"resolve-source": done.append}, now=lambda: after(5))
    assert (done, row()[2]) == (["x"], after(5))
    chores.sweep(now=after(1000))
    assert chores.publish(now=after(1000)) == 0


def test_one_that_raises_stays_open_and_says_why(sent):
    chores.want("resolve-source", "x", now=NOON)
    chores.publish(now=NOON)

    def fail(_target):
        raise ValueError("no")

    chores.run(Chore.objects.get().pk, {"resolve-source": fail}, now=lambda: NOON)
    assert row() == (NOON, 1, None, "ValueError('no')")
    chores.sweep(now=after(chores.FIRST_RESEND_S))
    assert row()[0] is None


def test_done_ones_are_forgotten():
    chores.want("resolve-source", "x", now=NOON)
    Chore.objects.update(done_at=NOON)
    chores.want("resolve-source", "y", now=NOON)
    assert [chores.forget_done(before=before) for before in (NOON, after(1))] == [0, 1]
    assert Chore.objects.get().target == "y"
