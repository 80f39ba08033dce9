"""A whole panel of a test's own: `manage.py up` on free ports and an empty folder, and agents that the test may kill.

Everything is a real process. What the test started is ended at its end, by process id.
"""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

import httpx
import redis

from agent import processes
from agent.protocol import ENV_HOST
from tests.valkey import free_port

logging.getLogger("httpx").setLevel(logging.WARNING)  # a line a look would bury the rest
BASE_DIR = Path(__file__).resolve().parents[2]
RUNTIMES = Path.home() / ".cache" / "tpu-panel-tests" / "runtimes"  # built once, over all test runs
ENDED = ("succeeded", "failed", "canceled")
T = TypeVar("T")

# Deadlines short enough to see them pass, long enough for a busy machine.
QUICK = {"CLAIM_DEADLINE_S": "20", "CLAIM_SILENT_S": "10", "SECOND_AGENT_S": "3", "LOOP_HOLD_S": "2", "FOLDER_GONE_S": "3"}


def until(look: Callable[[], T], within_s: float = 30, what: str = "", *, every_s: float = 0.02) -> T:
    """What `look` returns once that is true; fails after `within_s` seconds."""
    deadline = time.monotonic() + within_s
    while True:
        found = look()
        if found:
            return found
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {within_s} s: {what or look}")
        time.sleep(every_s)


class Agent:
    """An agent process on a state folder. It can be killed and started again."""

    def __init__(
        self,
        world: World,
        name: str,
        state: Path,
        *,
        slots: int = 4,
        token: str = "",
        panel: str = "",
        runtimes: Path | None = None,
    ) -> None:
        self.world = world
        self.name = name
        self.state = state
        self.words = world.folder / f"agent-{name}.log"
        self._command = [sys.executable, "-m", "agent", "run", "--panel", panel or world.url, "--state", str(state)]
        self._command += ["--name", name, "--chips", str(slots), "--runtimes", str(runtimes or RUNTIMES)]
        self._token = token
        self.process: subprocess.Popen[bytes] | None = None

    def invite(self) -> Agent:
        """Give it an enrolment token, for its next start."""
        self._token = self.world.client.post("clusters/local/enrolment-tokens").raise_for_status().json()["token"]
        return self

    def start(self) -> Agent:
        environment = os.environ | {
            "PANEL_MACHINE_ID": f"machine-{self.name}",
            "PANEL_ENROLMENT_TOKEN": self._token,
            "PANEL_CANARY": "agent",
        }
        environment.pop("DJANGO_SETTINGS_MODULE", None)
        self._said_before = len(self.said())
        with self.words.open("ab") as words:
            self.process = subprocess.Popen(
                self._command, cwd=BASE_DIR, env=environment, stdout=words, stderr=words, start_new_session=True
            )
        return self

    def kill(self, number: int = signal.SIGKILL, *, leave_worker: bool = False) -> None:
        """Returns once its worker is gone, too, unless told otherwise: what comes then stays in the queue."""
        assert self.process
        workers = [pid for pid in processes.children(self.process.pid) if b"\0orders\0" in _command_line(pid)]
        self.process.send_signal(number)
        self.process.wait(timeout=30)
        if not leave_worker:
            until(lambda: all(processes.start_time(pid) is None for pid in workers), what="worker gone")

    @property
    def host_id(self) -> str:
        return json.loads((self.state / "agent.json").read_text())["host_id"]

    def folder(self, workload: str) -> Path:
        return self.state / "workloads" / workload

    def said(self) -> str:
        return self.words.read_text(errors="replace") if self.words.exists() else ""

    def wait_session(self) -> Agent:
        """Until the process started last has a session, and takes orders."""
        until(lambda: " session=" in self.said()[self._said_before :], what=f"session of {self.name}")
        return self

    def wait_ready(self) -> Agent:
        until((self.state / "agent.json").exists, what=f"{self.name} enrolled: {self.said()[-500:]}")
        until(lambda: self.world.host(self.host_id)["state"] == "ready", what=f"{self.name} ready")
        return self


class World:
    """A panel with its parts; `client` is its operator's, by API token."""

    def __init__(self, folder: Path, *, environment: dict[str, str] | None = None) -> None:
        self.folder = folder
        self.move_to(free_port())
        self.environment = os.environ | QUICK | {"PANEL_VAR": str(folder / "var"), "LOG_LEVEL": "INFO"} | (environment or {})
        for name in ("REDIS_URL", "PUBLIC_URL", "DJANGO_SETTINGS_MODULE"):
            if name not in (environment or {}):
                self.environment.pop(name, None)
        self.agents: list[Agent] = []
        self.words = folder / "up.log"
        self.up: subprocess.Popen[bytes] | None = None

    # -- Its life ----------------------------------------------------------------------------------------

    def start(self, *arguments: str) -> World:
        """Up and answering, without an agent unless `arguments` say otherwise."""
        said = len(self.said())
        with self.words.open("ab") as words:
            self.up = subprocess.Popen(
                self.up_command(*arguments),
                cwd=BASE_DIR,
                env=self.environment,
                stdout=words,
                stderr=words,
                start_new_session=True,
            )
        until(lambda: "The panel is at" in self.said()[said:] or self.up.poll() is not None, 120, "panel up")
        assert self.up.poll() is None, self.said()
        if not hasattr(self, "client"):
            token = self.manage("issue_token", "admin", "--scope", "admin", "--name", "tests").strip()
            self.client = self.client_of(token)
        return self

    def move_to(self, port: int) -> None:
        """Where it listens from its next start on."""
        self.port = port
        self.url = f"http://127.0.0.1:{port}"
        if hasattr(self, "client"):
            self.client = self.client_of(self.client.headers["Authorization"].removeprefix("Bearer "))

    def up_command(self, *arguments: str) -> list[str]:
        return [sys.executable, "manage.py", "up", "--port", str(self.port), *(arguments or ("--no-agent",))]

    def stop(self) -> None:
        """End all that was started here, the workloads of its hosts included."""
        for agent in self.agents:
            if agent.process and agent.process.poll() is None:
                agent.kill()
        for agent in self.agents:
            with suppress(OSError):
                for pid in processes.marked(ENV_HOST, agent.host_id):
                    with suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
        self.stop_panel()

    def stop_panel(self) -> None:
        """What Ctrl-C does; agents and what runs on hosts go on."""
        if self.up and self.up.poll() is None:
            self.up.terminate()
            self.up.wait(timeout=60)

    def said(self) -> str:
        return self.words.read_text(errors="replace") if self.words.exists() else ""

    def manage(self, *arguments: str) -> str:
        """What a `manage.py` command prints."""
        environment = self.environment | {"REDIS_URL": self.redis_url}
        done = subprocess.run(
            [sys.executable, "manage.py", *arguments], cwd=BASE_DIR, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    @property
    def redis_url(self) -> str:
        return self.environment.get("REDIS_URL") or (self.folder / "var" / "redis_url").read_text()

    def redis(self) -> redis.Redis:
        return redis.Redis.from_url(self.redis_url)

    def part(self, words: str) -> int:
        """Process id of the part of the panel whose command line holds `words`."""
        assert self.up

        def look() -> int | None:
            for pid in processes.children(self.up.pid):
                if words in _command_line(pid).replace(b"\0", b" ").decode():
                    return pid
            return None

        return until(look, what=words) or 0

    def kill_part(self, words: str) -> int:
        """`kill -9` of a part; returns once `up` has started it again, with the new process id."""
        old = self.part(words)
        os.kill(old, signal.SIGKILL)
        return until(lambda: (new := self.part(words)) != old and new, what=f"{words} again")

    def wait_answers(self) -> None:
        """Until it serves again."""

        def answers() -> bool:
            try:
                return self.client.get("jobs", timeout=5).status_code == 200
            except httpx.HTTPError:
                return False

        until(answers, 40, "the panel answers again")

    # -- People and hosts ----------------------------------------------------------------------------------

    def client_of(self, token: str) -> httpx.Client:
        return httpx.Client(base_url=f"{self.url}/api/v1/", headers={"Authorization": f"Bearer {token}"}, timeout=30)

    def add_agent(
        self, name: str = "host-a", *, slots: int = 4, state: Path | None = None, panel: str = "", runtimes: Path | None = None
    ) -> Agent:
        agent = Agent(self, name, state or self.folder / name, slots=slots, panel=panel, runtimes=runtimes).invite()
        self.agents.append(agent)
        return agent.start()

    def host(self, host_id: str) -> dict[str, Any]:
        return self.client.get(f"hosts/{host_id}").raise_for_status().json()

    # -- Jobs ----------------------------------------------------------------------------------------------

    def publish(self, slug: str, **spec: Any) -> None:
        """A definition in the first project that is `command` but for some fields of its spec."""
        self.manage(
            "shell",
            "-v0",
            "-c",
            "from django.utils import timezone; from jobs import definitions, shipped; from projects.models import Project\n"
            "from projects.actors import operator\n"
            f"wording = shipped.command() | {{'slug': {slug!r}, 'title': {slug!r}}}\n"
            f"wording['template'] = wording['template'] | {spec!r}\n"
            "project = Project.objects.get(slug='first-project')\n"
            "definitions.publish(project=project, by=operator(), now=timezone.now(), **wording)",
        )

    def publish_runtime(self, name: str, requirements: str) -> None:
        """A preset of this installation, and a definition that is `command` in it."""
        folder = self.folder / "var" / "runtimes"
        folder.mkdir(exist_ok=True)
        (folder / f"{name}.txt").write_text(requirements)
        self.publish(name, runtime={"name": name})

    def launch(self, command: str, **more: Any) -> int:
        return self.launch_of("command", {"command": command}, **more)

    def launch_of(self, definition: str, parameters: dict[str, Any], **more: Any) -> int:
        body = {"project": "first-project", "definition": definition, "parameters": parameters} | more
        return self.client.post("jobs", json=body).raise_for_status().json()["number"]

    def job(self, number: int) -> dict[str, Any]:
        return self.client.get(f"jobs/{number}").raise_for_status().json()

    def wait(self, number: int, *states: str, within_s: float = 60) -> dict[str, Any]:
        """The job, once it is in one of `states` (default: ended)."""
        wanted = states or ENDED
        return until(
            lambda: (job := self.job(number))["state"] in wanted and job, within_s, f"job {number} {wanted}: {self.job(number)}"
        )

    def log(self, number: int, **query: Any) -> bytes:
        return self.client.get(f"jobs/{number}/log", params=query).raise_for_status().content

    def complete_log(self, number: int) -> bytes:
        """The log's bytes, once the panel says that it has them all."""
        return until(
            lambda: (r := self.client.get(f"jobs/{number}/log")).headers["X-Log-Complete"] == "true" and r, what="complete log"
        ).content

    def codes(self, number: int) -> list[str]:
        return [event["code"] for event in self.client.get(f"jobs/{number}/events").raise_for_status().json()["results"]]

    def cancel(self, number: int, *, force: bool = False) -> httpx.Response:
        return self.client.post(f"jobs/{number}/cancellation", json={"force": force})

    def free_chips(self) -> int:
        return sum(host["free_chips"] for host in self.client.get("hosts").raise_for_status().json()["results"])


def _command_line(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


@contextmanager
def a_world(folder: Path, *, arguments: tuple[str, ...] = (), **options: Any) -> Iterator[World]:
    world = World(folder, **options)
    try:
        yield world.start(*arguments)
    finally:
        world.stop()
