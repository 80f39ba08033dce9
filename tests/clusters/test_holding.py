import pytest

from clusters import holding
from clusters.models import Loop
from tests.clusters.steps import after
from tests.factories import NOON

pytestmark = pytest.mark.django_db


def row():
    return Loop.objects.values_list("holder", "until").get(name="scheduler")


def test_of_two_the_first_holds_the_loop_as_long_as_it_renews():
    assert holding.hold("scheduler", "one", now=NOON)
    assert not holding.hold("scheduler", "two", now=after(1))
    assert row() == ("one", after(10))
    assert holding.hold("scheduler", "one", now=after(8))
    assert not holding.hold("scheduler", "two", now=after(17))
    assert row() == ("one", after(18))


def test_a_holder_that_says_nothing_for_ten_seconds_has_lost_it():
    holding.hold("scheduler", "one", now=NOON)
    assert not holding.hold("scheduler", "two", now=after(10))
    assert holding.hold("scheduler", "two", now=after(10.001))
    assert not holding.hold("scheduler", "one", now=after(11))
    assert row() == ("two", after(20.001))


def test_who_releases_lets_the_next_one_in_at_once():
    holding.hold("scheduler", "one", now=NOON)
    holding.release("scheduler", "two", now=after(1))  # no holder, no effect
    assert row() == ("one", after(10))
    holding.release("scheduler", "one", now=after(1))
    assert holding.hold("scheduler", "two", now=after(1))


def test_each_loop_has_a_holder_of_its_own():
    assert holding.hold("scheduler", "one", now=NOON)
    assert holding.hold("follow", "two", now=NOON)


def test_the_last_stretch_of_reading_is_kept_over_a_change_of_holder():
    assert holding.last_read("inbox") is None
    holding.hold("inbox", "one", now=NOON)
    assert holding.last_read("inbox") is None
    holding.note_reading("inbox", since=NOON, now=after(3))
    holding.hold("inbox", "two", now=after(20))
    assert holding.last_read("inbox") == (NOON, after(3))
