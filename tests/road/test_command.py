"""A command from the request to its log: what went in comes out, to the byte, and nothing is left behind."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from agent import processes
from agent.protocol import ENV_WORKLOAD
from tests.road.world import BASE_DIR, until

AWKWARD = (
    b"plain\nnul:\0:nul\nbroken utf-8: \xff\xfe\xc3(\n\x1b[31mred\x1b[0m \x1b]0;title\x07\nprogress 1%\rprogress 100%\r\n"
    + b"x" * 1_000_000
    + b"\nlast line without an end"
)


def test_a_command_runs_and_its_log_is_complete(world, agent):
    number = world.launch("echo hello; echo bye >&2")
    job = world.wait(number)
    assert (job["state"], job["reason"]["code"]) == ("succeeded", "succeeded")
    assert world.complete_log(number) == b"hello\nbye\n"
    assert world.codes(number)[0] == "job.queued"
    assert world.codes(number)[-1] == "job.succeeded"
    until(lambda: world.free_chips() == 4)


def test_an_awkward_log_is_stored_to_the_byte(world, agent, tmp_path):
    source = tmp_path / "awkward"
    source.write_bytes(AWKWARD)
    number = world.launch(f"cat {shlex.quote(str(source))}")
    world.wait(number)
    assert world.complete_log(number) == AWKWARD
    assert world.log(number, tail=10) == AWKWARD[-10:]
    assert world.log(number, offset=100, limit=50) == AWKWARD[100:150]


def test_a_hundred_thousand_lines_at_once_are_all_there_once(world, agent):
    number = world.launch("seq 1 100000")
    world.wait(number)
    assert world.complete_log(number) == b"".join(b"%d\n" % i for i in range(1, 100_001))


def test_exit_code_signal_and_missing_command_are_told_apart(world, agent):
    by_code, by_signal = world.launch("exit 7"), world.launch("kill -SEGV $$")
    code, signal = world.wait(by_code)["reason"], world.wait(by_signal)["reason"]
    assert code == {"code": "exit-code", "sentence": "The command ended with exit code 7 on host-a."}
    assert signal == {"code": "signal", "sentence": "The command was ended by signal 11 (SIGSEGV) on host-a."}


def test_a_command_gets_none_of_the_agents_environment(world, agent):
    number = world.launch("env -0; echo; ls /proc/self/fd", environment={"MINE": "yes"})
    world.wait(number)
    text = world.complete_log(number)
    assert b"MINE=yes" in text
    assert b"PJRT_DEVICE=CPU" in text
    assert b"PANEL_CANARY" not in text
    assert b"ENROLMENT" not in text
    assert text.splitlines()[-4:] == [b"0", b"1", b"2", b"3"]  # 3 is ls' own


def test_a_secret_reaches_the_command_and_never_the_log(world, agent):
    world.client.put("projects/first-project/secrets/API_KEY", json={"value": "open-sesame-42"}).raise_for_status()
    number = world.launch('test "$API_KEY" = open-sesame-42 && echo "it is $API_KEY"', secrets=["API_KEY"])
    assert world.wait(number)["state"] == "succeeded"
    text = world.complete_log(number)
    assert b"open-sesame" not in text
    assert text.startswith(b"it is ")
    kept = [path for path in agent.state.rglob("*") if path.is_file() and b"open-sesame" in path.read_bytes()]
    assert kept == []


def test_the_same_key_launches_once(world, agent):
    body = {"project": "first-project", "definition": "command", "parameters": {"command": "true"}}
    first, second = (world.client.post("jobs", json=body, headers={"Idempotency-Key": "once"}) for _ in range(2))
    assert (first.status_code, second.status_code) == (201, 201)
    assert first.json() == second.json()
    assert second.headers["Idempotent-Replayed"] == "true"
    other = world.client.post("jobs", json=body | {"name": "other"}, headers={"Idempotency-Key": "once"})
    assert (other.status_code, other.json()["code"]) == (409, "idempotency-key-reused")
    world.wait(first.json()["number"])


def test_what_forks_away_is_ended_with_its_command(world, agent):
    number = world.launch("setsid sleep 1000 & echo $!; exit 0")
    assert world.wait(number)["state"] == "succeeded"
    pid = int(world.complete_log(number))
    assert not (BASE_DIR / f"/proc/{pid}").exists()


def test_bad_input_is_answered_at_its_field(world, agent):
    answer = world.client.post("jobs", json={"project": "first-project", "definition": "command", "parameters": {"commnad": 1}})
    assert answer.status_code == 422
    assert set(answer.json()["details"]) == {"parameters.commnad", "parameters.command"}
    answer = world.client.post(
        "jobs",
        json={
            "project": "first-project",
            "definition": "command",
            "parameters": {"command": "true"},
            "resources": {"accelerator": "v5e", "chips": 4},
        },
    )
    assert (answer.status_code, answer.json()["details"]) == (422, {"resources.accelerator": "no cluster has it; there is cpu"})


def test_a_command_that_fails_once_is_tried_again_and_its_tries_are_told(world, agent, tmp_path):
    mark = tmp_path / "was-here"
    command = f"test -e {shlex.quote(str(mark))} || {{ touch {shlex.quote(str(mark))}; echo first; exit 3; }}; echo second"
    number = world.launch(command, retries={"user_code": {"times": 2, "delay_s": 0}})
    assert world.wait(number)["state"] == "succeeded"
    tries = world.client.get(f"jobs/{number}/attempts").json()["results"]
    assert [(one["number"], one["outcome"], one["retried_as"]) for one in tries] == [
        (1, "failed", "user_code"),
        (2, "succeeded", None),
    ]
    until(lambda: world.log(number, attempt=1) == b"first\n")
    assert world.complete_log(number) == b"second\n"
    until(lambda: world.free_chips() == 4)


def test_a_relaunch_runs_the_same_again(world, agent):
    number = world.launch("echo hello", environment={"A": "1"})
    world.wait(number)
    again = world.client.post(f"jobs/{number}/relaunch").raise_for_status().json()
    assert (again["relaunch_of"], again["environment"]) == (number, {"A": "1"})
    assert world.wait(again["number"])["state"] == "succeeded"
    assert world.complete_log(again["number"]) == b"hello\n"


def test_a_relaunch_goes_on_from_checkpoints_where_it_is_told_to(world, agent):
    first = world.launch("cat $PANEL_CHECKPOINTS/last 2>/dev/null || echo begins; echo goes on >$PANEL_CHECKPOINTS/last")
    numbers = [first]
    for body in ({}, {"with_checkpoints": True}):
        world.wait(numbers[-1], "succeeded")
        numbers.append(world.client.post(f"jobs/{first}/relaunch", json=body).raise_for_status().json()["number"])
    world.wait(numbers[-1], "succeeded")
    assert [world.complete_log(number) for number in numbers] == [b"begins\n", b"begins\n", b"goes on\n"]


def test_a_command_that_deletes_its_own_folder_is_ended_and_its_chips_are_free(world, agent):
    number = world.launch('cd /; echo "$PANEL_METRICS"; rm -rf "$(dirname "$(dirname "$PANEL_METRICS")")"; exec sleep 1000')
    job = world.wait(number)
    assert (job["state"], job["reason"]["code"]) == ("failed", "folder-gone")
    until(lambda: world.free_chips() == 4)
    assert not processes.marked(ENV_WORKLOAD, job["workload"])


def test_a_command_that_stops_its_own_supervisor_is_canceled_all_the_same(world, agent):
    number = world.launch("kill -STOP $PPID; exec sleep 1000")
    world.wait(number, "starting", "running")
    world.cancel(number, force=True)
    assert world.wait(number, within_s=30)["state"] == "canceled"
    until(lambda: world.free_chips() == 4)


def test_a_command_that_stops_its_own_supervisor_ends_as_it_ended(world, agent):
    number = world.launch("kill -STOP $PPID; sleep 0.5; echo bye; exit 3")
    job = world.wait(number, within_s=30)
    assert (job["state"], job["reason"]["code"], world.complete_log(number)) == ("failed", "exit-code", b"bye\n")


@contextmanager
def little_memory(mib: int) -> Iterator[Path]:
    """The file by which a process enters a memory cgroup; skips where none can be made."""
    old, new = Path("/sys/fs/cgroup/memory"), Path("/sys/fs/cgroup")
    root, limit = (old, "memory.limit_in_bytes") if old.is_dir() else (new, "memory.max")
    group = root / f"panel-test-{os.getpid()}"
    try:
        group.mkdir()
    except OSError as error:
        pytest.skip(f"no memory cgroup can be made here: {error}")
    try:
        if not (group / limit).exists():
            pytest.skip("cgroups here do not limit memory")
        (group / limit).write_text(str(mib * 2**20))
        yield group / "cgroup.procs"
    finally:
        until(lambda: not (group / "cgroup.procs").read_text(), what="nobody in the cgroup")
        group.rmdir()


def test_a_command_that_the_kernel_ends_for_want_of_memory_says_so(world, agent):
    with little_memory(64) as enter:
        hog = "import time; print('hungry', flush=True); x = b'x' * 300_000_000; time.sleep(60)"
        number = world.launch(f"echo $$ > {enter} || exit 9; exec {shlex.quote(sys.executable)} -c {shlex.quote(hog)}")
        job = world.wait(number)
        assert (job["state"], job["reason"]["code"]) == ("failed", "out-of-memory")
        assert world.complete_log(number) == b"hungry\n"
    until(lambda: world.free_chips() == 4)


def test_exit_codes_that_look_like_signals_are_exit_codes(world, agent):
    jobs = {code: world.launch(f"exit {code}") for code in (137, 143)}
    for code, number in jobs.items():
        sentence = f"The command ended with exit code {code} on host-a."
        assert world.wait(number)["reason"] == {"code": "exit-code", "sentence": sentence}


def test_a_command_that_deletes_the_mark_of_its_start_is_not_started_again(world, agent, tmp_path):
    runs = tmp_path / "runs"
    number = world.launch(f'echo run >> {shlex.quote(str(runs))}; rm -rf "$(dirname "$PWD")/rank"; exec sleep 8')
    world.wait(number)
    until(lambda: world.free_chips() == 4)
    assert runs.read_text() == "run\n"
