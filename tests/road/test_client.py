"""The command line and the Python client against a real panel, which is killed, restarted and cut off meanwhile."""

from __future__ import annotations

import csv
import io
import json
import os
import shlex
import shutil
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.jobs.following import Reader
from tests.road.command_line import OnTerminal, Running, environment, run
from tests.road.link import Link
from tests.road.test_command import AWKWARD
from tests.road.world import a_world, until
from tpu_panel import Invalid, NotFound, NotSignedIn, Panel, WaitTimeout, connection

CHECKED_EACH_S = 1
LINES = "i=0; while [ ! -e {go} ]; do i=$((i+1)); echo line $i; sleep 0.02; done; echo $i > {go}.lines; exit {code}"


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    with a_world(tmp_path_factory.mktemp("world"), environment={"STREAM_CHECK_S": str(CHECKED_EACH_S)}) as world:
        yield world


@pytest.fixture
def env(world, tmp_path):
    return environment(world, tmp_path)


@pytest.fixture
def cli(env):
    """cli("jobs", "--json"): (exit status, standard output, standard error)"""
    return lambda *arguments, given=b"", **more: run(arguments, env | more, given)


@pytest.fixture
def start(env, tmp_path):
    """start("logs", "1", "-f"): one that runs; what has not ended with the test is ended."""
    started = []

    def begin(*arguments, **more):
        started.append(Running(arguments, env | more, tmp_path))
        return started[-1]

    yield begin
    for one in started:
        if one.process.poll() is None:
            one.process.kill()
            one.process.wait()


@pytest.fixture
def panel(world, agent):
    with Panel(world.url, world.client.headers["Authorization"].removeprefix("Bearer ")) as panel:
        yield panel


@pytest.fixture
def stranger(world) -> str:
    """A token of somebody in no team."""
    world.manage(
        "shell", "-v0", "-c", "from django.contrib.auth.models import User; User.objects.get_or_create(username='stranger')"
    )
    return world.manage("issue_token", "stranger", "--name", "tests").strip()


def launched(*arguments: str, command: str) -> tuple[str, ...]:
    return ("launch", "command", "-p", f"command={command}", *arguments)


def check_lines(go: Path, out: bytes) -> None:
    count = int(Path(f"{go}.lines").read_text())
    assert out == b"".join(b"line %d\n" % i for i in range(1, count + 1))


# -- A log that is followed -------------------------------------------------------------------------------------


def test_an_awkward_log_is_followed_to_the_byte(world, agent, cli, tmp_path):
    (tmp_path / "awkward").write_bytes(AWKWARD)
    status, out, err = cli(*launched("--follow", "--name", "模型", command=f"cat {shlex.quote(str(tmp_path / 'awkward'))}"))
    assert (status, out) == (0, AWKWARD)
    first, *_between, last = err.splitlines()
    number = first.split()[1]
    assert first == f"Job {number} is queued: {world.url}/jobs/{number}"
    assert last.startswith(f"✓ Job {number} succeeded after") and last.endswith(f"{world.url}/jobs/{number}")
    assert cli("logs", number)[:2] == (0, AWKWARD)
    assert cli("logs", number, "-f")[:2] == (0, AWKWARD)
    assert cli("logs", number, "--tail", "1")[1] == b"last line without an end"
    assert cli("logs", number, "-f", "--tail", "1")[1] == b"last line without an end"


def test_a_web_process_that_is_killed_again_and_again_costs_no_line_and_repeats_none(world, agent, start, tmp_path):
    go = tmp_path / "go"
    follower = start(*launched("--follow", command=LINES.format(go=go, code=7)))
    follower.until_out(b"line 20\n")
    for _ in range(3):
        before = len(follower.out)
        world.kill_part("uvicorn")
        until(lambda before=before: len(follower.out) > before + 200, 40, "the log goes on")
    go.touch()
    assert follower.end() == 7
    check_lines(go, follower.out)
    assert "failed after" in follower.err and "exit code 7" in follower.err
    assert "Traceback" not in follower.err


def test_the_whole_panel_may_go_and_come_back(world, agent, start, tmp_path):
    go = tmp_path / "go"
    follower = start(*launched("--follow", command=LINES.format(go=go, code=0)))
    follower.until_out(b"line 20\n")
    said = len(world.said())
    stopping = time.monotonic()
    world.stop_panel()
    assert time.monotonic() - stopping < 8
    words = world.said()[said:]
    assert not any(trouble in words for trouble in ("Traceback", "Exception in ASGI", "task(s)")), words
    follower.until_err("does not answer")
    world.start()
    follower.until_err("The panel answers again.")
    before = len(follower.out)
    until(lambda: len(follower.out) > before + 200, 40, "the log goes on")
    go.touch()
    assert follower.end() == 0
    check_lines(go, follower.out)


def test_a_line_that_is_cut_twenty_times_brings_every_byte_once(world, agent, start, tmp_path):
    link, go = Link(world.port), tmp_path / "go"
    follower = start(*launched("--follow", command=LINES.format(go=go, code=0)), PANEL_URL=link.url)
    follower.until_out(b"line 5\n")
    for _ in range(20):
        before = len(follower.out)
        link.cut()
        until(lambda before=before: len(follower.out) > before, 30, "the log goes on")
    go.touch()
    assert follower.end() == 0
    check_lines(go, follower.out)
    link.close()


def test_a_line_that_died_without_a_word_is_noticed_by_its_silence(world, agent, tmp_path, monkeypatch):
    monkeypatch.setattr(connection, "STREAM_READ_S", 2.0)
    link, go = Link(world.port), tmp_path / "go"
    with Panel(link.url, world.client.headers["Authorization"].removeprefix("Bearer ")) as panel:
        command = LINES.format(go=go, code=0)
        job = panel.launch(project="first-project", definition="command", parameters={"command": command})
        data, pieces = b"", job.log_bytes()
        while b"line 20\n" not in data:
            data += next(pieces)
        link.forget()
        while b"line 150\n" not in data:
            data += next(pieces)
        go.touch()
        data += b"".join(pieces)
    check_lines(go, data)
    link.close()


def test_a_stream_is_taken_up_by_its_last_id_twenty_times(world, agent, tmp_path):
    go = tmp_path / "go"
    number = world.launch(f"i=0; while [ ! -e {go} ]; do seq $i $((i+=200)); sleep 0.02; done; echo end")
    world.wait(number, "running")
    address = f"{world.url}/api/v1/jobs/{number}/log/stream"
    token, last_id, data = world.client.headers["Authorization"].removeprefix("Bearer "), "", b""
    for i in range(20):
        with Reader(address, token, last_id=last_id) as reader:
            reader.until_bytes(500 * (i % 5) + 1)
            last_id, data = reader.last_id, data + reader.data
        if i == 10:
            world.kill_part("uvicorn")
            world.wait_answers()
    go.touch()
    with Reader(address, token, last_id=last_id) as reader:
        assert reader.rest()[-1][0] == "complete"
    assert data + reader.data == world.complete_log(number)


def test_the_next_attempt_is_followed_too(world, agent, cli, tmp_path):
    (tmp_path / "launch.json").write_text(
        json.dumps(
            {
                "definition": "command",
                "parameters": {"command": f"if mkdir {tmp_path}/first 2>/dev/null; then echo once; exit 3; else echo again; fi"},
                "retries": {"user_code": {"times": 1, "delay_s": 1}},
            }
        )
    )
    status, out, err = cli("launch", "--file", str(tmp_path / "launch.json"), "--follow", "--label", "sweep=a")
    assert (status, out) == (0, b"once\nagain\n")
    assert "[Attempt 2]" in err
    number = err.split()[1]
    assert world.job(int(number))["labels"] == {"sweep": "a"}
    assert cli("logs", number, "--attempt", "1")[1] == b"once\n"
    assert b"exit code 3" in cli("job", number)[1]


def test_ctrl_c_leaves_the_job_running_and_says_what_to_do(world, agent, start, cli, tmp_path):
    go = tmp_path / "go"
    follower = start(*launched("--follow", command=LINES.format(go=go, code=0)))
    follower.until_out(b"line 5\n")
    follower.interrupt()
    assert follower.end(5) == 130
    number = follower.err.split()[1]
    assert follower.err.splitlines()[-1] == (
        f"Job {number} goes on. Follow it: tpu-panel logs {number} -f    Cancel it: tpu-panel cancel {number}"
    )
    assert world.job(int(number))["state"] == "running"
    again = start("logs", number, "-f")
    again.until_out(b"line 50\n")
    go.touch()
    assert again.end() == 0
    check_lines(go, again.out)


def test_on_a_terminal_a_last_line_says_how_far_it_is(world, agent, env, tmp_path):
    go = tmp_path / "go"
    printed = 'echo begun; echo "::progress step=1 total=4"'
    command = f'{printed}; while [ ! -e {go} ]; do sleep 0.1; done; printf "half"; sleep 0.3; echo " whole"'
    shown = OnTerminal(launched("--follow", command=command), env)
    shown.until("● running  [######------------------]  25 %".encode())
    go.touch()
    assert shown.end() == 0
    lines = shown.left.splitlines()
    assert lines[1:4] == ["begun", "::progress step=1 total=4", "half whole"]
    assert lines[4].startswith("\x1b[32m✓\x1b[0m Job ")
    assert len(lines) == 5


def test_ctrl_c_on_a_terminal_needs_no_second(world, agent, env, tmp_path):
    shown = OnTerminal(launched("--follow", command=f"echo begun; while [ ! -e {tmp_path}/go ]; do sleep 0.1; done"), env)
    shown.until(b"begun")
    shown.type(b"\x03")
    assert shown.end(5) == 130
    assert "goes on. Follow it: tpu-panel logs " in shown.left
    (tmp_path / "go").touch()


def test_what_the_host_prepares_is_noted_beside_the_log(world, agent, cli):
    world.publish_runtime("small", "six==1.17.0\n")
    status, out, err = cli("launch", "small", "-p", "command=echo ready", "--follow")
    assert (status, out) == (0, b"ready\n")
    assert "is starting" in err


# -- With what it ends ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "status"), [("true", 0), ("exit 7", 7), ("kill -SEGV $$", 139), ("exit 255", 255), ("/no/such/program", 127)]
)
def test_a_followed_job_ends_with_its_own_status_and_so_does_a_wait(world, agent, cli, command, status):
    code, _out, err = cli(*launched("--follow", command=command))
    assert code == status, err
    assert cli("wait", err.split()[1])[0] == status


def test_a_job_without_an_exit_code_of_its_own_ends_with_1(world, agent, cli):
    world.publish("nothing", command=["/no/such/program"])
    status, _out, err = cli("launch", "nothing", "-p", "command=x", "--follow")
    assert status == 1
    assert "could not be started" in err


def test_a_job_that_is_canceled_meanwhile_ends_with_125(world, agent, start, cli):
    follower = start(*launched("--follow", command="echo begun; sleep 100"))
    follower.until_out(b"begun\n")
    number = follower.err.split()[1]
    assert cli("cancel", number, "--force")[:2] == (0, f"Job {number} is stopping.\n".encode())
    assert follower.end() == 125
    assert "Canceled by admin." in follower.err
    assert cli("wait", number)[0] == 125
    status, _out, err = cli("cancel", number)
    assert (status, err) == (1, f"tpu-panel: Job {number} has ended; there is nothing to cancel.\n")


def test_a_job_that_is_canceled_before_it_began_ends_its_follower_at_once(world, agent, start, cli):
    holder = world.launch("sleep 100", resources={"accelerator": "cpu", "chips": 4})
    world.wait(holder, "running")
    follower = start(*launched("--follow", "--chips", "4", command="echo never"))
    follower.until_err("is queued: It needs")
    number = follower.err.split()[1]
    cli("cancel", number)
    assert follower.end(6) == 125
    assert follower.out == b""
    world.cancel(holder, force=True)
    world.wait(holder)


def test_several_are_waited_for_and_canceled_and_the_first_that_fails_says_how_it_ends(world, agent, cli):
    numbers = [str(world.launch(command)) for command in ("true", "exit 4", "exit 5")]
    status, out, _err = cli("wait", *numbers)
    assert status == 4
    assert [line.split()[0] for line in out.decode().splitlines()] == ["✓", "✗", "✗"]
    status, out, _err = cli("wait", *numbers, "--json")
    assert [job["state"] for job in json.loads(out)] == ["succeeded", "failed", "failed"]
    lasting = str(world.launch("sleep 100"))
    started = time.monotonic()
    status, out, err = cli("wait", lasting, "--timeout", "1.5")
    assert (status, 1.5 <= time.monotonic() - started < 8) == (124, True)
    assert err.startswith(f"tpu-panel: Job {lasting} is ") and err.endswith(" after 1.5 s, and goes on.\n")
    status, out, err = cli("cancel", "--force", numbers[0], "999999", lasting)
    assert (status, out) == (1, f"Job {lasting} is stopping.\n".encode())
    assert "has ended" in err and "There is no job 999999" in err
    assert world.wait(int(lasting))["state"] == "canceled"


def test_a_wait_goes_on_over_a_restart_of_the_panel(world, agent, start, tmp_path):
    number = world.launch(f"while [ ! -e {tmp_path}/go ]; do sleep 0.1; done; exit 9")
    waiting = start("wait", str(number))
    until(lambda: world.job(number)["state"] == "running", what="running")
    world.kill_part("uvicorn")
    world.wait_answers()
    (tmp_path / "go").touch()
    assert waiting.end() == 9


def test_who_may_not_is_told_and_the_status_says_so(world, agent, cli, stranger):
    number = str(world.launch("echo secret"))
    world.wait(int(number))
    for command in (
        ("job", number),
        ("logs", number),
        ("logs", number, "-f"),
        ("cancel", number),
        ("wait", number),
        ("metrics", number),
    ):
        status, out, err = cli(*command, PANEL_TOKEN=stranger)
        assert (status, out) == (1, b"")
        assert err == f"tpu-panel: There is no job {number}, or you are not in its team.\n"
    assert cli("jobs", PANEL_TOKEN=stranger) == (0, b"", "No job is like that.\n")
    read_only = world.manage("issue_token", "admin", "--scope", "read", "--name", "reader").strip()
    status, _out, err = cli("cancel", number, PANEL_TOKEN=read_only)
    assert (status, "this needs a token of scope launch" in err) == (77, True)
    for token in ("tpu_wrong", ""):
        assert cli("jobs", PANEL_TOKEN=token)[0] == 77


def test_a_panel_that_is_down_is_told(world, cli):
    for address, words in (("http://127.0.0.1:1", "Connection refused"), ("http://no-such-host.invalid", "does not answer")):
        status, out, err = cli("jobs", "--patience", "0.5", PANEL_URL=address)
        assert (status, out) == (69, b"")
        assert words in err
    status, _out, err = cli("jobs", "--json", "--patience", "0", PANEL_URL="http://127.0.0.1:1")
    assert (status, json.loads(err)["code"]) == (69, "unreachable")
    assert cli("jobs", PANEL_URL="not an address")[0] == 64


def test_who_loses_the_right_hears_no_more(world, agent, start):
    token = world.manage("issue_token", "admin", "--name", "short-lived").strip()
    number = world.launch("i=0; while true; do i=$((i+1)); echo line $i; sleep 0.05; done")
    follower = start("logs", str(number), "-f", PANEL_TOKEN=token)
    follower.until_out(b"line 5\n")
    world.manage(
        "shell",
        "-v0",
        "-c",
        "from django.utils import timezone; from projects.models import ApiToken\n"
        "assert ApiToken.objects.filter(name='short-lived').update(revoked_at=timezone.now()) == 1",
    )
    assert follower.end(CHECKED_EACH_S + 10) == 77
    assert "tpu-panel: " in follower.err
    world.cancel(number, force=True)
    world.wait(number)


# -- Launching ----------------------------------------------------------------------------------------------------


def test_a_launch_into_a_restart_of_the_panel_is_made_once(world, agent, start):
    before = len(world.client.get("jobs", params={"limit": 200}).json()["results"])
    world.kill_part("uvicorn")
    follower = start(*launched("--follow", command="echo once"))
    assert follower.end() == 0
    assert follower.out == b"once\n"
    world.wait_answers()
    assert len(world.client.get("jobs", params={"limit": 200}).json()["results"]) == before + 1


def test_a_folder_is_brought_and_runs(world, agent, cli, tmp_path):
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "hello.sh").write_text("echo hello $1\n")
    arguments = ("launch", "archive", "-p", f"archive=@{tmp_path}/code", "-p", "command=sh hello.sh you")
    assert cli(*arguments, "--follow")[:2] == (0, b"hello you\n")


def test_a_script_is_read_from_a_file_and_gets_its_arguments(world, agent, cli, tmp_path):
    (tmp_path / "script.py").write_text("import sys; print(sys.argv[1:])")
    arguments = ("-p", f"script=@{tmp_path}/script.py", "-p", "arguments=--seed", "-p", "arguments=a,b")
    assert cli("launch", "script", *arguments, "-f")[:2] == (0, b"['--seed', 'a,b']\n")


def test_what_is_wrong_with_a_launch_is_told_before_or_by_the_panel(world, cli):
    for arguments, words in (
        (("launch",), "Say which definition to launch"),
        (("launch", "nope"), "None of your projects has a definition nope; there is archive, command,"),
        (("launch", "command", "--project", "nope"), "There is no project nope"),
        (("launch", "command", "-p", "comand=x"), "do you mean command?"),
        (("launch", "digits-tensorflow", "-p", "epochs=ten"), "epochs: a whole number is needed, not 'ten'"),
        (("launch", "digits-tensorflow", "-p", "epochs=0"), "parameters.epochs: "),
        (("launch", "command", "-p", "command=x", "--chips", "999999"), "resources.chips: "),
        (("launch", "command", "--file", "/no/such"), "/no/such cannot be read"),
    ):
        status, out, err = cli(*arguments)
        assert (status, out) == (1 if "no project" in words else 64, b""), err
        assert words in err
    status, _out, err = cli("launch", "--file", "-", given=b'{"definition": "command", "colour": "red"}')
    assert (status, "there is no field colour" in err) == (64, True)


def test_a_job_is_launched_again(world, agent, cli):
    number = world.launch("echo hello; exit 2")
    world.wait(number)
    status, out, err = cli("relaunch", str(number), "--follow")
    assert (status, out) == (2, b"hello\n")
    assert world.job(int(err.split()[1]))["relaunch_of"] == number


# -- For scripts ----------------------------------------------------------------------------------------------------


def test_json_has_the_shapes_of_the_api(world, agent, cli):
    status, out, _err = cli(
        *launched("--json", "--label", "shape=a", command="echo '::metric name=loss step=1::0.5'; echo hello")
    )
    job = json.loads(out)
    number = str(job["number"])
    assert (status, set(job)) == (0, set(world.job(job["number"])))
    assert cli("wait", number, "--json")[0] == 0
    until(lambda: world.client.get(f"jobs/{number}/metrics").json()["metrics"], what="the metric")
    assert json.loads(cli("job", number, "--json")[1]) == world.job(job["number"])
    assert [one["number"] for one in json.loads(cli("jobs", "--json", "--label", "shape=a")[1])] == [job["number"]]
    assert json.loads(cli("hosts", "--json")[1])[0].keys() == world.client.get("hosts").json()["results"][0].keys()
    (series,) = json.loads(cli("metrics", number, "--json")[1])
    assert (series["name"], series["last_value"]) == ("loss", 0.5)
    (line,) = json.loads(cli("metrics", number, "loss", "--json")[1])
    assert line["buckets"][0]["last"] == 0.5
    rows = list(csv.DictReader(io.StringIO(cli("metrics", number, "loss", "--csv")[1].decode())))
    assert [(row["attempt"], row["x"], row["last"]) for row in rows] == [("1", "1", "0.5")]
    assert json.loads(cli("open", number, "--json")[1]) == {"url": f"{world.url}/jobs/{number}"}
    assert json.loads(cli("login", "--json", given=world_token(world))[1])["username"] == "admin"
    status, out, err = cli("job", "999999", "--json")
    assert (status, out, json.loads(err)["status"]) == (1, b"", 404)


def world_token(world) -> bytes:
    return world.client.headers["Authorization"].removeprefix("Bearer ").encode()


def test_a_followed_job_as_json_is_an_object_a_line(world, agent, cli):
    status, out, _err = cli(*launched("--json", "--follow", command="printf 'a\\377b'; exit 6"))
    told = [json.loads(line) for line in out.splitlines()]
    assert status == 6
    assert (told[0]["event"], told[-1]["event"], told[-1]["job"]["state"]) == ("launched", "ended", "failed")
    (log,) = [one for one in told if one["event"] == "log"]
    assert (log["attempt"], log["offset"], log["base64"]) == (1, 0, "Yf9i")
    assert [one["event"] for one in told].count("complete") == 1


def test_a_table_has_the_jobs_that_are_asked_for(world, agent, cli):
    number = world.launch("exit 3", name="find me", labels={"table": "a"})
    world.wait(number)
    status, out, _err = cli("jobs", "--text", "find", "--state", "failed", "--label", "table=a", "--mine")
    head, row = out.decode().splitlines()
    assert (status, head.split()[:4]) == (0, ["job", "state", "name", "project"])
    assert row.split()[:5] == [str(number), "✗", "failed", "find", "me"]
    assert row.endswith("The command ended with exit code 3 on host-a.")
    assert cli("jobs", "--limit", "1")[2] == "These are the first 1; --limit and --all show more.\n"
    assert len(cli("jobs", "--all")[1].splitlines()) > 10


def test_who_reads_no_further_is_not_written_to(world, agent, env):
    command = f"{shlex.quote(sys.executable)} -m tpu_panel jobs --all | head -n 1; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], env=env, capture_output=True, text=True, timeout=60, check=False)
    assert done.stderr == ""
    assert done.stdout.splitlines()[-1] in ("0", "141")


# -- Signing in, installing, completing --------------------------------------------------------------------------------


def test_a_token_is_tried_and_kept_for_its_owner_alone(world, cli, env, tmp_path):
    place = tmp_path / ".config" / "tpu-panel" / "config.json"
    bare = {"PANEL_URL": "", "PANEL_TOKEN": ""}
    status, _out, err = cli("login", world.url, given=b"tpu_wrong\n", **bare)
    assert (status, place.exists()) == (77, False)
    assert "unknown here" in err
    status, out, err = cli("login", world.url, given=world_token(world) + b"\n", **bare)
    assert (status, out.decode()) == (0, f"Signed in at {world.url} as admin; the token may admin.\n")
    assert err == f"Kept in {place}, which only you can read.\n"
    assert stat.S_IMODE(place.stat().st_mode) == 0o600
    assert cli("hosts", **bare)[0] == 0
    assert cli("hosts", **bare | {"PANEL_URL": "http://localhost:1"})[0] == 77  # the token is not for another panel
    (tmp_path / "token").write_bytes(world_token(world))
    assert cli("login", world.url, "--token-file", str(tmp_path / "token"), **bare)[0] == 0


def test_a_token_is_typed_without_being_shown(world, env, tmp_path):
    shown = OnTerminal(("login", world.url), env | {"PANEL_URL": "", "PANEL_TOKEN": ""})
    shown.until(b"Token: ")
    shown.type(world_token(world) + b"\n")
    assert shown.end() == 0
    assert world_token(world) not in shown.shown
    assert "Signed in at" in shown.left


def test_the_panel_hands_out_the_client_and_pip_takes_it(world, env, tmp_path):
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--no-cache-dir"]
    target = ["--target", str(tmp_path / "installed"), f"{world.url}/client.tar.gz"]
    subprocess.run([*install, *target], check=True, capture_output=True, timeout=120)
    words = "import tpu_panel, sys; print(tpu_panel.__file__); print(len(list(tpu_panel.Panel().hosts())) >= 0)"
    done = subprocess.run(
        [sys.executable, "-c", words],
        env=env | {"PYTHONPATH": str(tmp_path / "installed")},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines() == [str(tmp_path / "installed" / "tpu_panel" / "__init__.py"), "True"]
    assert (tmp_path / "installed" / "bin" / "tpu-panel").exists()


@pytest.fixture
def on_path(env, tmp_path):
    """An environment in which `tpu-panel` is a command."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "tpu-panel").write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m tpu_panel "$@"\n')
    (folder / "tpu-panel").chmod(0o755)
    return env | {"PATH": f"{folder}:{os.environ['PATH']}"}


def complete_in_bash(env: dict[str, str], *words: str) -> list[str]:
    """What bash would offer for the last word."""
    line = " ".join(["tpu-panel", *map(shlex.quote, words)])
    script = (
        "source <(tpu-panel completion bash); complete -p tpu-panel >&2\n"
        f"COMP_WORDS=(tpu-panel {' '.join(map(shlex.quote, words))}); COMP_CWORD={len(words)}; COMP_LINE={shlex.quote(line)}\n"
        '_tpu_panel; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    done = subprocess.run(["bash", "--norc", "-c", script], env=env, capture_output=True, text=True, timeout=60, check=True)
    assert "-F _tpu_panel tpu-panel" in done.stderr
    return [line for line in done.stdout.splitlines() if line]


def test_bash_takes_the_script_and_offers_what_fits(world, agent, on_path, tmp_path):
    script = subprocess.run(["tpu-panel", "completion", "bash"], env=on_path, capture_output=True, check=True).stdout
    assert subprocess.run(["bash", "-n"], input=script, check=True, capture_output=True).stderr == b""
    number = world.launch("true")
    world.wait(number)
    assert complete_in_bash(on_path, "la") == ["launch"]
    assert complete_in_bash(on_path, "jobs", "--st") == ["--state"]
    assert complete_in_bash(on_path, "launch", "digits-t") == ["digits-tensorflow"]
    assert "epochs=" in complete_in_bash(on_path, "launch", "digits-tensorflow", "-p", "e")
    assert str(number) in complete_in_bash(on_path, "wait", str(number)[0])
    (tmp_path / "my launch.json").write_text("{}")
    assert complete_in_bash(on_path, "launch", "--file", f"{tmp_path}/my") == [f"{tmp_path}/my launch.json"]
    assert complete_in_bash(on_path | {"PANEL_URL": "http://127.0.0.1:1"}, "wait", "") == []


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_take_theirs(on_path, shell):
    script = subprocess.run(["tpu-panel", "completion", shell], env=on_path, capture_output=True, check=True).stdout
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell} here")
    subprocess.run([shell, "-n"], input=script, check=True, capture_output=True)


def test_a_page_is_opened_in_the_browser(world, agent, cli, tmp_path):
    number = world.launch("true")
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" > {tmp_path}/opened\n')
    browser.chmod(0o755)
    status, out, _err = cli("open", str(number), BROWSER=str(browser))
    assert (status, out.decode().strip()) == (0, f"{world.url}/jobs/{number}")
    assert (tmp_path / "opened").read_text().strip() == f"{world.url}/jobs/{number}"


# -- From Python --------------------------------------------------------------------------------------------------------


def test_a_sweep_from_python(world, agent, panel):
    jobs = [
        panel.launch(
            project="first-project",
            definition="command",
            parameters={"command": f"echo '::metric name=loss step=1::0.{n}'; echo run {n}; exit {n}"},
            labels={"sweep": "python"},
        )
        for n in (0, 1)
    ]
    assert [job.wait(60).state for job in jobs] == ["succeeded", "failed"]
    assert [job.exit_code for job in jobs] == [0, 1]
    assert [list(job.logs())[-1] for job in jobs] == ["run 0", "run 1"]
    assert list(jobs[1].logs(follow=False)) == list(jobs[1].logs())
    until(lambda: len(jobs[1].metrics()) == 1, what="the metric")
    assert jobs[1].metric("loss")[0]["buckets"][0]["last"] == 0.1
    assert [job.number for job in panel.jobs(labels={"sweep": "python"})] == [job.number for job in reversed(jobs)]
    assert [job.number for job in panel.jobs(labels={"sweep": "python"}, state="failed")] == [jobs[1].number]
    assert [host.name for host in panel.hosts()] == ["host-a"]
    again = jobs[1].relaunch()
    assert (again.wait(60).state, again.refresh().data["relaunch_of"]) == ("failed", jobs[1].number)
    assert [event["code"] for event in jobs[0].events()][-1] == "job.succeeded"
    assert [one["number"] for one in jobs[0].attempts()] == [1]


def test_errors_from_python_say_what_and_why(world, agent, panel):
    with pytest.raises(Invalid) as invalid:
        panel.launch(project="first-project", definition="digits-tensorflow", parameters={"epochs": 0})
    assert (invalid.value.status, invalid.value.code, list(invalid.value.details)) == (422, "invalid", ["parameters.epochs"])
    with pytest.raises(NotFound) as missing:
        panel.job(999_999)
    assert (missing.value.code, missing.value.details) == ("no-such-job", {"job": 999_999})
    with pytest.raises(NotSignedIn):
        Panel(world.url, "tpu_wrong").me()
    job = panel.launch(project="first-project", definition="command", parameters={"command": "sleep 100"})
    with pytest.raises(WaitTimeout):
        job.wait(0.5)
    assert job.cancel(force=True).wait(30).state == "canceled"


def test_the_same_key_launches_once(world, agent, panel):
    jobs = [
        panel.launch(project="first-project", definition="command", parameters={"command": "true"}, key="once-and-only")
        for _ in range(2)
    ]
    assert jobs[0].number == jobs[1].number


def test_a_web_process_that_is_told_to_end_ends_its_followers_first(world, agent, tmp_path):
    number = world.launch(f"echo begun; while [ ! -e {tmp_path}/go ]; do sleep 0.1; done")
    world.wait(number, "running")
    token = world.client.headers["Authorization"].removeprefix("Bearer ")
    with Reader(f"{world.url}/api/v1/jobs/{number}/log/stream", token) as reader:
        reader.until_bytes(6)
        said, web = len(world.said()), world.part("uvicorn")
        os.kill(web, signal.SIGTERM)
        started = time.monotonic()
        assert [name for name, _ in reader.rest() if name != "job"] == []
        assert time.monotonic() - started < 2
    until(lambda: world.part("uvicorn") != web, what="another web process")
    assert "Traceback" not in world.said()[said:]
    world.wait_answers()
    (tmp_path / "go").touch()
    assert world.wait(number)["state"] == "succeeded"
