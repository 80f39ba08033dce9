"""The network between panel, Redis and hosts is cut without a word: nobody hangs for good, nothing is lost or runs twice."""

from __future__ import annotations

import json
import shlex
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from agent import processes
from agent.protocol import ENV_WORKLOAD
from tests.road.link import Link
from tests.road.world import Agent, World, a_world, until
from tests.valkey import Valkey, free_port

SLOTS = 4
SILENT_S = 5
ALL_CHIPS = {"accelerator": "cpu", "chips": SLOTS}


@pytest.fixture(scope="module")
def redis_server(tmp_path_factory) -> Iterator[Valkey]:
    server = Valkey(tmp_path_factory.mktemp("valkey")).start()
    yield server
    server.kill()


@pytest.fixture(scope="module")
def panel_to_redis(redis_server: Valkey) -> Iterator[Link]:
    link = Link(redis_server.port)
    yield link
    link.close()


@pytest.fixture(scope="module")
def host_to_redis(redis_server: Valkey) -> Iterator[Link]:
    link = Link(redis_server.port)
    yield link
    link.close()


@pytest.fixture(scope="module")
def world(tmp_path_factory, redis_server: Valkey, panel_to_redis: Link) -> Iterator[World]:
    environment = {
        "REDIS_URL": redis_server.url.replace(f":{redis_server.port}/", f":{panel_to_redis.port}/"),
        "HOSTS_REDIS_URL": f"redis://127.0.0.1:{redis_server.port}/0",
        "PLACE_SILENT_S": str(SILENT_S),
    }
    with a_world(tmp_path_factory.mktemp("world"), environment=environment) as world:
        yield world


@pytest.fixture(scope="module")
def host_to_panel(world: World) -> Iterator[Link]:
    link = Link(world.port)
    yield link
    link.close()


@pytest.fixture(scope="module")
def _host(world: World, redis_server: Valkey, host_to_redis: Link, host_to_panel: Link) -> Agent:
    """A host all of whose words go over the two links."""
    agent = world.add_agent(slots=SLOTS, panel=host_to_panel.url).wait_ready()
    agent.kill()
    note = agent.state / "agent.json"
    note.write_text(note.read_text().replace(f":{redis_server.port}/", f":{host_to_redis.port}/"))
    return agent.start().wait_session()


class Runs:
    """A command that leaves its pid in a file, counts in its log until the test lets this run go, and says so."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        place = shlex.quote(str(folder))
        self.command = (
            f"echo $$ >> {place}/runs; n=$(wc -l < {place}/runs); i=0;"
            f' while [ ! -e {place}/go$n ]; do i=$((i+1)); echo line $i; sleep 0.05; done; echo "last $i of run $n"'
        )

    @property
    def pids(self) -> list[int]:
        file = self._folder / "runs"
        return [int(line) for line in file.read_text().split()] if file.exists() else []

    def go(self, run: int) -> None:
        (self._folder / f"go{run}").touch()

    @staticmethod
    def check_log(text: bytes, run: int) -> None:
        """It holds every line of a run that came to its end."""
        *lines, last = text.splitlines()
        assert last == b"last %d of run %d" % (len(lines), run)
        assert lines == [b"line %d" % i for i in range(1, len(lines) + 1)]


@pytest.fixture
def runs(tmp_path: Path) -> Iterator[Runs]:
    runs = Runs(tmp_path)
    yield runs
    for run in (1, 2, 3):
        runs.go(run)


def check_no_chip_was_held_twice(world: World) -> None:
    """At no moment had the leases of a host more chips than it has. An `until` that is None has not come yet."""
    text = world.manage(
        "shell",
        "-v0",
        "-c",
        "import json; from clusters.models import Lease\n"
        "print(json.dumps([(str(one.host_id), one.host.chips.count(), one.chips, one.from_ms, one.to_ms)"
        " for one in Lease.objects.select_related('host')]))",
    )
    leases = json.loads(text)
    for host, has, _chips, began, _ended in leases:
        held = [chips for at, _has, chips, start, end in leases if at == host and start <= began and (end is None or end > began)]
        assert sum(held) <= has, leases


def lose_after(world: World, seconds: int | None) -> None:
    world.manage("shell", "-v0", "-c", f"from clusters.models import Cluster; Cluster.objects.update(lost_after_s={seconds})")


def answered_within_a_second(world: World, command: str) -> int:
    began = time.monotonic()
    number = world.launch(command)
    assert time.monotonic() - began < 1
    return number


# -- Redis is there, and does not answer -----------------------------------------------------------------------


def test_a_launch_is_answered_while_redis_answers_nobody_and_starts_once_it_does(world, agent, panel_to_redis, runs):
    running = world.launch(runs.command)
    world.wait(running, "running")
    panel_to_redis.part()
    try:
        number = answered_within_a_second(world, "echo here")
        runs.go(1)
        until(lambda: processes.start_time(runs.pids[0]) is None, what="the running one ends meanwhile")
        assert world.job(number)["state"] == "queued"
        assert world.job(running)["state"] == "running"
    finally:
        panel_to_redis.join()
    assert world.wait(number)["state"] == "succeeded"
    assert world.complete_log(number) == b"here\n"
    assert world.wait(running)["state"] == "succeeded"
    runs.check_log(world.complete_log(running), 1)
    assert len(runs.pids) == 1


def test_a_panel_whose_connections_to_redis_are_dead_finds_out_by_itself(world, agent, panel_to_redis, runs):
    running = world.launch(runs.command)
    world.wait(running, "running")
    panel_to_redis.forget()
    number = answered_within_a_second(world, "echo here")
    assert world.wait(number)["state"] == "succeeded"
    runs.go(1)
    assert world.wait(running)["state"] == "succeeded"
    runs.check_log(world.complete_log(running), 1)
    assert len(runs.pids) == 1


def test_the_panels_worker_finds_out_by_itself_that_its_connections_are_dead(world, agent, panel_to_redis):
    """Only it asks git, so its words are git's."""
    unreachable = {"address": f"https://127.0.0.1:{free_port()}/none.git", "command": "true"}
    assert world.wait(world.launch_of("git", unreachable))["reason"]["code"] == "source-failed"
    panel_to_redis.forget()
    job = world.wait(world.launch_of("git", unreachable))
    assert (job["state"], job["reason"]["code"]) == ("failed", "source-failed")


def test_a_host_whose_redis_does_not_answer_goes_on_and_tells_all_afterwards(world, agent, host_to_redis, runs):
    number = world.launch(runs.command)
    world.wait(number, "running")
    host_to_redis.part()
    try:
        runs.go(1)
        until(lambda: processes.start_time(runs.pids[0]) is None, what="it ends meanwhile")
        later = world.launch("echo later")
    finally:
        host_to_redis.join()
    assert world.wait(number)["state"] == "succeeded"
    runs.check_log(world.complete_log(number), 1)
    assert world.wait(later)["state"] == "succeeded"
    assert world.complete_log(later) == b"later\n"


# -- A host is cut off -------------------------------------------------------------------------------------------


@contextmanager
def cut_off(*links: Link) -> Iterator[None]:
    for link in links:
        link.part()
    try:
        yield
    finally:
        for link in links:
            link.join()


@pytest.fixture
def links(host_to_redis: Link, host_to_panel: Link) -> tuple[Link, Link]:
    """All that the host has."""
    return host_to_redis, host_to_panel


def test_a_job_that_ends_on_a_host_that_is_cut_off_is_told_of_afterwards(world, agent, links, runs):
    number = world.launch(runs.command)
    world.wait(number, "running")
    with cut_off(*links):
        until(lambda: world.host(agent.host_id)["is_silent"], what="shown as silent")
        runs.go(1)
        until(lambda: processes.start_time(runs.pids[0]) is None, what="it ends meanwhile")
        waiting = world.launch("echo after", resources=ALL_CHIPS)
        until(lambda: world.job(waiting)["reason"]["code"] == "hosts-silent", what="a reason that names the silence")
        assert world.job(number)["state"] == "running"
        assert world.host(agent.host_id)["free_chips"] == SLOTS - 1
    assert world.wait(number)["state"] == "succeeded"
    runs.check_log(world.complete_log(number), 1)
    assert world.wait(waiting)["state"] == "succeeded"
    assert world.complete_log(waiting) == b"after\n"
    assert not world.host(agent.host_id)["is_silent"]
    check_no_chip_was_held_twice(world)


@pytest.mark.parametrize("meanwhile", ["goes-on", "ends-well"])
def test_a_job_whose_host_is_lost_goes_on_elsewhere_and_the_old_run_counts_no_more(world, agent, links, runs, meanwhile):
    number = world.launch(runs.command, retries={"host_lost": {"times": 1, "delay_s": 0}})
    world.wait(number, "running")
    first = world.job(number)["workload"]
    until(lambda: runs.pids, what="it runs")
    other = world.add_agent(f"host-{meanwhile}", slots=8).wait_ready()
    lose_after(world, SILENT_S + 1)
    with cut_off(*links):
        until(lambda: len(runs.pids) == 2, 40, "it runs on the other host")
        job = world.wait(number, "running")
        assert job["workload"] != first
        assert (other.state / "workloads" / job["workload"]).exists()
        told = [(one["state"], one["retried_as"]) for one in attempts(world, number)]
        assert told == [("lost", "host_lost"), ("running", None)]
        assert processes.start_time(runs.pids[0])  # nobody could tell it to end
        assert world.host(agent.host_id)["free_chips"] == SLOTS - 1  # held: it may still use them
        if meanwhile == "ends-well":
            runs.go(1)
            until(lambda: processes.start_time(runs.pids[0]) is None, what="the old run ends")
    until(lambda: world.host(agent.host_id)["free_chips"] == SLOTS, 40, "nothing of it is left there")
    assert processes.marked(ENV_WORKLOAD, first) == []
    assert [one["state"] for one in attempts(world, number)] == ["lost", "running"]
    assert world.job(number)["state"] == "running"
    lose_after(world, None)
    runs.go(2)
    assert world.wait(number)["state"] == "succeeded"
    runs.check_log(world.complete_log(number), 2)
    assert world.codes(number).count("job.succeeded") == 1
    assert len(runs.pids) == 2
    check_no_chip_was_held_twice(world)
    other.kill()
    world.client.post(f"hosts/{other.host_id}/retirement").raise_for_status()


def test_a_host_whose_connections_to_redis_are_dead_finds_out_by_itself(world, agent, host_to_redis, runs):
    """Its worker is started again when orders lie there for long; the last test, as it must have run for a while before."""
    running = world.launch(runs.command)
    world.wait(running, "running")
    host_to_redis.forget()
    number = world.launch("echo here")
    assert world.wait(number, within_s=100)["state"] == "succeeded"
    assert world.complete_log(number) == b"here\n"
    runs.go(1)
    assert world.wait(running)["state"] == "succeeded"
    runs.check_log(world.complete_log(running), 1)
    assert len(runs.pids) == 1


def attempts(world: World, number: int) -> list[dict[str, Any]]:
    return world.client.get(f"jobs/{number}/attempts").raise_for_status().json()["results"]
