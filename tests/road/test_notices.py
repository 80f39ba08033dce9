"""People are told by a real panel: over HTTP and SMTP, also when the worker dies while it tells."""

from __future__ import annotations

import email
from collections.abc import Iterator

import pytest

from tests.jobs.hooks import Receiver
from tests.road.mail_server import MailServer
from tests.road.world import World, a_world, until

SENDING_S = 10
TOLD = {"events": ["starts", "fails"], "by_mail": True, "mail_address": "ada@example.com", "by_webhook": True}


@pytest.fixture(scope="module")
def receiver() -> Iterator[Receiver]:
    found = Receiver()
    yield found
    found.close()


@pytest.fixture(scope="module")
def mails() -> Iterator[MailServer]:
    found = MailServer()
    yield found
    found.close()


@pytest.fixture(scope="module")
def world(tmp_path_factory, receiver: Receiver, mails: MailServer) -> Iterator[World]:
    settings = {
        "NOTICE_HTTP": "yes",
        "NOTICE_PRIVATE_ADDRESSES": "127.0.0.1/32",
        "NOTICE_SENDING_S": str(SENDING_S),
        "EMAIL_URL": mails.url,
    }
    with a_world(tmp_path_factory.mktemp("world"), environment=settings) as world:
        yield world


@pytest.fixture(scope="module")
def secret(world: World, receiver: Receiver) -> str:
    return world.client.put("notices", json=TOLD | {"webhook_url": receiver.url}).raise_for_status().json()["webhook_secret"]


@pytest.fixture(autouse=True)
def _nothing_yet(receiver: Receiver, mails: MailServer) -> None:
    receiver.calls.clear()
    mails.mails.clear()


def deliveries(world: World, number: int) -> dict[str, tuple[str, int]]:
    """Of a job's last event: channel -> (state, tries)."""
    found = [one for one in world.client.get("notices/deliveries").json()["results"] if one["job"] == number]
    return {one["channel"]: (one["state"], one["tries"]) for one in reversed(found)}


def test_a_job_tells_by_both_ways_when_it_starts_and_when_it_fails(world, agent, receiver, secret, mails):
    go = world.folder / "go"
    number = world.launch(f"until [ -e {go} ]; do sleep 0.1; done; exit 3", name="digits")
    # What is due together comes in one mail, so the second waits for the first.
    until(lambda: len(receiver.calls) == 1 and len(mails.mails) == 1, within_s=90, what="a call and a mail")
    go.touch()
    world.wait(number, "failed")
    until(lambda: len(receiver.calls) == 2 and len(mails.mails) == 2, within_s=90, what="two calls and two mails")
    bodies = [receiver.read(call, secret) for call in range(2)]
    assert [body["type"] for body in bodies] == ["job.running", "job.failed"]
    assert bodies[1]["data"]["reason"]["sentence"].startswith("The command ended with exit code 3 on ")
    mail = email.message_from_string(mails.mails[1])
    assert (mail["Subject"], mail["To"]) == (f"Job {number} digits has failed", "ada@example.com")
    assert f"{world.url}/jobs/{number}" in mail.get_payload()
    until(lambda: deliveries(world, number) == {"mail": ("sent", 1), "webhook": ("sent", 1)}, what="both are sent")


def test_a_worker_killed_while_it_calls_calls_again_with_the_same_id(world, agent, receiver, secret, mails):
    receiver.before = lambda: world.kill_part("celery") if len(receiver.calls) == 1 else None
    number = world.launch("exit 3", notify={"events": ["fails"], "by_mail": False})
    until(lambda: len(receiver.calls) == 2, within_s=90, what="a second call")
    assert len(set(receiver.ids)) == 1
    assert receiver.read(1, secret)["data"]["job"]["number"] == number
    until(lambda: deliveries(world, number) == {"webhook": ("sent", 2)}, what="it is sent")


def test_a_worker_killed_while_it_mails_mails_no_more_and_says_so(world, agent, receiver, secret, mails):
    mails.before = lambda: world.kill_part("celery") if len(mails.mails) == 1 else None
    number = world.launch("exit 3", notify={"events": ["fails"], "by_webhook": False})
    until(lambda: deliveries(world, number) == {"mail": ("failed", 1)}, within_s=90, what="it has failed")
    after = world.launch("exit 3", notify={"events": ["fails"], "by_webhook": False})
    until(lambda: deliveries(world, after) == {"mail": ("sent", 1)}, within_s=60, what="the next one")
    assert [f"/jobs/{one}\n" in "".join(mails.mails).replace("\r\n", "\n") for one in (number, after)] == [True, True]
    assert len(mails.mails) == 2
