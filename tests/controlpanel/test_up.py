"""What `manage.py up` checks before it starts anything, and how it keeps its parts running."""

from __future__ import annotations

import os
import signal
import socket
import stat
import subprocess
import sys
import time

import pytest
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from controlpanel import parts, up
from controlpanel.parts import Part

SLEEPS = [sys.executable, "-I", "-S", "-c", "import time; time.sleep(60)"]
DEAF = [
    sys.executable,
    "-I",
    "-S",
    "-c",
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(flush=True); time.sleep(60)",
]


@pytest.fixture
def part():
    """part(command): a part that does not outlive the test."""
    made = []

    def make(command, name="web"):
        made.append(Part(name, command))
        return made[-1]

    yield make
    for one in made:
        if one.process is not None:
            one.process.kill()
            one.process.wait()


@pytest.fixture
def taken_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield listener.getsockname()[1]


def ends(one, *, now):
    """Its process ends by itself, and is looked at."""
    one.process.wait()
    one.tend(now)


# -- Parts ---------------------------------------------------------------------------------------------------


def test_a_part_that_ends_is_started_again_after_ever_longer_times(part, capsys):
    one, now, waits = part(["false"]), 1000.0, []
    one.tend(now)
    for _ in range(7):
        ends(one, now=now)
        assert one.process is None
        waits.append(one.start_at - now)
        one.tend(one.start_at - 0.01)
        assert one.process is None
        now = one.start_at
        one.tend(now)
        assert one.process is not None
    assert waits == [1, 2, 4, 8, 16, 30, 30]
    assert "web ended (code 1); again in 30 s" in capsys.readouterr().out


def test_a_part_that_ran_steadily_is_soon_started_again(part):
    one = part(["false"])
    one.wait_s = 30.0
    one.tend(1000.0)
    ends(one, now=1000.0 + parts.STEADY_S)
    assert one.wait_s == 30
    one.tend(one.start_at)
    ends(one, now=one.started_at + parts.STEADY_S + 0.1)
    assert one.wait_s == 1


def test_a_part_that_runs_is_left_alone(part):
    one = part(SLEEPS)
    one.tend(1000.0)
    process = one.process
    one.tend(2000.0)
    assert one.process is process and process.poll() is None


def test_a_part_has_a_session_of_its_own_out_of_reach_of_ctrl_c(part):
    one = part(SLEEPS)
    one.tend(0.0)
    assert os.getsid(one.process.pid) == one.process.pid != os.getsid(0)


def test_the_end_is_asked_for_and_valkey_goes_last(part, monkeypatch):
    order = []
    monkeypatch.setattr(Part, "end", lambda self, deadline, end=Part.end: (end(self, deadline), order.append(self.name)))
    running = [part(SLEEPS, "valkey"), part(SLEEPS, "web"), part(SLEEPS, "loops"), Part("never started", [])]
    for one in running[:3]:
        one.tend(0.0)
    up._end(running)
    assert order == ["never started", "loops", "web", "valkey"]
    assert [one.process.returncode for one in running[:3]] == [-signal.SIGTERM] * 3


def test_who_does_not_end_in_time_is_killed(part, monkeypatch):
    monkeypatch.setattr(up, "END_WITHIN_S", 0.1)
    read, write = os.pipe()
    monkeypatch.setattr(parts, "spawn", lambda command, _environment: subprocess.Popen(command, stdout=write))
    one = part(DEAF)
    one.tend(0.0)
    os.read(read, 1)  # it ignores TERM by now
    up._end([one])
    assert one.process.returncode == -signal.SIGKILL
    os.close(read)
    os.close(write)


# -- What is better said before anything runs ----------------------------------------------------------------


def test_a_taken_port_is_named_with_another_one(taken_port):
    with pytest.raises(up.CannotStart, match=rf"Port {taken_port} is taken.*--port {taken_port + 1}"):
        up._check_port(taken_port)


def test_a_state_folder_that_cannot_be_is_named(tmp_path):
    (tmp_path / "var").write_text("a file")
    with pytest.raises(up.CannotStart, match=f"{tmp_path}/var cannot be used"):
        up._check_folder(tmp_path / "var")


def test_a_full_disk_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(up, "MIN_FREE_BYTES", 2**70)
    with pytest.raises(up.CannotStart, match="MiB left"):
        up._check_folder(tmp_path)


def test_what_cannot_start_is_a_sentence_and_a_status(tmp_path, taken_port, monkeypatch, capsys):
    monkeypatch.setenv("PANEL_VAR", str(tmp_path / "var"))
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    assert up.main(["--port", str(taken_port), "--no-agent"]) == 1
    assert capsys.readouterr().out.startswith(f"Port {taken_port} is taken.")


def test_an_agent_that_is_not_installed_is_a_sentence(tmp_path):
    options = up._parser().parse_args([])
    with pytest.raises(up.CannotStart, match="wheel is missing"):
        up._agent(options, tmp_path, {"PUBLIC_URL": "http://127.0.0.1:1"})


# -- The embedded Valkey -------------------------------------------------------------------------------------


def test_the_embedded_valkey_keeps_its_port_and_password(tmp_path):
    first, url = up._valkey(tmp_path)
    again, same = up._valkey(tmp_path)
    assert (first.name, url, first.command) == ("valkey", same, again.command)
    assert (tmp_path / "redis_url").read_text() == url
    for secret in (tmp_path / "redis_url", tmp_path / "valkey" / "password", tmp_path / "valkey" / "users.acl"):
        assert stat.S_IMODE(secret.stat().st_mode) == 0o600


def test_a_taken_port_of_the_embedded_valkey_is_told(tmp_path, taken_port):
    (tmp_path / "valkey").mkdir()
    (tmp_path / "valkey" / "port").write_text(str(taken_port))
    with pytest.raises(up.CannotStart, match=f"Port {taken_port} of the embedded Valkey is taken"):
        up._valkey(tmp_path)


def test_nobody_comes_in_without_the_password(tmp_path, part):
    valkey, url = up._valkey(tmp_path)
    one = part(valkey.command)
    one.tend(0.0)
    connection, deadline = redis.Redis.from_url(url, retry=Retry(NoBackoff(), 0)), time.monotonic() + 10
    while True:
        try:
            assert connection.ping()
            break
        except redis.exceptions.ConnectionError:
            assert time.monotonic() < deadline and one.process.poll() is None
            time.sleep(0.01)
    with pytest.raises(redis.exceptions.AuthenticationError):
        redis.Redis(port=int((tmp_path / "valkey" / "port").read_text()), retry=Retry(NoBackoff(), 0)).ping()


# -- The table -----------------------------------------------------------------------------------------------


def test_the_process_table_carries_address_and_environment(tmp_path):
    options = up._parser().parse_args(["--host", "0.0.0.0", "--port", "8123"])
    environment = {"PANEL_VAR": str(tmp_path), "REDIS_URL": "redis://x", "PUBLIC_URL": "http://x"}
    table = {one.name: one for one in up._parts(options, tmp_path, environment)}
    assert list(table) == ["web", "loops", "worker"]
    assert "0.0.0.0" in table["web"].command and "8123" in table["web"].command
    assert all(environment.items() <= one.environment.items() for one in table.values())
    assert "redis://x" not in " ".join(word for one in table.values() for word in one.command)


def test_it_imports_no_django():
    code = "import sys, controlpanel.up; print('django' in sys.modules, 'celery' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=up.BASE_DIR, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]


def test_a_panel_that_is_not_up_does_not_answer():
    assert not up._answers(f"http://127.0.0.1:{up._free_port()}")
