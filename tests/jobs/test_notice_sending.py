"""What is due is sent: to a real receiver, and by Django's mail; with each failure that there is on the way."""

from __future__ import annotations

import smtplib
from datetime import datetime, timedelta
from ipaddress import ip_network

import pytest
from django.core import mail

from jobs import notice_moves, notice_sending, notice_settings, notices
from jobs.models import Notice
from projects import members
from projects.actors import Actor
from tests.factories import NOON, a_job
from tests.jobs.hooks import Receiver
from tests.jobs.telling import happens, states, tells

pytestmark = pytest.mark.django_db


class Clock:
    def __init__(self) -> None:
        self.now = NOON

    def __call__(self):
        return self.now

    def go(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


@pytest.fixture
def clock(monkeypatch) -> Clock:
    """Time stands until it is told to go; signatures are checked by it too."""
    found = Clock()
    monkeypatch.setattr("standardwebhooks.webhooks.datetime", _stands(found))
    return found


def _stands(clock):
    class Standing(datetime):
        @classmethod
        def now(cls, tz=None):
            return clock.now.astimezone(tz)

    return Standing


@pytest.fixture
def receiver(settings):
    settings.NOTICE_HTTP, settings.NOTICE_PRIVATE_ADDRESSES = True, [ip_network("127.0.0.1/32")]
    found = Receiver()
    yield found
    found.close()


@pytest.fixture
def secret(vision, receiver) -> str:
    """The member's webhook is set up."""
    return tells(vision.member, events=["fails"], by_webhook=True, webhook_url=receiver.url)


@pytest.fixture
def by_mail(vision, settings):
    settings.IS_MAIL_CONFIGURED = True
    tells(vision.member, events=["ends"], by_mail=True, mail_address="ada@example.com")


def failed(vision, name="digits"):
    job = a_job(project=vision.project, by=vision.member, name=name)
    happens(job, "failed")
    return job


def send(vision, clock) -> None:
    notice_sending.send_due(str(vision.member.pk), clock=clock)


# -- Webhooks ---------------------------------------------------------------------------------------------------


def test_a_webhook_is_signed_and_says_what_happened(vision, receiver, secret, clock):
    job = a_job(project=vision.project, by=vision.member, name="chiffres é")
    happens(job, "running", "failed")
    send(vision, clock)
    notice = Notice.objects.get()
    path, headers, _content = receiver.calls[0]
    assert (path, headers["content-type"], headers["webhook-id"]) == ("/hook?a=b", "application/json", f"msg_{notice.pk.hex}")
    assert headers["host"] == f"127.0.0.1:{receiver.port}"
    assert receiver.read(0, secret) == {
        "type": "job.failed",
        "timestamp": "2026-03-01T12:00:00Z",
        "data": {
            "job": {"number": job.pk, "name": "chiffres é", "project": "vit", "link": f"http://127.0.0.1:8000/jobs/{job.pk}"},
            "state": "failed",
            "reason": {"code": "", "sentence": ""},
            "event_seq": 3,
        },
    }
    assert states() == [("sent", 1, "")]
    send(vision, clock)
    assert len(receiver.calls) == 1


def test_it_is_tried_again_later_each_time_with_the_same_id_and_at_last_it_has_failed(vision, receiver, secret, clock):
    failed(vision)
    receiver.status = 503
    waits = []
    while Notice.objects.get().state == "pending":
        send(vision, clock)
        notice = Notice.objects.get()
        if notice.due_at:
            clock.go((notice.due_at - clock.now).total_seconds() - 1)
            send(vision, clock)  # not yet
            waits.append((notice.due_at - notice.moved_at).total_seconds())
            clock.go(1)
    assert waits == [10, 60, 300, 1800, 7200]
    assert states() == [("failed", 6, "It answered with HTTP 503.")]
    assert (len(receiver.calls), len(set(receiver.ids))) == (6, 1)
    assert [receiver.calls[number][2] for number in range(6)] == [receiver.calls[0][2]] * 6


def test_one_that_is_well_again_gets_it(vision, receiver, secret, clock):
    failed(vision)
    receiver.status = 500
    send(vision, clock)
    receiver.status = 200
    clock.go(10)
    send(vision, clock)
    assert (states(), receiver.ids[0]) == ([("sent", 2, "")], receiver.ids[1])
    assert receiver.read(1, secret)["type"] == "job.failed"


def test_what_it_refuses_holds_up_no_other(vision, receiver, secret, clock):
    failed(vision, "one"), failed(vision, "two")
    receiver.status = 400
    send(vision, clock)
    assert (len(receiver.calls), len(set(receiver.ids))) == (2, 2)


def test_when_it_is_not_there_one_try_is_enough_for_all(vision, receiver, secret, clock):
    for name in ("one", "two", "three"):
        failed(vision, name)
    receiver.close()
    send(vision, clock)
    assert [(state, tries) for state, tries, _detail in states()] == [("pending", 1), ("pending", 0), ("pending", 0)]
    assert set(Notice.objects.values_list("due_at", flat=True)) == {NOON + timedelta(seconds=10)}


def test_a_redirect_is_not_followed(vision, receiver, secret, clock):
    other = Receiver()
    receiver.status, receiver.headers = 307, {"Location": other.url}
    failed(vision)
    send(vision, clock)
    other.close()
    assert (other.calls, states()[0][:2]) == ([], ("pending", 1))
    assert "redirect (307)" in states()[0][2]


def test_gone_is_not_tried_again(vision, receiver, secret, clock):
    receiver.status = 410
    failed(vision)
    send(vision, clock)
    assert states() == [("failed", 1, "It answered with HTTP 410.")]


def test_after_a_rotation_both_secrets_sign_for_a_day(vision, receiver, secret, clock):
    member = vision.member
    _found, new = notice_settings.rotate_secret(user=member, by=Actor(user=member), now=NOON)
    failed(vision)
    send(vision, clock)
    assert receiver.read(0, secret) == receiver.read(0, new)
    clock.go(24 * 3600)
    Notice.objects.all().delete()
    failed(vision)
    send(vision, clock)
    assert receiver.read(1, new)
    with pytest.raises(Exception, match="No matching signature"):
        receiver.read(1, secret)


@pytest.mark.usefixtures("secret")
def test_a_key_file_that_is_gone_is_said(vision, receiver, clock, settings, tmp_path):
    failed(vision)
    settings.SECRETS_KEY_FILE = tmp_path / "elsewhere"
    send(vision, clock)
    assert (receiver.calls, states()[0][:2]) == ([], ("pending", 1))
    assert "key file elsewhere is missing" in states()[0][2]


def test_while_one_run_is_at_it_another_leaves(vision, receiver, secret, clock, monkeypatch):
    failed(vision, "one"), failed(vision, "two")
    post, calls = notice_sending._post, []

    def post_while_another_run_begins(notice, found, *, now):
        before = len(receiver.calls)
        send(vision, clock)
        calls.append(len(receiver.calls) - before)
        post(notice, found, now=now)

    monkeypatch.setattr(notice_sending, "_post", post_while_another_run_begins)
    send(vision, clock)
    assert (calls, [state for state, *_more in states()]) == ([0, 0], ["sent", "sent"])


# -- Who has left -------------------------------------------------------------------------------------------------


def test_who_has_left_the_team_hears_nothing_more_of_it(vision, receiver, secret, by_mail, clock):
    failed(vision)
    members.remove(team=vision.team, username="member", by=Actor(user=vision.operator))
    send(vision, clock)
    assert (receiver.calls, mail.outbox) == ([], [])
    assert states() == [("dropped", 1, "You may not see this job any more.")] * 2


def test_who_is_shut_out_hears_nothing_more(vision, receiver, secret, clock):
    failed(vision)
    members.deactivate(user=vision.member, by=Actor(user=vision.operator))
    send(vision, clock)
    assert (receiver.calls, states()[0][0]) == ([], "dropped")


def test_what_has_no_address_any_more_is_dropped(vision, receiver, secret, clock):
    failed(vision)
    tells(vision.member, by_webhook=False, webhook_url="")
    send(vision, clock)
    assert states() == [("dropped", 1, "There is no address any more.")]


# -- Mail -----------------------------------------------------------------------------------------------------------


def test_a_mail_says_what_happened_why_and_where(vision, by_mail, clock):
    job = failed(vision)
    send(vision, clock)
    (one,) = mail.outbox
    assert (one.subject, one.to, one.extra_headers["Auto-Submitted"]) == (
        f"Job {job.pk} digits has failed",
        ["ada@example.com"],
        "auto-generated",
    )
    assert one.body == (
        f"Job {job.pk} digits has failed (project vit).\n2026-03-01 12:00:00 UTC\nhttp://127.0.0.1:8000/jobs/{job.pk}\n\n"
        "-- \nYou asked for this on http://127.0.0.1:8000/notices\n"
    )
    assert states() == [("sent", 1, "")]
    send(vision, clock)
    assert len(mail.outbox) == 1


def test_what_is_due_at_once_is_one_mail(vision, by_mail, clock):
    numbers = [failed(vision, name).pk for name in ("one", "two", "three")]
    send(vision, clock)
    (one,) = mail.outbox
    assert one.subject == f"Job {numbers[0]} one has failed, and 2 more"
    assert [f"/jobs/{number}\n" in one.body for number in numbers] == [True] * 3
    assert [state for state, *_more in states()] == ["sent"] * 3


@pytest.mark.usefixtures("by_mail")
@pytest.mark.parametrize(
    ("error", "after_it"),
    [
        (smtplib.SMTPDataError(451, b"later"), ("pending", "The mail server refused it: 451 later")),
        (smtplib.SMTPDataError(554, b"spam"), ("failed", "The mail server refused it: 554 spam")),
        (smtplib.SMTPRecipientsRefused({"ada@example.com": (550, b"who?")}), ("failed", "The mail server refused it: 550 who?")),
        (
            smtplib.SMTPServerDisconnected("gone"),
            ("failed", "The mail server did not say whether it took it, so it is not sent again: gone"),
        ),
        (
            TimeoutError("timed out"),
            ("failed", "The mail server did not say whether it took it, so it is not sent again: timed out"),
        ),
    ],
)
def test_a_mail_that_may_have_gone_out_is_not_sent_again(vision, clock, monkeypatch, error, after_it):
    def refuse(*_):
        raise error

    monkeypatch.setattr("django.core.mail.backends.locmem.EmailBackend.send_messages", refuse)
    failed(vision)
    send(vision, clock)
    assert [(state, detail) for state, _tries, detail in states()] == [after_it]


def test_a_mail_server_that_is_away_is_asked_again(vision, by_mail, clock, settings):
    settings.EMAIL_BACKEND, settings.EMAIL_HOST, settings.EMAIL_PORT = (
        "django.core.mail.backends.smtp.EmailBackend",
        "127.0.0.1",
        1,
    )
    failed(vision)
    send(vision, clock)
    state, tries, detail = states()[0]
    assert (state, tries, detail[:35]) == ("pending", 1, "The mail server cannot be reached: ")


def test_a_worker_killed_while_it_sends_a_webhook_sends_it_again_with_its_id(vision, receiver, secret, clock, monkeypatch):
    class Killed(BaseException):
        pass

    def killed(*_, **__):
        raise Killed

    failed(vision)
    with monkeypatch.context() as dying, pytest.raises(Killed):
        dying.setattr(notice_moves, "move", killed)  # it was sent, and that is not written down
        send(vision, clock)
    assert (states()[0][0], len(receiver.calls)) == ("sending", 1)
    send(vision, clock)
    assert len(receiver.calls) == 1
    clock.go(60)
    notices.rescue(now=clock())
    clock.go(10)
    send(vision, clock)
    assert (states()[0][:2], receiver.ids[0]) == (("sent", 2), receiver.ids[1])


def test_a_worker_killed_while_it_mails_mails_no_more(vision, by_mail, clock, monkeypatch):
    class Killed(BaseException):
        pass

    def killed(*_, **__):
        raise Killed

    failed(vision)
    with monkeypatch.context() as dying, pytest.raises(Killed):
        dying.setattr(notice_moves, "move", killed)
        send(vision, clock)
    clock.go(60)
    notices.rescue(now=clock())
    clock.go(3600)
    send(vision, clock)
    assert (len(mail.outbox), states()[0][0]) == (1, "failed")
