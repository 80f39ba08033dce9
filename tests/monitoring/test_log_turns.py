"""Searches of one person leave others theirs."""

from __future__ import annotations

import threading
from contextlib import ExitStack

import pytest

from monitoring.log_turns import NoTurn, Turns


def test_an_answer_has_its_time():
    with Turns(answer_s=60).take("ada") as is_over:
        assert not is_over()
    with Turns(answer_s=0).take("ada") as is_over:
        assert is_over()


def test_who_begins_one_more_ends_the_oldest_of_their_own():
    turns, taken, oldest = Turns(most=4, most_of_one=2, wait_s=10), list[str](), ExitStack()

    def search() -> None:
        with turns.take("ada"):
            taken.append("third")

    with turns.take("bob") as is_bobs_over:
        is_oldest_over = oldest.enter_context(turns.take("ada"))
        with turns.take("ada") as is_newer_over:
            third = threading.Thread(target=search)
            third.start()
            while not is_oldest_over():
                pass
            assert not is_newer_over() and not is_bobs_over()
            assert taken == []
            oldest.close()
            third.join(10)
            assert taken == ["third"]


def _take(turns: Turns, who: str) -> None:
    with turns.take(who):
        pass


def test_when_all_turns_are_others_one_waits_and_is_refused_in_the_end():
    turns = Turns(most=2, most_of_one=2, wait_s=0.05)
    with turns.take("ada") as is_over, turns.take("ada"):
        with pytest.raises(NoTurn):
            _take(turns, "bob")
        assert not is_over()
    _take(turns, "bob")


def test_few_wait_and_of_one_person_one():
    turns, refused = Turns(most=1, most_waiting=2, wait_s=10), list[str]()

    def wait(who: str) -> None:
        try:
            _take(turns, who)
        except NoTurn:
            refused.append(who)

    with ExitStack() as running:
        running.enter_context(turns.take("ada"))
        waiting = [threading.Thread(target=wait, args=(who,)) for who in ("bob", "eve")]
        for thread in waiting:
            thread.start()
        while len(turns._waiting) < 2:
            pass
        wait("bob")
        wait("zoe")
    for thread in waiting:
        thread.join(10)
    assert refused == ["bob", "zoe"]
