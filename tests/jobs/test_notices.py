"""Who is told of what: a notice in the event's transaction, once; and what becomes of those that nobody moves on."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.db import IntegrityError, connection, transaction

from clusters.models import Chore
from jobs import cancellations, notice_moves, notices, services
from jobs.models import Job, Notice
from monitoring import events
from monitoring.models import Event
from projects.actors import Actor
from projects.errors import Invalid
from tests.clusters.steps import after
from tests.factories import NOON, a_job, a_member
from tests.jobs.telling import HOOK, happens, states, tells, told

pytestmark = pytest.mark.django_db
ENDED = {"succeeded": "ends", "failed": "fails", "canceled": "ends"}


@pytest.fixture
def member(vision):
    return vision.member


@pytest.fixture(autouse=True)
def _mail(settings):
    settings.IS_MAIL_CONFIGURED = True


def launch(vision, **more):
    return a_job(project=vision.project, by=vision.member, **more)


def test_who_wants_nothing_is_told_nothing(vision):
    happens(launch(vision), "running", "failed")
    assert told() == []


@pytest.mark.parametrize(
    ("wanted", "kinds"),
    [
        (["starts"], ["starts"]),
        (["ends"], ["fails"]),
        (["fails"], ["fails"]),
        (["starts", "ends", "fails"], ["starts", "fails"]),
        ([], []),
    ],
)
def test_a_job_that_fails_is_told_of_as_it_is_wanted(vision, member, wanted, kinds):
    tells(member, events=wanted, by_webhook=True, webhook_url=HOOK)
    happens(launch(vision), "starting", "running", "failed")
    assert [kind for _user, kind, _code, _channel in told()] == kinds


@pytest.mark.parametrize("end", ENDED)
def test_each_end_is_told_once_a_channel(vision, member, end):
    tells(member, events=["ends", "fails"], by_webhook=True, webhook_url=HOOK, by_mail=True, mail_address="m@example.com")
    happens(launch(vision), "running", end)
    assert told() == [("member", ENDED[end], f"job.{end}", channel) for channel in ("mail", "webhook")]


def test_an_end_that_is_wanted_only_when_it_fails_is_not_told_when_it_is_well(vision, member):
    tells(member, events=["fails"], by_webhook=True, webhook_url=HOOK)
    happens(launch(vision), "running", "succeeded")
    assert told() == []


def test_a_job_that_is_tried_again_starts_once(vision, member):
    tells(member, events=["starts"], by_webhook=True, webhook_url=HOOK)
    happens(launch(vision), "running", "queued", "starting", "running")
    assert told() == [("member", "starts", "job.running", "webhook")]


def test_mail_that_cannot_go_out_is_no_notice(vision, member, settings):
    tells(member, events=["fails"], by_mail=True, mail_address="m@example.com")
    settings.IS_MAIL_CONFIGURED = False
    happens(launch(vision), "failed")
    assert told() == []


def test_it_stands_and_falls_with_its_event(vision, member):
    tells(member, events=["fails"], by_webhook=True, webhook_url=HOOK)
    job = launch(vision)
    with pytest.raises(RuntimeError), transaction.atomic():
        happens(job, "failed")
        assert len(told()) == 1
        raise RuntimeError
    assert (told(), Job.objects.get(pk=job.pk).state, Event.objects.filter(code="job.failed").count()) == ([], "queued", 0)


def test_the_same_event_is_never_told_twice(vision, member):
    tells(member, events=["fails"], by_webhook=True, webhook_url=HOOK)
    job = launch(vision)
    happens(job, "failed")
    with pytest.raises(IntegrityError), transaction.atomic():
        notices.tell(job, Event.objects.get(code="job.failed"), now=NOON)
    assert len(told()) == 1


def test_only_the_launcher_is_told(vision, member):
    tells(a_member(team=vision.team), events=["fails"], by_webhook=True, webhook_url=HOOK)
    happens(launch(vision), "failed")
    assert told() == []


@pytest.mark.parametrize("at_once", [False, True])
@pytest.mark.parametrize(("who", "count"), [("member", 0), ("operator", 2)])
def test_who_cancels_their_own_is_not_told_but_who_is_canceled_is(vision, member, at_once, who, count):
    tells(member, events=["ends"], by_webhook=True, webhook_url=HOOK)
    jobs, by = [launch(vision), launch(vision)], Actor(user=getattr(vision, who))
    if at_once:
        cancellations.cancel([job.pk for job in jobs], by=by, now=NOON)
    else:
        for job in jobs:
            services.cancel(job=job, by=by, now=NOON)
            happens(job, "canceled", by=by.user.get_username())
    assert told() == [("member", "ends", "job.canceled", "webhook")] * count


# -- What a launch says -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("notify", "kinds"),
    [
        ({}, ["fails"]),
        ({"events": []}, []),
        ({"events": ["starts"]}, ["starts"]),
        ({"by_webhook": False, "by_mail": True}, ["fails"]),
    ],
)
def test_a_launch_says_otherwise(vision, member, notify, kinds):
    tells(member, events=["fails"], by_webhook=True, webhook_url=HOOK, mail_address="m@example.com")
    happens(launch(vision, notify=notify), "running", "failed")
    assert [kind for _user, kind, _code, _channel in told()] == kinds
    assert {channel for *_more, channel in told()} <= ({"mail"} if notify.get("by_mail") else {"webhook"})


@pytest.mark.parametrize(
    ("notify", "path"),
    [
        ({"events": ["fails"]}, "notify"),
        ({"by_mail": True}, "notify.by_mail"),
        ({"by_webhook": True, "events": ["ends"]}, "notify.by_webhook"),
        ({"waits_longer_than_min": 5}, "notify"),
    ],
)
def test_a_launch_that_wants_what_cannot_reach_its_launcher_is_refused(vision, notify, path):
    with pytest.raises(Invalid) as refused:
        launch(vision, notify=notify)
    assert (list(refused.value.fields), Job.objects.count()) == ([path], 0)


def test_a_relaunch_is_told_as_its_launcher_is_usually(vision, member):
    tells(member, events=["fails"], by_webhook=True, webhook_url=HOOK)
    job = launch(vision, notify={"events": []})
    again = services.relaunch(job=job, by=Actor(user=vision.operator), now=NOON)
    assert (job.notify_json, again.notify_json) == ({"events": []}, {})


# -- Of jobs that wait ----------------------------------------------------------------------------------------------


def test_a_job_that_waits_too_long_is_told_of_once_with_its_reason(vision, member):
    tells(member, waits_longer_than_min=10, by_webhook=True, webhook_url=HOOK)
    job = launch(vision)
    assert [notices.tell_waiting(now=after(60 * minute)) for minute in (9, 10, 11)] == [0, 1, 0]
    event = Event.objects.get(subject=job.subject, code="job.waits")
    assert event.sentence == "It has waited for 10 min: The scheduler has not looked at it yet."
    assert told() == [("member", "waits", "job.waits", "webhook")]


def test_one_that_has_begun_meanwhile_is_not_told_of(vision, member):
    tells(member, waits_longer_than_min=10, by_webhook=True, webhook_url=HOOK)
    happens(launch(vision), "starting", "queued", "starting")
    assert [notices.tell_waiting(now=after(60 * minute)) for minute in (10, 11)] == [1, 0]
    assert (told(), Event.objects.filter(code="job.waits").count()) == ([], 0)


def test_one_that_waits_to_try_again_is_not_told_of(vision, member):
    tells(member, waits_longer_than_min=10, by_webhook=True, webhook_url=HOOK)
    job = launch(vision)
    Job.objects.filter(pk=job.pk).update(retry_at=after(700))
    assert (notices.tell_waiting(now=after(600)), told()) == (1, [])


def test_jobs_that_wait_already_count_when_the_settings_change(vision, member):
    first, own = launch(vision), launch(vision)
    Job.objects.filter(pk=own.pk).update(notify_json={"waits_longer_than_min": None})
    tells(member, waits_longer_than_min=10, by_webhook=True, webhook_url=HOOK)
    assert notices.tell_waiting(now=after(600)) == 1
    tells(member, waits_longer_than_min=20)
    assert notices.tell_waiting(now=after(1200)) == 0  # told already
    last = launch(vision)
    tells(member, waits_longer_than_min=None)
    assert Job.objects.get(pk=last.pk).wait_told_at is None
    assert list(Notice.objects.values_list("job_id", "kind")) == [(first.pk, "waits")]


def test_a_look_takes_one_query_when_nobody_is_to_be_told(vision, django_assert_num_queries):
    for _ in range(3):
        launch(vision)
    with django_assert_num_queries(1):
        assert notices.tell_waiting(now=after(1e6)) == 0


@pytest.mark.parametrize("count", [1, 3])
def test_however_many_wait_they_are_told_of_in_as_many_queries(vision, member, count, django_assert_max_num_queries):
    tells(member, waits_longer_than_min=10, by_webhook=True, webhook_url=HOOK)
    for _ in range(count):
        launch(vision)
    with django_assert_max_num_queries(13):
        assert notices.tell_waiting(now=after(600)) == count
    assert len(told()) == count


# -- Seen to in each tick -----------------------------------------------------------------------------------------


@pytest.fixture
def fallen(vision, member):
    """A notice of each channel, mail first."""
    tells(member, events=["fails"], by_webhook=True, webhook_url=HOOK, by_mail=True, mail_address="m@example.com")
    happens(launch(vision), "failed")
    return list(Notice.objects.order_by("pk"))


def test_a_chore_for_each_person_and_few_at_once(vision, fallen):
    for name in ("ada", "bob"):
        user = a_member(team=vision.team, username=name)
        tells(user, events=["fails"], by_webhook=True, webhook_url=HOOK)
        happens(a_job(project=vision.project, by=user), "failed")
    assert [notices.publish(now=after(s)) for s in (0, 1)] == [2, 0]
    first_two = [vision.member.pk, User.objects.get(username="ada").pk]
    assert set(Chore.objects.values_list("kind", "target")) == {("send-notices", str(pk)) for pk in first_two}
    Chore.objects.update(done_at=NOON)
    assert notices.publish(now=after(2)) == 2


def test_who_is_being_told_is_busy_without_a_chore(fallen):
    assert notice_moves.claim(fallen[0], now=NOON)
    assert notices.publish(now=after(1)) == 0


def test_a_worker_that_is_gone_leaves_a_mail_unsent_and_a_webhook_to_be_tried_again(fallen):
    for notice in fallen:
        assert notice_moves.claim(notice, now=NOON)
    notices.rescue(now=after(60 - 1))
    assert [state for state, *_more in states()] == ["sending", "sending"]
    notices.rescue(now=after(60))
    assert states() == [
        ("failed", 1, "The panel was cut off while it sent it; it may have gone out, so it is not sent again."),
        ("pending", 1, "The panel was cut off while it sent it."),
    ]


def test_what_could_not_be_sent_for_a_day_has_failed(fallen):
    notices.rescue(now=NOON + timedelta(hours=24) - timedelta(seconds=1))
    assert {state for state, *_more in states()} == {"pending"}
    notices.rescue(now=NOON + timedelta(hours=24))
    assert states() == [("failed", 0, "It could not be sent for a day.")] * 2


def test_of_two_who_claim_one_has_it(fallen):
    again = Notice.objects.get(pk=fallen[0].pk)
    assert (notice_moves.claim(fallen[0], now=NOON), notice_moves.claim(again, now=NOON)) == (True, False)


def test_a_worker_that_comes_back_after_its_rescue_changes_nothing(fallen):
    late = fallen[1]
    assert notice_moves.claim(late, now=NOON)
    notices.rescue(now=after(60))
    assert notice_moves.claim(Notice.objects.get(pk=late.pk), now=after(120))
    assert not notice_moves.move(late, "failed", detail="late", now=after(121))
    assert states()[1][:2] == ("sending", 2)


def test_old_ones_are_forgotten_when_they_are_over(fallen):
    notice_moves.move(fallen[0], "failed", now=NOON)
    assert [notices.forget_old(before=before) for before in (NOON, after(1))] == [0, 1]
    assert [notice.channel for notice in Notice.objects.all()] == ["webhook"]


def test_events_of_other_kinds_are_looked_at_without_a_query(vision, django_assert_num_queries):
    job = launch(vision)
    with transaction.atomic():
        event = events.record(job.subject, "job.starting", "", at=NOON)
    with django_assert_num_queries(0):
        notices.tell(job, event, now=NOON)


def test_what_each_tick_looks_for_stands_in_an_index():
    now = after(1)
    for rows, index in (
        (Job.objects.filter(wait_told_at__lte=now).order_by("wait_told_at"), "job_wait_told"),
        (Job.objects.filter(retry_at__lte=now).order_by("retry_at", "pk"), "job_retry_due"),
        (Notice.objects.filter(state="sending", due_at__lte=now), "notice_due"),
        (Notice.objects.filter(state="pending", due_at__lte=now, give_up_at__lte=now), "notice_due"),
        (Notice.objects.filter(state="sending", due_at__gt=now).values_list("user_id"), "notice_due"),
    ):
        assert connection.vendor != "sqlite" or index in rows.explain()
