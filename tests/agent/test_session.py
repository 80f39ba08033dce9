from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from agent import session
from agent.home import Home, Identity
from agent.panel import Refused, Unreachable
from agent.protocol import ENV_HOST, ENV_WORKLOAD
from agent.session import NotEnrolled, Session, enrol

IDENTITY = Identity("http://panel", f"host-{os.getpid()}", "token", "redis://x")
ASKED = {"token": "t", "machine_id": "m", "name": "n", "chips": 4}


class Panel:
    """Gives the answers of the test, one after the other; the last for ever."""

    def __init__(self, *answers: int | Exception | Identity) -> None:
        self.answers = list(answers)
        self.asked: list[dict[str, object]] = []

    def open_session(self, identity: Identity, **said: object) -> int:
        return self._answer(said)

    def enrol(self, **said: object) -> Identity:
        return self._answer(said)

    def _answer(self, said):
        self.asked.append(said)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "state")


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch):
    monkeypatch.setattr(session, "FIRST_WAIT_S", 0.0)


@pytest.fixture
def running(home: Home) -> Iterator[Callable[..., Session]]:
    """A session whose thread runs until the test ends; `changes` has the number each time that it changes."""
    stop, made = threading.Event(), []

    def run(panel: Panel) -> Session:
        found = Session(home, panel, IDENTITY, machine_id="m", on_change=lambda: found.changes.append(found.number))
        found.changes = []
        thread = threading.Thread(target=found.run, args=(stop,))
        made.append((found, thread))
        thread.start()
        return found

    yield run
    stop.set()
    for found, thread in made:
        found.ask_again()
        thread.join(10)
        assert not thread.is_alive()


@pytest.fixture
def process() -> Iterator[Callable[[str], subprocess.Popen[bytes]]]:
    """A process of this host that carries a workload's mark."""
    started = []

    def start(workload: str) -> subprocess.Popen[bytes]:
        environment = os.environ | {ENV_HOST: IDENTITY.host_id, ENV_WORKLOAD: workload}
        started.append(subprocess.Popen([sys.executable, "-S", "-c", "input()"], stdin=subprocess.PIPE, env=environment))
        return started[-1]

    yield start
    for each in started:
        each.kill()
        each.wait()


def until(look: Callable[[], object]) -> None:
    deadline = time.monotonic() + 10
    while not look():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def test_enrolment_waits_for_a_panel_that_is_away_and_keeps_what_it_gets(home):
    panel = Panel(Unreachable("away"), Unreachable("away"), IDENTITY)
    assert enrol(home, panel, **ASKED, stop=threading.Event()) == IDENTITY
    assert home.identity() == IDENTITY
    assert panel.asked == [ASKED] * 3
    assert (home.path / "agent.json").stat().st_mode & 0o777 == 0o600


def test_a_refused_enrolment_says_the_panels_sentence(home):
    panel = Panel(Refused(403, "enrolment-used", "This enrolment token was used already."))
    with pytest.raises(NotEnrolled, match=r"the panel refuses to enrol this host: This enrolment token was used already\."):
        enrol(home, panel, **ASKED, stop=threading.Event())
    assert home.identity() is None


def test_without_a_token_nobody_is_asked(home):
    panel = Panel(IDENTITY)
    with pytest.raises(NotEnrolled, match="make an enrolment token"):
        enrol(home, panel, **ASKED | {"token": ""}, stop=threading.Event())
    assert panel.asked == []


def test_enrolment_ends_when_told_to(home):
    stop = threading.Event()
    stop.set()
    assert enrol(home, Panel(Unreachable("away")), **ASKED, stop=stop) is None


def test_a_session_says_who_and_where_it_is(home, running):
    panel = Panel(7)
    found = running(panel)
    until(lambda: found.number == 7)
    assert panel.asked[0]["instance_id"] == home.instance_id()
    assert panel.asked[0]["machine_id"] == "m"
    assert found.changes == [7]


def test_the_instance_is_of_the_place_on_the_disk(tmp_path):
    first = Home(tmp_path / "one")
    known = first.instance_id()
    assert Home(tmp_path / "one").instance_id() == known
    second = Home(tmp_path / "two")
    (second.path / "instance.json").write_bytes((first.path / "instance.json").read_bytes())
    assert second.instance_id() != known


def test_a_panel_that_is_away_takes_no_session_away(running):
    panel = Panel(7, Unreachable("away"), Unreachable("away"), 7)
    found = running(panel)
    until(lambda: found.number == 7)
    found.ask_again()
    until(lambda: len(panel.asked) == 4)
    assert found.changes == [7]


def test_a_refused_session_is_none_until_the_panel_gives_one_again(running):
    panel = Panel(7, Refused(409, "second-agent", "Another agent speaks for host a."), 8)
    found = running(panel)
    until(lambda: found.number == 7)
    found.ask_again()
    until(lambda: found.number == 8)
    assert found.changes == [7, None, 8]
    assert not found.is_unknown


def test_a_host_that_the_panel_does_not_know_asks_no_more(running):
    panel = Panel(7, Refused(401, "host-unknown", "This host token is unknown here."))
    found = running(panel)
    until(lambda: found.number == 7)
    found.ask_again()
    until(lambda: found.is_unknown)
    assert (found.number, len(panel.asked)) == (None, 2)


def test_processes_of_workloads_that_the_disk_does_not_know_are_ended_before_the_session_counts(home, running, process):
    known, unknown = str(uuid4()), str(uuid4())
    (home.workloads / known).mkdir()
    kept, stranger = process(known), process(unknown)
    found = running(Panel(7))
    until(lambda: found.number == 7)
    assert stranger.wait(timeout=0.5) == -9
    assert kept.poll() is None


def test_an_agent_that_is_refused_ends_nothing(running, process):
    stranger = process(str(uuid4()))
    panel = Panel(Refused(409, "second-agent", "Another agent speaks for host a."))
    running(panel)
    until(lambda: len(panel.asked) >= 3)
    assert stranger.poll() is None
