import time

import pytest
from django.db import transaction

from monitoring import events
from monitoring.models import Event, Subject

from .conftest import NOON
from .threads import at_once


def test_events_are_numbered_in_order_and_read_from_a_position(world):
    with transaction.atomic():
        for code in ("job.queued", "job.starting", "job.running"):
            events.record(world.subject, code, f"It is {code}.", at=NOON, by_name="member", chips=4)
    assert [(e.seq, e.code) for e in events.since(world.subject, 1, 10)] == [(2, "job.starting"), (3, "job.running")]
    assert [e.seq for e in events.since(world.subject, 0, 2)] == [1, 2]
    assert world.subject.seq == Subject.objects.get().seq == 3
    assert Event.objects.get(seq=3).as_json() == {
        "seq": 3,
        "at": "2026-03-01T12:00:00+00:00",
        "code": "job.running",
        "sentence": "It is job.running.",
        "data": {"chips": 4},
        "by_name": "member",
    }


@pytest.mark.django_db(transaction=True)
def test_an_event_outside_a_transaction_is_refused(world):
    with pytest.raises(RuntimeError, match="outside a transaction"):
        events.record(world.subject, "job.queued", "Launched.", at=NOON)
    assert not Event.objects.exists()


def test_a_rolled_back_event_leaves_no_hole(world):
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        events.record(world.subject, "job.queued", "Launched.", at=NOON)
        raise ZeroDivisionError
    with transaction.atomic():
        assert events.record(world.subject, "job.queued", "Launched.", at=NOON).seq == 1


def test_whoever_reads_while_two_write_sees_numbers_without_holes(shared_world):
    """Seq is commit order: a reader that has seen n has seen all below."""
    subject, seen, wrong = shared_world.subject, [0], []

    def write():
        for _ in range(12):
            with transaction.atomic():
                events.record(Subject.objects.get(pk=subject.pk), "job.running", "On.", at=NOON)

    def read():
        deadline = time.monotonic() + 20
        while len(seen) < 25 and time.monotonic() < deadline:
            for event in events.since(subject, seen[-1], 100):
                if event.seq != seen[-1] + 1:
                    wrong.append((seen[-1], event.seq))
                seen.append(event.seq)

    at_once(write, write, read)
    assert (wrong, seen) == ([], list(range(25)))


def test_news_of_a_list_name_its_subjects_only(world):
    from monitoring import subjects

    host = subjects.ensure(kind="host", key="tpu-3", title="tpu-3")
    with transaction.atomic():
        events.record(world.subject, "job.queued", "Launched.", at=NOON)
        first = events.newest_id()
        events.record(world.subject, "job.running", "Runs.", at=NOON)
        events.record(host, "host.ready", "Ready.", at=NOON)
    assert events.news_of_list(world.subject.list_address, first) == {"job:17": 2}
    assert events.news_of_list("shared:all", 0) == {"host:tpu-3": 1}


def test_events_of_many_subjects_are_numbered_each_for_itself(world, django_assert_num_queries):
    other = Subject.objects.create(kind="job", key="18", title="other", seq=7)
    news = [
        events.News(world.subject.pk, "a", "A."),
        events.News(other.pk, "b", "B.", {"n": 1}),
        events.News(other.pk, "c", "C."),
    ]
    with transaction.atomic(), django_assert_num_queries(4):  # subjects; those with one, those with two; rows
        events.record_many(news, at=NOON, by_name="member")
    assert list(Event.objects.order_by("pk").values_list("subject", "seq", "code", "sentence", "data", "at", "by_name")) == [
        (world.subject.pk, 1, "a", "A.", {}, NOON, "member"),
        (other.pk, 8, "b", "B.", {"n": 1}, NOON, "member"),
        (other.pk, 9, "c", "C.", {}, NOON, "member"),
    ]
    assert dict(Subject.objects.values_list("pk", "seq")) == {world.subject.pk: 1, other.pk: 9}


@pytest.mark.django_db(transaction=True)
def test_events_of_many_outside_a_transaction_are_refused(world):
    with pytest.raises(RuntimeError, match="outside a transaction"):
        events.record_many([events.News(world.subject.pk, "a", "A.")], at=NOON)
    assert not Event.objects.exists()
