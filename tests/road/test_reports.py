"""What hosts report comes twice, in a wrong order, or with a wrong clock: the panel's facts stay right."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import time
from datetime import datetime
from pathlib import Path

import pytest

from agent import protocol
from agent.folders import WorkloadFolder
from agent.protocol import PART_OUTPUT, Report
from tests.road.test_agent_faults import redis_of
from tests.road.world import Agent, World, until

PIECE_BYTES = 1000
SHIM = Path(__file__).parent / "shifted_clock.c"


def ship(world: World, agent: Agent, reports: list[Report]) -> None:
    """By the host's own user; returns once the inbox has taken them all."""
    line, key = redis_of(agent), protocol.reports_key(agent.host_id)
    for report in reports:
        line.xadd(key, report.fields())
    until(lambda: not world.redis().xlen(key), what="all taken")


def test_log_reports_that_come_twice_and_in_any_order_make_the_same_log(world, agent, tmp_path):
    go, done = tmp_path / "go", tmp_path / "done"
    number = world.launch(f"while [ ! -e {go} ]; do sleep 0.02; done; seq 1 10000; touch {done}")
    world.wait(number, "running")
    workload = world.job(number)["workload"]
    agent.kill()
    go.touch()
    until((agent.folder(workload) / "rank" / "end").exists, what="it ends")
    spool = WorkloadFolder(agent.folder(workload)).spool(PART_OUTPUT)
    text = spool.read(0, spool.end())
    assert text == b"".join(b"%d\n" % i for i in range(1, 10_001))
    file = protocol.log_file(workload, 0, PART_OUTPUT)
    pieces = [
        Report(1, protocol.REPORT_LOG, text[start : start + PIECE_BYTES], file=file, offset=start)
        for start in range(0, len(text), PIECE_BYTES)
    ]
    for round_ in range(3):
        shuffled = pieces * 2
        random.Random(round_).shuffle(shuffled)
        ship(world, agent, shuffled)
        assert text.startswith(world.log(number))
    before = len(world.log(number))
    overlapping = [
        Report(1, protocol.REPORT_LOG, text[max(0, start - 300) : start + 700], file=file, offset=max(0, start - 300))
        for start in range(0, len(text), 500)
    ]
    ship(world, agent, overlapping)
    assert world.log(number) == text
    assert before < len(text)  # else the last round would have shown nothing
    agent.start()
    assert world.wait(number)["state"] == "succeeded"
    ship(world, agent, [*reversed(pieces), *pieces])
    assert world.complete_log(number) == text


def test_acknowledgements_that_are_lost_cost_neither_a_byte_nor_a_state(world, agent, tmp_path):
    go = tmp_path / "go"
    number = world.launch(
        f"i=0; while [ ! -e {go} ]; do i=$((i+1)); echo line $i; sleep 0.002; done; echo $i > {go}.last; exit 3"
    )
    world.wait(number, "running")
    lost, until_s = 0, time.monotonic() + 3
    while time.monotonic() < until_s:
        lost += world.redis().delete(protocol.acks_key(agent.host_id))
        time.sleep(0.01)
    assert lost > 20
    go.touch()
    until((tmp_path / "go.last").exists, what="its end")
    for _ in range(50):
        lost += world.redis().delete(protocol.acks_key(agent.host_id))
        time.sleep(0.01)
    job = world.wait(number)
    assert (job["state"], job["reason"]["code"]) == ("failed", "exit-code")
    last = int((tmp_path / "go.last").read_text())
    assert world.complete_log(number) == b"".join(b"line %d\n" % i for i in range(1, last + 1))
    until((agent.folder(job["workload"]) / "done").exists, what="nothing left to ship")


def test_state_reports_that_come_again_change_nothing(world, agent):
    number = world.launch("echo once")
    assert world.wait(number)["state"] == "succeeded"
    workload = world.job(number)["workload"]
    until((agent.folder(workload) / "done").exists, what="all told")
    codes, job = world.codes(number), world.job(number)
    lines = (agent.folder(workload) / "states").read_bytes()
    file = protocol.states_file(workload, 0)
    again = Report(1, protocol.REPORT_STATES, lines, file=file, offset=0)
    failed = json.dumps({"state": "ended", "at_ms": 1, "cause": "exited", "exit_code": 9}).encode() + b"\n"
    late = Report(1, protocol.REPORT_STATES, failed, file=file, offset=len(lines))
    ship(world, agent, [again, late, again, late])
    after = world.launch("echo after")
    assert world.wait(after)["state"] == "succeeded"
    assert world.codes(number) == codes
    assert world.job(number) == job
    assert world.complete_log(number) == b"once\n"
    until(lambda: world.host(agent.host_id)["free_chips"] == 4, what="chips are free")


@pytest.fixture
def shim(tmp_path: Path) -> Path:
    if shutil.which("cc") is None:
        pytest.skip("no C compiler, and without one the clock of a process cannot be shifted")
    built = tmp_path / "shifted_clock.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", built, SHIM, "-ldl"], check=True)
    return built


@pytest.mark.parametrize("shift_s", [300, -300])
def test_a_host_whose_clock_is_wrong_changes_no_order_and_no_lease(world, agent, shim, monkeypatch, shift_s):
    with monkeypatch.context() as patch:
        patch.setenv("LD_PRELOAD", str(shim))
        patch.setenv("CLOCK_SHIFT_S", str(shift_s))
        wrong = world.add_agent(f"wrong{shift_s}", slots=8).wait_ready()
    eight = {"accelerator": "cpu", "chips": 8}
    began = time.time()
    first = world.launch("echo one; sleep 0.3; echo two", resources=eight)
    assert world.wait(first)["state"] == "succeeded"
    failed = world.launch("exit 3", resources=eight, retries={"user_code": {"times": 1, "delay_s": 1}})
    assert world.wait(failed)["reason"]["code"] == "exit-code"
    ended = time.time()
    until(lambda: world.host(wrong.host_id)["clock_offset_ms"], what="a heartbeat")
    assert abs(world.host(wrong.host_id)["clock_offset_ms"] - shift_s * 1000) < 5000
    assert not world.host(wrong.host_id)["is_silent"]
    assert world.complete_log(first) == b"one\ntwo\n"
    for number in (first, failed):
        job = world.job(number)
        moments = [datetime.fromisoformat(job[name]).timestamp() for name in ("created_at", "started_at", "ended_at")]
        assert moments == sorted(moments)
        assert began - 1 <= moments[0] <= moments[-1] <= ended + 1
        events = world.client.get(f"jobs/{number}/events").json()["results"]
        assert [event["at"] for event in events] == sorted(event["at"] for event in events)
    assert [one["outcome"] for one in world.client.get(f"jobs/{failed}/attempts").json()["results"]] == ["failed", "failed"]
    leases = json.loads(
        world.manage(
            "shell",
            "-v0",
            "-c",
            "import json; from clusters.models import Lease\n"
            f"found = Lease.objects.filter(host='{wrong.host_id}').order_by('pk')\n"
            "print(json.dumps(list(found.values_list('from_ms', 'to_ms'))))",
        )
    )
    assert len(leases) == 3
    for (from_ms, to_ms), following in zip(leases, [*leases[1:], [int(ended * 1000) + 1000]], strict=True):
        assert began * 1000 - 1000 <= from_ms <= to_ms <= following[0]
    wrong.kill()
    world.client.post(f"hosts/{wrong.host_id}/retirement").raise_for_status()
