"""A machine becomes a host by the pasted command: really piped into sh, with nothing but a home folder and a few tools."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from agent import processes
from tests.road.world import World, a_world, until

# All that the script calls besides python3; what it does without where it is missing is left out.
TOOLS = ["sh", "curl", "cat", "cp", "grep", "id", "kill", "mkdir", "mv", "nohup", "rm", "rmdir", "sed", "setsid", "sleep"]
TOOLS += ["tail", "touch", "tr", "wc"]
WITHOUT_VENV = "#!/bin/sh\ncase $2 in *ensurepip*) exit 1;; esac\n"  # a python3 as Debian has it without python3-venv
TOO_OLD = "#!/bin/sh\nexit 1\n"


class Machine:
    """A home of its own, a PATH of its own and no other environment, but for pip's: where packages come from is the host's."""

    def __init__(self, world: World, folder: Path, *, python: str = "") -> None:
        self.world = world
        self.home, self.bin = folder / "home", folder / "bin"
        self.home.mkdir()
        self.bin.mkdir()
        for tool in TOOLS:
            (self.bin / tool).symlink_to(shutil.which(tool) or f"/bin/{tool}")
        if python:
            (self.bin / "python3").write_text(python)
            (self.bin / "python3").chmod(0o755)
        else:
            (self.bin / "python3").symlink_to(Path(sys.base_prefix) / "bin" / f"python3.{sys.version_info.minor}")
        self.state = self.home / ".tpu-panel-agent"
        self.id = "-" + str(self.home)[-63:]  # no option of the agent's, whatever it begins with

    def paste(self, command: str, **environment: str) -> subprocess.CompletedProcess[str]:
        given = [f"{name}={value}" for name, value in os.environ.items() if name.startswith("PIP_")]
        given += [f"PANEL_MACHINE_ID={self.id}", f"HOME={self.home}", f"PATH={self.bin}"]
        given += [f"{name}={value}" for name, value in environment.items()]
        shell = ["env", "-i", *given, str(self.bin / "sh"), "-c", command]
        return subprocess.run(shell, cwd="/", capture_output=True, text=True, timeout=180, check=False, stdin=subprocess.DEVNULL)

    @property
    def pid(self) -> int:
        return int((self.state / "lock").read_text())

    @property
    def host_id(self) -> str:
        import json

        return json.loads((self.state / "agent.json").read_text())["host_id"]

    def end(self) -> None:
        with suppress(OSError, ValueError):
            pid = self.pid
            os.kill(pid, signal.SIGTERM)
            until(lambda: processes.start_time(pid) is None, what="agent gone")


@pytest.fixture(scope="module")
def world(tmp_path_factory) -> Iterator[World]:
    """An agent counts as heard for longer than from one heartbeat to the next, which the worlds of other tests do without."""
    with a_world(tmp_path_factory.mktemp("world"), environment={"SECOND_AGENT_S": "15"}) as world:
        yield world


def invitation(world: World) -> str:
    return world.client.post("clusters/local/enrolment-tokens").raise_for_status().json()["command"]


@pytest.fixture(scope="module")
def _machine(world: World, tmp_path_factory) -> Iterator[tuple[Machine, str, subprocess.CompletedProcess[str]]]:
    machine, command = Machine(world, tmp_path_factory.mktemp("machine")), invitation(world)
    done = machine.paste(command, PANEL_HOST_NAME="tpu 2", PANEL_HOST_CHIPS="3")
    yield machine, command, done
    machine.end()


@pytest.fixture
def another_machine(world: World, tmp_path: Path) -> Iterator[Machine]:
    machine = Machine(world, tmp_path)
    yield machine
    machine.end()


def test_one_pasted_command_makes_a_host_that_runs_a_job(world, _machine):
    machine, _command, done = _machine
    assert (done.returncode, done.stderr) == (0, ""), done
    assert done.stdout.splitlines()[1:4] == [
        f"This machine is a host of {world.url}.",
        f"  see it   {world.url}/hosts",
        f"  log      {machine.state}/agent.log",
    ]
    host = world.host(machine.host_id)
    assert (host["name"], host["chips"], host["state"], host["cluster"]) == ("tpu 2", 3, "ready", "local")
    number = world.launch("echo hello from $HOSTNAME", resources={"accelerator": "cpu", "chips": 3})
    assert world.wait(number)["state"] == "succeeded"
    assert [path.name for path in machine.home.iterdir()] == [".tpu-panel-agent"]


def test_its_token_is_on_no_command_line_and_in_no_file(_machine):
    machine, command, _done = _machine
    token = command.split("PANEL_ENROLMENT_TOKEN=")[1].split()[0]
    assert token.encode() not in Path(f"/proc/{machine.pid}/cmdline").read_bytes()
    kept = [path for path in machine.state.iterdir() if path.is_file() and token in path.read_text(errors="replace")]
    assert kept == [] and machine.state.stat().st_mode & 0o777 == 0o700


def test_the_same_command_again_changes_nothing_and_says_so_in_one_sentence(world, _machine):
    machine, command, _done = _machine
    pid = machine.pid
    done = machine.paste(command)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == (
        f"This machine is a host of {world.url} already, with the newest agent, which runs (process {pid}):"
        " nothing was changed, and the token was not needed.\n"
    )
    assert machine.pid == pid


def test_an_agent_that_is_gone_is_started_again_without_a_token(world, _machine):
    machine, _command, _done = _machine
    pid, host = machine.pid, machine.host_id
    machine.end()
    done = machine.paste(f"curl -fsSL {world.url}/agent/v1/install | sh")
    assert (done.returncode, done.stderr) == (0, ""), done
    assert "Installing" not in done.stdout and f"This machine is a host of {world.url}." in done.stdout
    assert (machine.host_id, machine.pid != pid) == (host, True)


def test_a_newer_agent_is_put_in_the_olds_place_while_work_goes_on(world, _machine, tmp_path):
    machine, _command, _done = _machine
    pid, go = machine.pid, tmp_path / "go"
    number = world.launch(f"while [ ! -e {go} ]; do sleep 0.05; done; echo done")
    world.wait(number, "running")
    with (machine.state / "venv" / "requirements.txt").open("a") as installed:
        installed.write("# of an older release\n")
    done = machine.paste(f"curl -fsSL {world.url}/agent/v1/install | sh")
    assert (done.returncode, done.stderr) == (0, ""), done
    assert "work that ran here went on" in done.stdout
    assert machine.pid != pid and not (machine.state / "venv.old").exists()
    assert world.job(number)["state"] == "running"
    go.touch()
    assert world.wait(number)["state"] == "succeeded"
    assert world.complete_log(number) == b"done\n"


def test_a_second_agent_on_a_machine_takes_no_place_and_may_have_one_of_its_own(world, _machine, another_machine):
    machine, command = _machine[0], invitation(world)
    refused = another_machine.paste(command, PANEL_MACHINE_ID=machine.id, PANEL_HOST_NAME="second")
    assert (refused.returncode, refused.stdout.splitlines()[1:]) == (1, [])
    assert "This machine is host tpu 2 already, whose agent was heard just now." in refused.stderr
    assert (world.host(machine.host_id)["name"], world.host(machine.host_id)["state"]) == ("tpu 2", "ready")
    done = another_machine.paste(command, PANEL_HOST_NAME="second", PANEL_HOST_CHIPS="1")  # the command is still good
    assert done.returncode == 0, done
    assert world.host(another_machine.host_id)["name"] == "second"
    assert processes.start_time(machine.pid) is not None


def test_an_upgrade_that_fails_leaves_the_agent_as_it_was(world, _machine):
    machine, _command, _done = _machine
    pid, installed = machine.pid, machine.state / "venv" / "requirements.txt"
    was = installed.read_text()
    installed.write_text(was + "# of an older release\n")
    done = machine.paste(
        f"curl -fsSL {world.url}/agent/v1/install | sh", PIP_NO_INDEX="1", PIP_FIND_LINKS="/nowhere", PIP_CONFIG_FILE="/dev/null"
    )
    assert done.returncode == 1
    assert done.stderr.endswith("tpu-panel-agent: the agent could not be installed; the reason stands above.\n")
    assert (machine.pid, installed.read_text()) == (pid, was + "# of an older release\n")
    assert sorted(path.name for path in machine.state.glob("*.new")) == [] and not (machine.state / "venv.old").exists()
    installed.write_text(was)


def test_a_token_that_another_machine_has_used_is_refused_in_one_sentence(world, _machine, another_machine):
    _first, command, _done = _machine
    before = {host["id"] for host in world.client.get("hosts").json()["results"]}
    done = another_machine.paste(command)
    assert done.returncode == 1
    assert done.stderr == (
        "tpu-panel-agent: the panel refuses to enrol this host: This enrolment token was used already;"
        " each enrols one machine. Make a new one.\n"
    )
    assert {host["id"] for host in world.client.get("hosts").json()["results"]} == before


@pytest.mark.parametrize(
    ("python", "sentence"),
    [
        (
            WITHOUT_VENV,
            "python3 cannot make virtual environments here: install what Debian calls python3-venv"
            " (sudo apt install python3-venv)",
        ),
        (TOO_OLD, "Python 3.10 or newer is needed, and python3 is older: install what Debian calls python3 and python3-venv"),
    ],
)
def test_a_machine_that_lacks_python_or_venv_is_told_the_package_and_left_as_it_was(world, tmp_path, python, sentence):
    machine = Machine(world, tmp_path, python=python)
    done = machine.paste(invitation(world))
    assert (done.returncode, done.stdout, done.stderr) == (1, "", f"tpu-panel-agent: {sentence}, then run this again.\n")
    assert list(machine.home.iterdir()) == []


def test_what_cannot_be_installed_leaves_nothing_half_made(world, tmp_path):
    machine = Machine(world, tmp_path)
    done = machine.paste(invitation(world), PIP_NO_INDEX="1", PIP_FIND_LINKS="/nowhere", PIP_CONFIG_FILE="/dev/null")
    assert (done.returncode, list(machine.home.iterdir())) == (1, [])
