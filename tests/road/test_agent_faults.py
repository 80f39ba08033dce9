"""The host's side is killed, copied, cut off and lied to: nothing runs twice, nothing is lost, no chip stays taken."""

from __future__ import annotations

import json
import os
import random
import shlex
import shutil
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import redis

from agent import processes, protocol
from agent.protocol import ENV_WORKLOAD
from tests.road.proxy import Proxy
from tests.road.world import Agent, World, a_world, until

SLOTS = 4


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """A panel that calls a host silent soon. A definition `brisk` has half a second from TERM to KILL."""
    with a_world(tmp_path_factory.mktemp("world"), environment={"PLACE_SILENT_S": "6"}) as world:
        world.publish("brisk", stop_grace_s=1)
        yield world


@pytest.fixture(scope="module")
def _proxy(world: World) -> Iterator[Proxy]:
    proxy = Proxy(world.url)
    yield proxy
    proxy.close()


@pytest.fixture(scope="module")
def _host(world: World, _proxy: Proxy) -> Agent:
    return world.add_agent(slots=SLOTS, panel=_proxy.url)


@pytest.fixture
def proxy(_proxy: Proxy) -> Proxy:
    return _proxy


class Script:
    """A shell command that leaves a line a run in a file, and which the test may let go on."""

    def __init__(self, folder: Path) -> None:
        self.runs_file, self.go_file, self.at_file = folder / "runs", folder / "go", folder / "at"

    def __call__(self, rest: str = "true") -> str:
        return f"echo $$ >> {shlex.quote(str(self.runs_file))}; {rest}"

    def until_go(self, rest: str = "true") -> str:
        """Counts until the test says go, in its log and in a file, then says how far it came."""
        go, at = shlex.quote(str(self.go_file)), shlex.quote(str(self.at_file))
        count = f"i=0; while [ ! -e {go} ]; do i=$((i+1)); echo line $i; echo $i > {at}.new; mv {at}.new {at}; sleep 0.02; done"
        return self(f"{count}; {rest}")

    @property
    def pids(self) -> list[int]:
        """One for each time it ran."""
        return [int(line) for line in self.runs_file.read_text().split()] if self.runs_file.exists() else []

    @property
    def at(self) -> int:
        return int(self.at_file.read_text()) if self.at_file.exists() else 0

    @property
    def log(self) -> bytes:
        return b"".join(b"line %d\n" % i for i in range(1, self.at + 1))

    def go(self) -> None:
        self.go_file.touch()


@pytest.fixture
def script(tmp_path: Path) -> Iterator[Script]:
    script = Script(tmp_path)
    yield script
    script.go()


def is_running(script: Script) -> bool:
    return bool(script.pids) and script.at > 0


def wait_free(world: World, agent: Agent, chips: int = SLOTS) -> None:
    until(lambda: world.host(agent.host_id)["free_chips"] == chips, what="chips free")


def check_ran_once(world: World, agent: Agent, number: int, script: Script) -> None:
    assert world.wait(number)["state"] == "succeeded", world.job(number)
    assert len(script.pids) == 1
    wait_free(world, agent)


def claims(agent: Agent) -> list[str]:
    """Workloads that were given to this host."""
    return [path.parent.name for path in (agent.state / "workloads").glob("*/claim")]


def ended(agent: Agent, workload: str) -> list[dict[str, Any]]:
    lines = (agent.folder(workload) / "states").read_bytes().splitlines()
    return [line for line in map(json.loads, lines) if line["state"] == "ended"]


@contextmanager
def another_host(world: World, name: str = "host-b", slots: int = 8) -> Iterator[Agent]:
    """With more chips than the first, so that a job can ask for it; retired at the end."""
    agent = world.add_agent(name, slots=slots).wait_ready()
    try:
        yield agent
    finally:
        if agent.process and agent.process.poll() is None:
            agent.kill()
        world.client.post(f"hosts/{agent.host_id}/retirement").raise_for_status()


# -- The agent dies ------------------------------------------------------------------------------------------


def test_a_command_goes_on_while_its_agent_is_dead_and_its_log_is_complete_afterwards(world, agent, script):
    number = world.launch(script.until_go())
    world.wait(number, "running")
    agent.kill()
    reached = until(lambda: script.at)
    until(lambda: script.at > reached + 10, what="the command goes on")
    agent.start()
    until(lambda: b"line %d\n" % (reached + 10) in world.log(number), what="the log goes on")
    script.go()
    check_ran_once(world, agent, number, script)
    assert script.at > reached + 10
    assert world.complete_log(number) == script.log


def test_what_ended_while_the_agent_was_dead_is_told_afterwards(world, agent, script):
    number = world.launch(script.until_go("exit 3"))
    world.wait(number, "running")
    agent.kill()
    script.go()
    (pid,) = script.pids
    until(lambda: processes.start_time(pid) is None, what="the command has ended")
    agent.start()
    assert world.wait(number)["reason"]["sentence"] == "The command ended with exit code 3 on host-a."
    assert world.complete_log(number) == script.log
    assert len(script.pids) == 1
    wait_free(world, agent)


def test_a_claim_whose_answer_never_came_is_asked_for_again_by_the_next_agent(world, agent, proxy, script):
    with proxy.losing_answers("/claim") as fault:
        number = world.launch(script("echo done"))
        until(lambda: fault.reached, what="claimed")
        agent.kill()
    workload = world.job(number)["workload"]
    assert workload not in claims(agent)
    assert (world.job(number)["state"], script.pids) == ("starting", [])
    agent.start()
    check_ran_once(world, agent, number, script)
    assert world.job(number)["workload"] == workload
    assert world.complete_log(number) == b"done\n"


def test_a_claim_whose_answer_is_lost_is_asked_for_again_by_the_same_agent(world, agent, proxy, script):
    with proxy.losing_answers("/claim") as fault:
        number = world.launch(script("echo done"))
        until(lambda: fault.reached, what="claimed")
    check_ran_once(world, agent, number, script)
    assert world.job(number)["workload"] in claims(agent)


def test_a_claim_whose_answer_is_late_starts_once(world, agent, proxy, script):
    with proxy.holding_answers("/claim") as fault:
        number = world.launch(script("echo done"))
        until(lambda: fault.reached, what="claimed")
        send_again(world, agent, number)
        until(lambda: not orders(world, agent), what="the second order taken")
        assert script.pids == []
    check_ran_once(world, agent, number, script)
    assert len(fault.reached) == 1


def test_a_claim_that_never_reached_the_panel_is_tried_again(world, agent, proxy, script):
    with proxy.cutting("/claim") as fault:
        number = world.launch(script("echo done"))
        until(lambda: len(fault.reached) >= 2, what="tried twice")
        assert (world.job(number)["state"], script.pids) == ("starting", [])
    check_ran_once(world, agent, number, script)


def test_killed_at_any_moment_of_a_start_each_job_runs_once(world, agent, tmp_path):
    moments = random.Random(11)
    scripts = {}
    for i in range(15):
        (tmp_path / str(i)).mkdir()
        script = Script(tmp_path / str(i))
        number = world.launch(script(f"echo {i}"))
        scripts[number] = script
        started = agent.folder(world.job(number)["workload"]) / "orders" / "start"
        until(started.exists, what=f"order of job {number}", every_s=0.001)
        time.sleep(0.15 * moments.random() ** 2)  # the moment is what is tried: a start takes some 50 ms
        agent.kill(leave_worker=True)
        agent.start().wait_session()
    for number, script in scripts.items():
        assert world.wait(number)["state"] == "succeeded", world.job(number)
        assert len(script.pids) == 1, number
        assert world.complete_log(number) == b"%s\n" % script.runs_file.parent.name.encode()
    wait_free(world, agent)


# -- Orders that come twice ------------------------------------------------------------------------------------


def orders(world: World, agent: Agent) -> list[bytes]:
    return world.redis().lrange(protocol.orders_key(agent.host_id), 0, -1)


def send_again(world: World, agent: Agent, number: int, times: int = 1) -> None:
    """The job's start order as dispatch publishes it."""
    world.manage(
        "shell",
        "-v0",
        "-c",
        "import controlpanel.celery; from clusters import dispatch; from clusters.models import Order\n"
        "from jobs.models import Job\n"
        f"order = Order.objects.get(kind='start', workload_id=Job.objects.get(pk={number}).workload_id)\n"
        f"for _ in range({times}): dispatch.publish(order)",
    )


def test_an_order_that_comes_three_times_at_once_starts_one_run(world, agent, script):
    agent.kill()
    number = world.launch(script())
    (order,) = until(lambda: orders(world, agent), what="ordered")
    world.redis().lpush(protocol.orders_key(agent.host_id), order, order)
    agent.start()
    check_ran_once(world, agent, number, script)
    assert orders(world, agent) == []


def test_an_order_that_comes_again_after_the_end_does_nothing(world, agent, script):
    number = world.launch(script())
    check_ran_once(world, agent, number, script)
    workload = world.job(number)["workload"]
    send_again(world, agent, number, times=2)
    later = world.launch("true")  # its order stands behind them
    assert world.wait(later)["state"] == "succeeded"
    assert len(script.pids) == 1
    assert len(ended(agent, workload)) == 1
    wait_free(world, agent)


# -- The supervisor dies -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("grandchild", ["sleep 1000", "setsid sleep 1000"])
def test_a_supervisor_that_is_killed_takes_its_command_and_its_children_along(world, agent, script, tmp_path, grandchild):
    child_file = tmp_path / "child"
    number = world.launch(script(f"{grandchild} & echo $! > {child_file}; echo begun; wait"))
    world.wait(number, "running")
    until(lambda: child_file.exists() and child_file.read_text(), what="child")
    workload = world.job(number)["workload"]
    until(lambda: len(processes.marked(ENV_WORKLOAD, workload)) >= 2, what="shell and child")
    note = agent.folder(workload) / "rank" / "started"
    os.kill(json.loads(note.read_text())["supervisor_pid"], signal.SIGKILL)
    job = world.wait(number)
    assert (job["state"], job["reason"]["code"]) == ("failed", "supervisor-lost")
    assert processes.marked(ENV_WORKLOAD, workload) == []
    assert [processes.start_time(pid) for pid in (*script.pids, int(child_file.read_text()))] == [None, None]
    assert world.complete_log(number) == b"begun\n"
    wait_free(world, agent)


# -- Two agents of one host ----------------------------------------------------------------------------------------


def test_a_copied_agent_is_refused_and_touches_nothing_of_the_first(world, agent, proxy, script, tmp_path):
    copy = Agent(world, "host-a", tmp_path / "copy", slots=SLOTS, panel=proxy.url)
    shutil.copytree(agent.state, copy.state, ignore=shutil.ignore_patterns("*.part"))  # being written just now
    copy.words = tmp_path / "copy.log"
    number = world.launch(script.until_go())  # the copy does not know of it
    world.wait(number, "running")
    copy.start()
    world.agents.append(copy)
    sentence = "Another agent speaks for host host-a"
    until(lambda: copy.words.exists() and copy.said().count(sentence) >= 3, what=f"refused: {copy.said}")
    assert copy.process
    assert processes.children(copy.process.pid) == []  # nobody there who would take the first one's orders
    short = [world.launch("true") for _ in range(3)]
    assert [world.wait(n, within_s=15)["state"] for n in short] == ["succeeded"] * 3  # no order went to the copy
    script.go()
    check_ran_once(world, agent, number, script)
    assert world.complete_log(number) == script.log
    copy.kill(signal.SIGTERM)
    assert [line for line in copy.said().splitlines() if "ending" in line] == []
    assert not (copy.state / "workloads" / world.job(number)["workload"]).exists()
    found = json.loads(
        world.manage(
            "shell",
            "-v0",
            "-c",
            "import json; from clusters.models import Host\n"
            f"events = Host.objects.get(pk='{agent.host_id}').subject.events.order_by('seq')\n"
            "print(json.dumps(list(events.values_list('code', 'sentence'))))",
        )
    )
    assert found.count(["host.second-agent", "A second agent says that it is host-a, and was refused."]) == 1
    assert [code for code, _ in found].count("host.session") == 1


# -- A new database under an old folder ------------------------------------------------------------------------------


def test_an_agent_of_an_old_database_says_so_and_becomes_a_host_again_with_a_new_token(tmp_path, script):
    (tmp_path / "world").mkdir()
    with a_world(tmp_path / "world") as world:
        world.publish("brisk", stop_grace_s=1)
        agent = world.add_agent().wait_ready()
        old_host = agent.host_id
        old = world.launch(script.until_go(), resources={"accelerator": "cpu", "chips": SLOTS})
        world.wait(old, "running")
        workload = world.job(old)["workload"]
        world.stop_panel()
        for path in (world.folder / "var").glob("panel.sqlite3*"):
            path.unlink()
        del world.client
        world.start()
        assert agent.process
        agent.process.wait(timeout=45)  # it hears so when it next confirms its session
        assert agent.process.returncode == 1
        assert agent.said().splitlines()[-1] == (
            "agent: the panel refuses to enrol this host: This enrolment token is unknown. Make a new one on the enrolment page."
        )
        (pid,) = script.pids
        assert processes.start_time(pid)  # nobody has told it to end
        agent.invite().start()
        until(lambda: agent.host_id != old_host, what="enrolled anew")
        agent.wait_ready()
        until(lambda: not processes.marked(ENV_WORKLOAD, workload), what="the old command ended")
        number = world.launch("echo new", resources={"accelerator": "cpu", "chips": SLOTS})
        assert world.wait(number)["state"] == "succeeded"
        assert world.complete_log(number) == b"new\n"
        assert len(script.pids) == 1
        wait_free(world, agent)


# -- Cancel ------------------------------------------------------------------------------------------------------------


def check_canceled(world: World, agent: Agent, number: int) -> None:
    job = world.wait(number)
    assert (job["state"], job["reason"]["code"]) == ("canceled", "canceled")
    assert processes.marked(ENV_WORKLOAD, job["workload"]) == []
    wait_free(world, agent)


def test_canceled_before_the_claim_frees_its_chips_at_once_and_never_starts(world, agent, script):
    agent.kill()
    number = world.launch(script())
    until(lambda: orders(world, agent), what="ordered")
    assert world.cancel(number).status_code == 202
    check_canceled(world, agent, number)  # while the host is away
    again = world.cancel(number)
    assert (again.status_code, again.json()["code"]) == (409, "job-ended")
    agent.start()
    workload = world.job(number)["workload"]
    until((agent.folder(workload) / "states").exists, what="told of on the host")
    assert (agent.folder(workload) / "refused").exists()
    assert len(ended(agent, workload)) == 1
    assert script.pids == []


def test_canceled_between_claim_and_start_never_starts(world, agent, proxy, script):
    with proxy.holding_answers("/claim") as fault:
        number = world.launch(script())
        until(lambda: fault.reached, what="claimed")
        assert [world.cancel(number).status_code for _ in range(2)] == [202, 202]
        workload = world.job(number)["workload"]
        until((agent.folder(workload) / "orders" / "stop").exists, what="the stop on the host")
        assert world.job(number)["state"] == "stopping"
        assert world.host(agent.host_id)["free_chips"] == SLOTS - 1
    check_canceled(world, agent, number)
    assert script.pids == []


def test_canceled_twice_while_it_runs_it_gets_one_term(world, agent, script):
    number = world.launch(script.until_go("true").replace("i=0;", "trap 'echo term; sleep 0.5; exit 0' TERM; i=0;", 1))
    until(lambda: is_running(script), what="running")
    assert [world.cancel(number).status_code for _ in range(2)] == [202, 202]
    check_canceled(world, agent, number)
    assert world.complete_log(number).count(b"term\n") == 1
    assert len(script.pids) == 1


def test_a_command_that_ignores_term_is_killed_after_its_grace(world, agent, script):
    number = world.launch_of("brisk", {"command": "trap '' TERM; " + script.until_go()})
    until(lambda: is_running(script), what="running")
    workload = world.job(number)["workload"]
    world.cancel(number)
    check_canceled(world, agent, number)
    (end,) = ended(agent, workload)
    assert (end["cause"], end["signal"]) == ("stopped", signal.SIGKILL)
    assert world.complete_log(number) == script.log or world.complete_log(number)[: len(script.log)] == script.log
    assert len(script.pids) == 1


def test_cancel_with_force_does_not_wait_for_the_grace(world, agent, script):
    number = world.launch("trap '' TERM; " + script.until_go())  # 30 s from TERM to KILL
    until(lambda: is_running(script), what="running")
    world.cancel(number)
    workload = world.job(number)["workload"]
    until((agent.folder(workload) / "rank" / "stop").exists, what="TERM on its way")
    reached = script.at
    until(lambda: script.at > reached + 10, what="TERM ignored")
    assert world.cancel(number, force=True).status_code == 202
    job = world.wait(number, within_s=10)
    assert (job["state"], job["reason"]["code"]) == ("canceled", "canceled")
    check_canceled(world, agent, number)
    assert len(script.pids) == 1


# -- Reports that are none ------------------------------------------------------------------------------------------------


def redis_of(agent: Agent) -> redis.Redis:
    """Redis as this host's own user."""
    return redis.Redis.from_url(json.loads((agent.state / "agent.json").read_text())["redis_url"])


def events_of(world: World, agent: Agent, code: str) -> list[dict[str, Any]]:
    text = world.manage(
        "shell",
        "-v0",
        "-c",
        "import json; from clusters.models import Host\n"
        f"events = Host.objects.get(pk='{agent.host_id}').subject.events.filter(code='{code}').order_by('seq')\n"
        "print(json.dumps(list(events.values_list('data', flat=True))))",
    )
    return json.loads(text)


def set_aside(world: World, host: Agent) -> list[str]:
    """Errors of what was no report. The heartbeat is not counted: when a sound one follows at once, nobody looks at it."""
    errors = [event["error"] for event in events_of(world, host, "host.report-set-aside")]
    return [error for error in errors if "not a heartbeat" not in error]


def test_reports_that_are_none_become_events_and_stop_nobody(world, agent, script):
    with another_host(world) as other:
        number = world.launch(script.until_go())  # host-b would hold the job below
        elsewhere = world.launch("sleep 0.5; echo fine", resources={"accelerator": "cpu", "chips": 8})
        host = next(h for h in (agent, other) if (h.state / "workloads" / (world.wait(number, "running")["workload"])).exists())
        workload = world.job(number)["workload"]
        line, keys = redis_of(host), (protocol.reports_key(host.host_id), protocol.acks_key(host.host_id))
        session = {"v": 1, "s": 1}
        for garbage in (
            {"hello": "world"},
            {"v": 99, "s": 1, "k": "log", "d": b"x"},
            {**session, "k": "no-such-kind", "d": b"x"},
            {**session, "k": "heartbeat", "d": b"{}"},
            {**session, "k": "log", "f": f"{workload}/0/output", "o": "no number", "d": b"x"},
        ):
            line.xadd(keys[0], garbage)
        unknown = "00000000-0000-7000-8000-000000000000/0/output"
        line.xadd(keys[0], {**session, "k": "log", "f": unknown, "o": 0, "d": b"x"})
        expected = [
            "KeyError(b'v')",
            "protocol version b'99'",
            "no-such-kind",
            "b'no number'",
            "ValueError",  # of lines the host's page shows no word
            "JSONDecodeError",
        ]
        until(lambda: line.hgetall(keys[1]).get(unknown.encode()) == b"refused", what="unknown workload refused")
        with (host.folder(workload) / "states").open("ab") as states:
            states.write(b'{"state": "dancing"}\nnot even json\n')
        errors = until(lambda: (found := set_aside(world, host)) and len(found) >= 6 and found, what="events")
        assert [next(word for word in expected if word in error) for error in errors] == expected
        script.go()
        assert world.wait(number)["state"] == "succeeded"
        assert world.complete_log(number) == script.log
        assert world.wait(elsewhere)["state"] == "succeeded"
        assert world.complete_log(elsewhere) == b"fine\n"
        assert len(script.pids) == 1
        until(lambda: world.free_chips() == SLOTS + 8)


# -- A host reaches for more than its own -------------------------------------------------------------------------------------


def test_a_hosts_redis_user_can_do_nothing_with_another_hosts_keys(world, agent):
    with another_host(world) as other:
        line = redis_of(agent)
        theirs = {name: protocol.key_prefix(other.host_id) + name for name in ("orders", "reports", "acks")}
        for words in (
            ["XADD", theirs["reports"], "*", "k", "log"],
            ["XRANGE", theirs["reports"], "-", "+"],
            ["HGETALL", theirs["acks"]],
            ["BRPOP", theirs["orders"], "1"],
            ["LLEN", theirs["orders"]],
            ["SADD", theirs["orders"], "x"],
            ["LPUSH", theirs["orders"], "x"],
            ["LPUSH", protocol.orders_key(agent.host_id), "x"],
            ["HSET", protocol.acks_key(agent.host_id), "x", "1"],
            ["DEL", theirs["orders"]],
            ["XADD", "wake", "*", "k", "v"],
            ["EVAL", "return redis.call('KEYS', '*')", "0"],
            ["KEYS", "*"],
            ["SCAN", "0"],
            ["CONFIG", "GET", "*"],
            ["ACL", "LIST"],
            ["CLIENT", "LIST"],
            ["FLUSHALL"],
            ["SUBSCRIBE", "x"],
        ):
            with pytest.raises(redis.exceptions.NoPermissionError):
                line.execute_command(*words)
        assert world.redis().type(theirs["reports"]) in (b"stream", b"none")


def test_a_hosts_token_opens_nothing_of_another_hosts_work(world, agent, script):
    with another_host(world) as other:
        number = world.launch(script.until_go(), resources={"accelerator": "cpu", "chips": 8})
        world.wait(number, "running")
        workload = world.job(number)["workload"]
        assert (other.state / "workloads" / workload).exists()
        token = json.loads((agent.state / "agent.json").read_text())["token"]
        door = httpx.Client(base_url=f"{world.url}/agent/v1/", headers={"Authorization": f"Bearer {token}"})
        stolen = door.post(f"workloads/{workload}/ranks/0/claim", headers={"X-Agent-Session": "1"}, json={})
        assert (stolen.status_code, stolen.json()["code"]) == (404, "not-yours")
        late = door.post(f"workloads/{workload}/ranks/0/claim", headers={"X-Agent-Session": "7"}, json={})
        assert (late.status_code, late.json()["code"]) == (409, "session-over")
        api = world.client_of(token).get("jobs")
        assert api.status_code == 401
        script.go()
        assert world.wait(number)["state"] == "succeeded"
        assert len(script.pids) == 1
        until(lambda: world.free_chips() == SLOTS + 8)


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        ("used", "This enrolment token was used already; each enrols one machine. Make a new one."),
        ("expired", "This enrolment token has expired. Make a new one on the enrolment page."),
        ("unknown", "This enrolment token is unknown. Make a new one on the enrolment page."),
    ],
)
def test_an_enrolment_token_that_does_not_hold_is_refused_with_its_reason(world, agent, tmp_path, spoil, sentence):
    token = world.client.post("clusters/local/enrolment-tokens").raise_for_status().json()["token"]
    if spoil == "unknown":
        token = token[:-1] + ("a" if token[-1] != "a" else "b")
    else:
        change = "used_at=timezone.now()" if spoil == "used" else "expires_at=timezone.now()"
        world.manage(
            "shell",
            "-v0",
            "-c",
            "from django.utils import timezone; from clusters.enrolment import hashed\n"
            "from clusters.models import EnrolmentToken\n"
            f"assert EnrolmentToken.objects.filter(token_hash=hashed('{token}')).update({change}) == 1",
        )
    known = len(world.client.get("hosts").json()["results"])
    stranger = Agent(world, f"stranger-{spoil}", tmp_path / "state", token=token).start()
    world.agents.append(stranger)
    assert stranger.process and stranger.process.wait(timeout=30) == 1
    assert stranger.said().splitlines()[-1] == f"agent: the panel refuses to enrol this host: {sentence}"
    assert not (stranger.state / "agent.json").exists()
    assert len(world.client.get("hosts").json()["results"]) == known


# -- The host is away ------------------------------------------------------------------------------------------------------------


def test_a_job_waits_for_a_host_that_is_away_and_says_so(world, agent, script):
    agent.kill()
    until(lambda: world.host(agent.host_id)["is_silent"], what="silent")
    number = world.launch(script("echo here"))
    job = until(lambda: (j := world.job(number))["reason"]["code"] == "hosts-silent" and j, what="hosts-silent")
    assert job["state"] == "queued"
    assert job["reason"]["sentence"] == (
        "No host with cpu can be heard; the last word came from host-a. It starts when one is back."
    )
    assert orders(world, agent) == []
    assert world.host(agent.host_id)["free_chips"] == SLOTS
    agent.start()
    check_ran_once(world, agent, number, script)
    assert world.complete_log(number) == b"here\n"
