from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import UUID, uuid4

import pytest

from agent import launching, processes, ranks
from agent.checkouts import Checkouts
from agent.folders import WorkloadFolder
from agent.panel import Refused, Unreachable
from agent.preparing import Preparer
from agent.protocol import ENV_HOST, ENV_WORKLOAD, RUNNING, Start
from agent.ranks import Ranks
from agent.runtimes import Runtimes
from agent.supervisor import EXIT_BAD_SPEC, EXIT_NO_FOLDER

HOST = f"test-{os.getpid()}"


class Panel:
    """Answers claims with what the test has put on the list, else with a start of `command`."""

    def __init__(self, command: str = "true") -> None:
        self.command = command
        self.answers: list[Exception] = []
        self.asked: list[tuple[UUID, int]] = []
        self.may_answer = threading.Event()
        self.may_answer.set()

    def claim(self, workload_id: UUID, rank: int) -> Start:
        self.asked.append((workload_id, rank))
        assert self.may_answer.wait(20)
        if self.answers:
            raise self.answers.pop(0)
        environment = {"PATH": os.environ["PATH"]}
        return Start(str(workload_id), rank, 1, ["sh", "-c", self.command], environment, {}, [0], 30)


@pytest.fixture
def panel() -> Panel:
    return Panel()


@pytest.fixture
def folder(tmp_path: Path) -> WorkloadFolder:
    path = tmp_path / str(uuid4())
    path.mkdir()
    return WorkloadFolder(path)


@pytest.fixture
def start() -> Iterator[Callable[..., None]]:
    """Starts a real supervisor."""
    nursery = launching.Nursery(HOST)

    def launch(folder: WorkloadFolder, start: Start, programs: Path | None, output: Path, checkpoints: Path) -> None:
        places = {"programs": programs, "output": output, "checkpoints": checkpoints}
        nursery.launch(launching.spec_of(folder, start, host_id=HOST, wake="", **places))

    yield launch
    nursery.close()


@pytest.fixture
def preparer(tmp_path: Path) -> Preparer:
    """Of ranks that need neither source nor runtime."""
    runtimes = Runtimes(tmp_path / "runtimes", fetch=_never, launch=_never, wake="")
    checkouts = Checkouts(tmp_path / "checkouts", launch=_never, wake="")
    return Preparer(tmp_path / "files", tmp_path / "sources", runtimes, checkouts, fetch_source=_never)


def _never(*_: object) -> None:
    raise AssertionError("not asked for")


@pytest.fixture
def an_agent(panel: Panel, preparer, start, monkeypatch) -> Iterator[Callable[..., Ranks]]:
    """Makes the ranks of a new agent. What they start is ended with the test."""
    monkeypatch.setattr(ranks, "LONGEST_WAIT_S", 0.0)  # between two tries
    made: list[Ranks] = []

    def make(launch=start) -> Ranks:
        made.append(Ranks(panel.claim, preparer, launch))
        return made[-1]

    yield make
    panel.may_answer.set()
    for each in made:
        each.close()
    for pid in processes.marked(ENV_HOST, HOST):
        os.kill(pid, signal.SIGKILL)


def step_until(ranks: Ranks, folder: WorkloadFolder, look: Callable[[], object]) -> None:
    deadline = time.monotonic() + 20
    while not look():
        assert time.monotonic() < deadline, list(folder.path.rglob("*"))
        if not folder.has_ended():
            ranks.step(folder)
        time.sleep(0.01)


def states(folder: WorkloadFolder) -> list[dict[str, object]]:
    return [json.loads(line) for line in (folder.path / "states").read_bytes().splitlines()]


def test_a_rank_is_claimed_started_and_told_of(an_agent, panel, folder):
    panel.command = "echo hello; exit 3"
    agent = an_agent()
    folder.note_start(2)
    step_until(agent, folder, folder.has_ended)
    assert panel.asked == [(folder.workload_id, 2)]
    assert folder.spool("output").read(0, 100) == b"hello\n"
    end = states(folder)[-1]
    assert (end["state"], end["cause"], end["exit_code"], end["final_offsets"]) == ("ended", "exited", 3, {"output": 6})


def test_without_an_order_nothing_is_claimed(an_agent, panel, folder):
    an_agent().step(folder)
    assert panel.asked == []
    assert list(folder.path.iterdir()) == []


def test_while_the_panel_is_asked_it_is_not_asked_again(an_agent, panel, folder):
    agent = an_agent()
    folder.note_start(0)
    panel.may_answer.clear()
    for _ in range(5):
        agent.step(folder)
    panel.may_answer.set()
    step_until(agent, folder, folder.has_ended)
    assert len(panel.asked) == 1


def test_an_unreachable_panel_is_asked_until_it_answers(an_agent, panel, folder):
    panel.answers = [Unreachable("away"), Unreachable("away"), OSError("disk full")]
    agent = an_agent()
    folder.note_start(0)
    step_until(agent, folder, folder.has_ended)
    assert len(panel.asked) == 4
    assert states(folder)[-1]["exit_code"] == 0


def test_after_a_failed_try_it_waits_before_the_next(an_agent, panel, folder, monkeypatch):
    monkeypatch.setattr(ranks, "LONGEST_WAIT_S", 3600.0)
    panel.answers = [Unreachable("away")]
    agent = an_agent()
    folder.note_start(0)
    step_until(agent, folder, lambda: agent._patience)
    for _ in range(5):
        agent.step(folder)
    assert len(panel.asked) == 1


@pytest.mark.parametrize("code", ["session-over", "host-unknown"])
def test_an_agent_that_is_refused_refuses_no_rank(an_agent, panel, folder, code):
    panel.answers = [Refused(409, code, "not you")]
    agent = an_agent()
    folder.note_start(0)
    step_until(agent, folder, folder.has_ended)
    assert not (folder.path / "refused").exists()
    assert states(folder)[-1]["exit_code"] == 0


def test_a_refused_claim_is_final(an_agent, panel, folder):
    panel.answers = [Refused(410, "workload-ended", "The workload is to stop or has ended.")]
    agent = an_agent()
    folder.note_start(0)
    step_until(agent, folder, folder.has_ended)
    (end,) = states(folder)
    assert (end["cause"], end["detail"]) == ("not-started", "The workload is to stop or has ended.")
    an_agent().step(folder)  # the next agent asks no more
    assert len(panel.asked) == 1
    assert not folder.spend_start()


def test_a_stop_before_the_start_starts_nothing(an_agent, panel, folder):
    folder.note_start(0)
    folder.note_stop(30)
    an_agent().step(folder)
    (end,) = states(folder)
    assert (end["cause"], end["detail"]) == ("not-started", "a stop came before the start")
    assert panel.asked == []
    assert not folder.spend_start()


def test_a_stop_of_something_unknown_is_answered_too(an_agent, panel, folder):
    folder.note_stop(0)
    an_agent().step(folder)
    assert [line["cause"] for line in states(folder)] == ["not-started"]
    assert panel.asked == []


def test_a_stop_that_comes_while_the_panel_is_asked_starts_nothing(an_agent, panel, folder):
    agent = an_agent(launch=None)  # would raise
    folder.note_start(0)
    panel.may_answer.clear()
    agent.step(folder)
    folder.note_stop(30)
    panel.may_answer.set()
    step_until(agent, folder, folder.has_ended)
    assert [line["cause"] for line in states(folder)] == ["not-started"]
    assert folder.claim()["rank"] == 0


def test_a_stop_is_passed_to_what_runs(an_agent, panel, folder):
    panel.command = "trap 'echo bye; exit 0' TERM; echo ready; while :; do sleep 0.02; done"
    agent = an_agent()
    folder.note_start(0)
    step_until(agent, folder, lambda: folder.spool("output").read(0, 9) == b"ready\n" and folder.last_report())
    folder.note_stop(30)
    step_until(agent, folder, folder.has_ended)
    assert [(line["state"], line.get("cause")) for line in states(folder)] == [("running", None), ("ended", "stopped")]
    assert folder.spool("output").read(0, 99).endswith(b"bye\n")  # the shell may say that its sleep was terminated


def test_a_new_agent_takes_up_what_runs(an_agent, panel, folder):
    panel.command = "sleep 60"
    first = an_agent()
    folder.note_start(0)
    step_until(first, folder, folder.last_report)
    second = an_agent()
    second.step(folder)
    assert [line["state"] for line in states(folder)] == [RUNNING]
    folder.note_stop(0)
    step_until(second, folder, folder.has_ended)
    assert len(panel.asked) == 1


def test_two_agents_that_start_the_same_rank_run_it_once(an_agent, panel, folder, tmp_path):
    panel.command = f"echo run >> {tmp_path}/runs; sleep 0.2"
    agents = [an_agent(), an_agent()]
    folder.note_start(0)
    for agent in agents:
        agent.step(folder)
    for agent in agents:
        step_until(agent, folder, folder.has_ended)
    assert (tmp_path / "runs").read_text() == "run\n"


def test_a_supervisor_that_was_killed_takes_all_with_it(an_agent, panel, folder):
    panel.command = "setsid sleep 60 & echo $!; wait"
    agent = an_agent()
    folder.note_start(0)
    step_until(agent, folder, lambda: folder.last_report() and folder.spool("output").end())
    os.kill(folder.supervisor_note("started")["supervisor_pid"], signal.SIGKILL)
    step_until(agent, folder, folder.has_ended)
    assert [(line["state"], line.get("cause")) for line in states(folder)] == [(RUNNING, None), ("ended", "supervisor-lost")]
    assert states(folder)[-1]["final_offsets"] == {"output": folder.spool("output").end()}
    assert processes.marked(ENV_WORKLOAD, str(folder)) == []


def test_the_end_is_not_told_while_something_is_left(an_agent, folder, monkeypatch):
    """Of a supervisor that was killed: what carries its mark may take a while to go."""
    left = [[4_000_000], [4_000_000]]  # no pid that Linux gives
    monkeypatch.setattr(ranks.processes, "marked", lambda *_: left.pop(0) if left else [])
    folder.make_rank_folder()
    (folder.rank_folder / "started").write_text('{"supervisor_pid": 1, "supervisor_start_time": 0}')
    agent = an_agent()
    for _ in range(2):
        agent.step(folder)
        assert not folder.has_ended()
    agent.step(folder)
    assert [line["cause"] for line in states(folder)] == ["supervisor-lost"]


def test_an_agent_killed_after_it_spent_the_start_leaves_the_telling_to_the_next(an_agent, panel, folder):
    folder.note_start(0)
    folder.note_stop(0)
    folder.spend_start()
    an_agent().step(folder)
    assert [line["cause"] for line in states(folder)] == ["not-started"]
    assert panel.asked == []


def says(folder: WorkloadFolder, code: int, sentence: str) -> None:
    """What a supervisor that does not begin leaves behind."""
    (folder.rank_folder / "not-begun").write_text(json.dumps({"code": code, "sentence": sentence}))


def test_a_supervisor_that_found_no_room_is_started_again(an_agent, panel, folder, start):
    tries = []

    def launch(folder: WorkloadFolder, *rest: object) -> None:
        tries.append(1)
        if len(tries) < 3:
            says(folder, EXIT_NO_FOLDER, "no space left")
        else:
            start(folder, *rest)

    agent = an_agent(launch)
    folder.note_start(0)
    step_until(agent, folder, folder.has_ended)
    assert len(tries) == 3
    assert states(folder)[-1]["exit_code"] == 0


def test_a_spec_that_no_supervisor_takes_ends_the_rank(an_agent, panel, folder):
    agent = an_agent(lambda folder, *_: says(folder, EXIT_BAD_SPEC, "bad spec"))
    folder.note_start(0)
    step_until(agent, folder, folder.has_ended)
    (end,) = states(folder)
    assert (end["cause"], end["detail"]) == ("prepare-failed", "bad spec")


def test_a_supervisor_of_which_nothing_is_heard_is_started_again(an_agent, panel, folder, start, monkeypatch):
    monkeypatch.setattr(ranks, "BEGIN_WITHIN_S", 0.05)
    tries = []

    def launch(*arguments: object) -> None:
        tries.append(1)
        if len(tries) > 1:  # the first one is lost, as when the nursery is killed
            start(*arguments)

    agent = an_agent(launch)
    folder.note_start(0)
    step_until(agent, folder, folder.has_ended)
    assert len(tries) >= 2
    assert [line["state"] for line in states(folder)].count("ended") == 1


def test_a_nursery_that_was_killed_is_started_again(an_agent, panel, folder, tmp_path):
    nursery = launching.Nursery(HOST)
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        spec = {"workload_id": name, "rank_folder": str(tmp_path / name), "command": ["true"], "environment": {}, "cwd": "/"}
        nursery.launch(spec | {"secrets": [], "cap_bytes": 1000})
        deadline = time.monotonic() + 20
        while not (tmp_path / name / "end").exists():
            assert time.monotonic() < deadline
            time.sleep(0.01)
        nursery._process.kill()
        nursery._process.wait()
    nursery.close()


def test_what_has_ended_is_forgotten(an_agent, panel, folder):
    panel.answers = [Unreachable("away")]
    agent = an_agent()
    folder.note_start(0)
    step_until(agent, folder, folder.has_ended)
    agent.forget(folder)
    assert (agent._under_way, agent._beginning, agent._patience) == ({}, {}, {})
