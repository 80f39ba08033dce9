"""The panel's own parts die, one by one and all at once: no running command notices, and nothing is lost or done twice."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from agent import processes
from agent.protocol import ENV_WORKLOAD
from tests.road.world import BASE_DIR, World, a_world, until
from tests.valkey import Valkey, free_port


@pytest.fixture
def count(tmp_path: Path) -> Callable[[str], str]:
    """A command that notes that it ran, prints numbered lines until the file `go` is there, and says how many."""

    def command(name: str) -> str:
        return (
            f"echo ran >> {tmp_path}/{name}; i=0; while [ ! -e {tmp_path}/go ]; do i=$((i+1)); echo line $i; sleep 0.05; done;"
            f" echo $i > {tmp_path}/{name}.lines"
        )

    return command


def check_ran_once(world: World, number: int, tmp_path: Path, name: str) -> None:
    assert world.wait(number)["state"] == "succeeded"
    assert (tmp_path / name).read_text() == "ran\n"
    lines = int((tmp_path / f"{name}.lines").read_text())
    assert world.complete_log(number) == b"".join(b"line %d\n" % i for i in range(1, lines + 1))


@pytest.mark.parametrize("part", ["uvicorn", "loops", "celery", "valkey"])
def test_a_part_that_is_killed_comes_back_and_the_running_job_does_not_notice(world, agent, tmp_path, count, part):
    number = world.launch(count("job"))
    world.wait(number, "running")
    world.kill_part(part)
    until(lambda: b"line 40\n" in quietly(lambda: world.log(number)), what="the log goes on")
    (tmp_path / "go").touch()
    check_ran_once(world, number, tmp_path, "job")
    until(lambda: world.free_chips() == 4, what="chips are free")


def test_five_jobs_wait_while_redis_dies_and_comes_back_empty(world, agent, tmp_path, count):
    first = world.launch(count("first"), resources={"accelerator": "cpu", "chips": 4})
    world.wait(first, "running")
    waiting = [
        world.launch(f"echo ran >> {tmp_path}/{i}; echo done", resources={"accelerator": "cpu", "chips": 4}) for i in range(5)
    ]
    world.kill_part("valkey")
    last = world.launch(f"echo ran >> {tmp_path}/5; echo done")  # accepted while Redis may still be away
    (tmp_path / "go").touch()
    check_ran_once(world, first, tmp_path, "first")
    for i, number in enumerate([*waiting, last]):
        assert world.wait(number)["state"] == "succeeded"
        assert (tmp_path / str(i)).read_text() == "ran\n"
        assert world.complete_log(number) == b"done\n"
    until(lambda: world.free_chips() == 4, what="chips are free")


def test_the_whole_panel_goes_and_comes_back_and_takes_up_what_runs(world, agent, tmp_path, count):
    number = world.launch(count("job"))
    world.wait(number, "running")
    said = len(world.said())
    world.stop_panel()
    assert f"Still running: command (job:{number})" in world.said()[said:]
    assert processes.marked(ENV_WORKLOAD, world_workload(agent))
    world.start()
    until(lambda: b"line 60\n" in world.log(number), what="the log goes on")
    (tmp_path / "go").touch()
    check_ran_once(world, number, tmp_path, "job")


def test_when_up_is_killed_its_parts_end_and_what_runs_goes_on(world, agent, tmp_path, count):
    number = world.launch(count("job"))
    world.wait(number, "running")
    parts = processes.children(world.up.pid)
    os.kill(world.up.pid, signal.SIGKILL)
    world.up.wait()
    until(lambda: not [pid for pid in parts if processes.start_time(pid)], what="no part is left")
    assert processes.marked(ENV_WORKLOAD, world_workload(agent))
    world.start()
    (tmp_path / "go").touch()
    check_ran_once(world, number, tmp_path, "job")


def test_what_another_panel_has_is_said_before_anything_starts(world, tmp_path):
    def up(var: str) -> tuple[int, str]:
        environment = world.environment | {"PANEL_VAR": var}
        done = subprocess.run(
            world.up_command(), cwd=BASE_DIR, env=environment, capture_output=True, text=True, timeout=60, check=False
        )
        return done.returncode, done.stdout

    status, said = up(world.environment["PANEL_VAR"])
    assert (status, said.startswith(f"The panel of {world.environment['PANEL_VAR']} runs already, at {world.url} (")) == (1, True)
    taken = f"Port {world.port} is taken. End what listens there, or choose another: manage.py up --port {world.port + 1}\n"
    assert up(str(tmp_path / "var")) == (1, taken)


def test_a_redis_that_gives_no_users_is_said_at_start(tmp_path):
    server = Valkey(tmp_path / "valkey").start()
    try:
        server.client().execute_command("ACL", "SETUSER", "plain", "on", ">secret", "~*", "&*", "+@all", "-acl")
        url = server.url.replace(server.url.partition("://")[2].partition("@")[0], "plain:secret")
        world = World(tmp_path / "world", environment={"REDIS_URL": url})
        (tmp_path / "world").mkdir()
        done = subprocess.run(
            world.up_command(), cwd=BASE_DIR, env=world.environment, capture_output=True, text=True, timeout=60, check=False
        )
        assert done.returncode == 1
        assert "This Redis does not let the panel make users" in done.stderr
        assert done.stdout.endswith("The panel could not be prepared; the reason stands above.\n")
    finally:
        server.kill()


def test_the_local_agent_of_up_enrols_once_and_follows_the_panel_to_another_port(tmp_path):
    shared = Path.home() / ".cache" / "tpu-panel-tests" / "agent-venv"
    environment = {"AGENT_VENV": str(shared), "AGENT_RUNTIMES": str(tmp_path / "runtimes")}
    (tmp_path / "world").mkdir()
    with a_world(tmp_path / "world", environment=environment, arguments=("--slots", "3")) as world:
        until(lambda: world.free_chips() == 3, 60, "the local host is ready")
        number = world.launch("echo here")
        assert world.wait(number)["state"] == "succeeded"
        assert world.complete_log(number) == b"here\n"
        assert world.said().count("shown once") == 1
        world.stop_panel()
        world.move_to(free_port())
        world.start("--slots", "3")
        until(lambda: not world.client.get("hosts").json()["results"][0]["is_silent"], 60, "heard again")
        assert world.wait(world.launch("echo again"))["state"] == "succeeded"
        assert world.said().count("shown once") == 1
        assert len(world.client.get("hosts").json()["results"]) == 1


def world_workload(agent) -> str:
    """The workload of the one job that runs."""
    (living,) = [path.name for path in (agent.state / "workloads").iterdir() if not (path / "rank" / "end").exists()]
    return living


def quietly(look: Callable[[], bytes]) -> bytes:
    """b"" while the panel's web server is away."""
    try:
        return look()
    except httpx.HTTPError:
        return b""
