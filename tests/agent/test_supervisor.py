from __future__ import annotations

import fcntl
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from agent import ending, processes, protocol
from agent.output import NEW_BYTES, NEW_NOTE
from agent.protocol import Gap
from agent.spool import SpoolReader

SUPERVISOR = Path(ending.__file__).with_name("supervisor.py")
IGNORES_TERM = "trap '' TERM; echo ready; while :; do sleep 0.05; done"


class Rank:
    """A rank's folder, and the supervisors that a test starts on it."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        self.folder = folder
        self.workload_id = f"test-{os.getpid()}-{folder.name}"
        self.arguments = [str(folder)]
        self.supervisors: list[subprocess.Popen[bytes]] = []
        self.output = SpoolReader(folder / "output")

    def start(self, *command: str, **spec: object) -> subprocess.Popen[bytes]:
        text = json.dumps(
            {
                "workload_id": self.workload_id,
                "rank_folder": str(self.folder),
                "command": command,
                "environment": {"PATH": os.environ["PATH"], protocol.ENV_WORKLOAD: self.workload_id},
                "cwd": "/",
                "secrets": [],
                "cap_bytes": 1 << 30,
            }
            | spec
        ).encode()
        return self.send(len(text).to_bytes(8, "big") + text)

    def send(self, stdin: bytes) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-I", "-S", str(SUPERVISOR), *self.arguments]
        supervisor = subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.supervisors.append(supervisor)
        assert supervisor.stdin is not None
        try:
            supervisor.stdin.write(stdin)
            supervisor.stdin.close()
        except BrokenPipeError:
            pass  # it has refused already
        return supervisor

    def run(self, *command: str, **spec: object) -> dict[str, object]:
        """What `end` says when all is over."""
        assert self.start(*command, **spec).wait(20) == 0
        return self.note("end")

    def note(self, name: str) -> dict[str, object]:
        wait_for((self.folder / name).exists)
        return json.loads((self.folder / name).read_text())

    def stop(self, grace_s: float) -> None:
        (self.folder / "stop.part").write_text(json.dumps({"grace_s": grace_s}))
        (self.folder / "stop.part").rename(self.folder / "stop")
        self.supervisors[0].send_signal(signal.SIGTERM)

    def log(self) -> bytes:
        return self.output.read(0, 1 << 30)

    def wait_for_log(self, text: bytes) -> None:
        wait_for(lambda: text in self.log())

    def processes(self) -> list[int]:
        return processes.marked(protocol.ENV_WORKLOAD, self.workload_id)

    def files(self) -> list[str]:
        return sorted(path.name for path in self.folder.iterdir())


def wait_for(is_true: Callable[[], object], within_s: float = 10) -> None:
    deadline = time.monotonic() + within_s
    while not is_true():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.01)


@pytest.fixture
def rank(tmp_path: Path) -> Iterator[Rank]:
    rank = Rank(tmp_path / "rank")
    yield rank
    for supervisor in rank.supervisors:
        supervisor.kill()
        supervisor.wait()
    for pid in rank.processes():
        os.kill(pid, signal.SIGKILL)


def python(script: str) -> tuple[str, ...]:
    return (sys.executable, "-I", "-S", "-c", script)


# -- output ----------------------------------------------------------------------------------------


def test_output_is_stored_to_the_byte(rank):
    data = b"\0\xff\xfe \x1b[31mred\x1b[0m 10%\r20%\r\n" + b"x" * 1_000_000 + b"\n\xf0\x9f no final newline"
    (rank.folder.parent / "data").write_bytes(data)
    end = rank.run("sh", "-c", f"cat {rank.folder.parent}/data; printf err >&2")
    assert rank.log() == data + b"err"
    assert end["final_offset"] == len(data) + 3


def test_a_hundred_thousand_lines_at_once_are_all_there(rank):
    rank.run(*python("import sys; sys.stdout.write(''.join(f'line {n}\\n' for n in range(100_000)))"))
    assert rank.log() == "".join(f"line {number}\n" for number in range(100_000)).encode()


def test_secrets_are_masked_however_they_are_written(rank):
    script = (
        "import sys, time\nfor c in 'a hunter2-hunter2 b hunter2-': sys.stdout.write(c); sys.stdout.flush(); time.sleep(.002)"
    )
    end = rank.run(*python(script), secrets=["hunter2-hunter2"])
    assert rank.log() == b"a [masked] b hunter2-"
    assert end["final_offset"] == 21


def test_output_beyond_the_cap_is_a_gap_with_its_count(rank):
    end = rank.run("head", "-c", "250000", "/dev/zero", cap_bytes=100_000)
    assert (end["cause"], end["final_offset"]) == ("exited", 100_000)
    assert rank.output.end() == 100_000
    (gap,) = rank.output.gaps(0, 1 << 40)
    assert gap == Gap(100_000, 150_000, gap.from_ms, gap.to_ms)


def test_a_full_disk_stops_neither_the_command_nor_the_note_of_its_end(rank):
    mount = rank.folder.parent / "small"
    mount.mkdir()
    if os.geteuid() or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "none", mount], check=False).returncode:
        pytest.skip("may not mount a small disk")
    try:
        small = Rank(mount / "rank")
        end = small.run("head", "-c", "1000000", "/dev/zero")
        kept, gaps = small.output.end(), small.output.gaps(0, 1 << 40)
        assert (end["exit_code"], end["final_offset"]) == (0, kept)
        assert 0 < kept < 256 * 1024
        assert sum(gap.dropped_bytes for gap in gaps) == 1_000_000 - kept
        assert len(gaps) <= 2
    finally:
        subprocess.run(["umount", mount], check=True)


def test_each_write_wakes_the_agent(rank):
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as agent:
        agent.bind(f"{folder}/wake")
        agent.settimeout(10)
        rank.start("sh", "-c", "echo one; exec sleep 60", wake=f"{folder}/wake")
        assert {agent.recv(100), agent.recv(100)} == {NEW_NOTE, NEW_BYTES}  # it runs, it printed
        assert rank.log() == b"one\n"
        rank.stop(0)
        assert agent.recv(100) == NEW_NOTE
        assert rank.note("end")["cause"] == "stopped"


# -- ends ------------------------------------------------------------------------------------------


def test_causes_are_the_protocols():
    ours = {name: value for name, value in vars(ending).items() if name.startswith("CAUSE_")}
    assert ours == {name: getattr(protocol, name) for name in ours}


@pytest.mark.parametrize("code", [0, 3, 137, 143])
def test_an_exit_code_is_what_the_command_says(rank, code):
    before_ms = time.time_ns() // 1_000_000
    end = rank.run("sh", "-c", f"exit {code}")
    at_ms, max_rss_kib = end.pop("at_ms"), end.pop("max_rss_kib")
    assert before_ms <= at_ms <= time.time_ns() // 1_000_000
    assert 500 < max_rss_kib < 100_000
    assert end == {
        "exit_code": code,
        "signal": None,
        "cause": "exited",
        "detail": "",
        "stopped": False,
        "leftovers": 0,
        "final_offset": 0,
    }
    assert rank.files() == ["alive", "end", "output", "running", "started", "supervisor.log"]
    assert (rank.folder / "supervisor.log").read_bytes() == b""


def test_a_signal_is_named(rank):
    end = rank.run("sh", "-c", "kill -SEGV $$")
    assert (end["cause"], end["signal"], end["exit_code"], end["stopped"]) == ("signaled", signal.SIGSEGV, None, False)


@pytest.mark.parametrize(("kills_after", "cause"), [(5, "out-of-memory"), (4, "signaled")])
def test_a_kill_while_the_oom_killer_was_at_work_is_out_of_memory(rank, kills_after, cause):
    vmstat = rank.folder.parent / "vmstat"
    vmstat.write_text("oom_kill 4\n")
    end = rank.run("sh", "-c", f"echo oom_kill {kills_after} > {vmstat}; kill -KILL $$", vmstat=str(vmstat))
    assert (end["cause"], end["signal"]) == (cause, 9)


def test_an_unknown_command_is_said_and_prints_nothing(rank):
    end = rank.run("no-such-trainer", "--steps", "5")
    assert (end["cause"], end["exit_code"]) == ("command-not-found", None)
    assert end["detail"] == "cannot run no-such-trainer: No such file or directory"
    assert (rank.log(), rank.output.end(), end["final_offset"]) == (b"", 0, 0)
    assert "running" not in rank.files()


def test_a_folder_that_is_not_there_is_said(rank):
    end = rank.run("true", cwd="/no/such/folder")
    assert (end["cause"], end["detail"]) == ("command-not-found", "cannot enter /no/such/folder: No such file or directory")


# -- stops -----------------------------------------------------------------------------------------


def test_stop_lets_the_command_end_itself(rank):
    save = "signal.signal(signal.SIGTERM, lambda *_: (print('saved'), sys.exit(7)))"
    rank.start(*python(f"import signal, sys; {save}; print('ready', flush=True); signal.pause()"))
    rank.wait_for_log(b"ready")
    rank.stop(30)
    end = rank.note("end")
    assert (end["cause"], end["exit_code"], end["signal"], end["stopped"]) == ("stopped", 7, None, True)
    assert rank.log() == b"ready\nsaved\n"


def test_term_that_is_ignored_becomes_kill_after_the_grace(rank):
    rank.start("sh", "-c", IGNORES_TERM)
    rank.wait_for_log(b"ready")
    began = time.monotonic()
    rank.stop(0.5)
    end = rank.note("end")
    assert 0.5 <= time.monotonic() - began < 2
    assert (end["cause"], end["signal"], end["stopped"]) == ("stopped", 9, True)
    assert rank.processes() == []


def test_a_later_stop_without_grace_kills_now(rank):
    rank.start("sh", "-c", IGNORES_TERM)
    rank.wait_for_log(b"ready")
    rank.stop(60)
    rank.stop(120)
    assert not (rank.folder / "end").exists()
    rank.stop(0)
    assert rank.note("end")["signal"] == 9


def test_a_stop_is_seen_without_a_signal(rank):
    rank.start("sleep", "60")
    rank.note("running")
    (rank.folder / "stop").write_text('{"grace_s": 5}')
    assert rank.note("end")["signal"] == signal.SIGTERM


def test_signals_without_a_stop_change_nothing(rank):
    supervisor = rank.start("sh", "-c", "echo ready; read line < $0; echo done", str(fifo(rank)))
    rank.wait_for_log(b"ready")
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGUSR1):
        supervisor.send_signal(number)
    fifo(rank).write_text("go\n")
    assert (rank.note("end")["cause"], rank.log()) == ("exited", b"ready\ndone\n")


def test_a_stop_reaches_descendants_in_sessions_of_their_own(rank):
    rank.start("sh", "-c", f'setsid sh -c "{IGNORES_TERM}" & wait')
    rank.wait_for_log(b"ready")
    rank.stop(0.3)
    assert rank.note("end")["cause"] == "stopped"
    assert rank.processes() == []


# -- leftovers -------------------------------------------------------------------------------------


def test_what_outlives_the_command_is_ended_and_counted(rank):
    end = rank.run("sh", "-c", "(setsid sh -c 'sleep 61 & exec sleep 60' &) ; exit 4")
    assert (end["cause"], end["exit_code"]) == ("exited", 4)
    assert end["leftovers"] in (1, 2)  # the inner sleep may not have been forked yet
    assert rank.processes() == []


def test_a_leftover_that_ignores_term_is_killed_and_its_output_kept(rank):
    up = rank.folder.parent / "up"
    leftover = f"setsid sh -c \"trap '' TERM; echo up; touch {up}; while :; do sleep 0.05; done\""
    end = rank.run("sh", "-c", f"{leftover} & until [ -e {up} ]; do sleep 0.01; done")
    assert end["cause"] == "exited"
    assert end["leftovers"] >= 1
    assert rank.log() == b"up\n"
    assert rank.processes() == []


def test_someone_outside_who_holds_the_pipe_hangs_nothing(rank):
    rank.start("sh", "-c", "echo ready; read line < $0", str(fifo(rank)))
    rank.wait_for_log(b"ready")
    with Path(f"/proc/{rank.note('running')['pid']}/fd/1").open("wb", buffering=0) as held:
        fifo(rank).write_text("go\n")
        wait_for(lambda: processes.start_time(rank.note("running")["pid"]) is None)
        held.write(b"from outside\n")
        end = rank.note("end")
    assert (end["exit_code"], end["leftovers"], rank.log()) == (0, 0, b"ready\nfrom outside\n")


# -- one start -------------------------------------------------------------------------------------


def test_kill_of_the_supervisor_kills_the_command_and_frees_the_lock(rank):
    supervisor = rank.start("sleep", "60")
    pid = rank.note("running")["pid"]
    assert processes.start_time(pid) == rank.note("running")["start_time"]
    with (rank.folder / "alive").open() as alive:
        with pytest.raises(BlockingIOError):
            fcntl.flock(alive, fcntl.LOCK_EX | fcntl.LOCK_NB)
        supervisor.kill()
        supervisor.wait()
        wait_for(lambda: processes.start_time(pid) is None)
        fcntl.flock(alive, fcntl.LOCK_EX | fcntl.LOCK_NB)
    assert not (rank.folder / "end").exists()


def test_a_second_supervisor_on_a_folder_runs_nothing(rank):
    supervisor = rank.start("sleep", "60")
    started = rank.note("started")
    assert started["supervisor_pid"] == supervisor.pid
    assert started["supervisor_start_time"] == processes.start_time(supervisor.pid)
    assert started["boot_id"] == processes.boot_id()
    assert rank.start("touch", str(rank.folder / "ran-twice")).wait(10) == 3
    rank.stop(0)
    assert supervisor.wait(10) == 0
    assert rank.start("touch", str(rank.folder / "ran-twice")).wait(10) == 5
    assert "ran-twice" not in rank.files()
    assert rank.note("started") == started


@pytest.mark.parametrize(
    "stdin",
    [
        b"",
        b"\0\0",
        (99).to_bytes(8, "big") + b'{"command": [',
        (2).to_bytes(8, "big") + b"{}",
        b"\xff" * 99,
        (1).to_bytes(8, "big") + b"[",
    ],
)
def test_a_short_or_bad_spec_starts_nothing_and_spends_nothing(rank, stdin):
    assert rank.send(stdin).wait(10) == 4
    assert "started" not in rank.files()
    assert rank.run("true")["exit_code"] == 0


def test_a_spec_of_another_folder_is_a_bad_spec(rank):
    assert rank.start("true", rank_folder="/tmp").wait(10) == 4
    assert "started" not in rank.files()


def test_without_an_argument_the_spec_says_the_folder(rank):
    rank.arguments = []
    assert rank.run("true")["exit_code"] == 0
    assert rank.start("true").wait(10) == 5


def test_a_secret_too_short_to_mask_is_a_bad_spec(rank):
    assert rank.start("true", secrets=["short"]).wait(10) == 4
    assert "started" not in rank.files()


# -- surroundings ----------------------------------------------------------------------------------


def test_the_environment_is_the_one_given(rank):
    rank.run("/usr/bin/env", "-0", environment={"A": "1\n2", "PATH": "/bin"})
    assert sorted(rank.log().split(b"\0")[:-1]) == [b"A=1\n2", b"PATH=/bin", b"PYTHONUNBUFFERED=1"]


def test_pythonunbuffered_is_left_as_it_is_set(rank):
    rank.run("/usr/bin/env", environment={"PYTHONUNBUFFERED": ""})
    assert rank.log() == b"PYTHONUNBUFFERED=\n"


def test_the_command_blocks_and_ignores_no_signal(rank):
    rank.run("grep", "-E", "Sig(Blk|Ign)", "/proc/self/status")
    masks = [int(line.split()[1], 16) for line in rank.log().splitlines()]
    # Two real-time signals are the C library's own: nobody may set them, and who starts the tests may have.
    ours = sum(1 << (number - 1) for number in signal.valid_signals())
    assert [mask & ours for mask in masks] == [0, 0]


def test_the_command_leads_a_session_with_nothing_open_and_goes_first_when_memory_is_out(rank):
    script = """
import os
print(os.getsid(0) == os.getpgid(0) == os.getpid(), os.listdir("/proc/self/fd"), os.readlink("/proc/self/fd/0"))
print(open("/proc/self/oom_score_adj").read().strip(), os.getcwd())
"""
    rank.run(*python(script), cwd="/usr")
    assert rank.log() == b"True ['0', '1', '2', '3'] /dev/null\n500 /usr\n"  # 3 is the listing itself


@pytest.mark.skipif(os.geteuid() != 0, reason="only root becomes someone else")
def test_another_user_has_no_group_of_root_and_still_dies_with_its_supervisor(rank):
    supervisor = rank.start("sh", "-c", "id -u; id -G; exec sleep 60", uid=65534, gid=65534)
    rank.wait_for_log(b"65534\n65534\n")
    supervisor.kill()
    wait_for(lambda: rank.processes() == [])


def test_a_supervisor_is_small_and_outlives_its_parent(rank):
    supervisor = rank.start("sleep", "60")
    rank.note("running")
    status = Path(f"/proc/{supervisor.pid}/status").read_text()
    rss_kib = int(status.partition("VmRSS:")[2].split()[0])
    assert rss_kib < 20 * 1024
    assert os.getsid(supervisor.pid) == supervisor.pid


def test_it_runs_on_the_oldest_python_of_the_hosts(rank):
    pyenv = Path("/root/.pyenv/versions/3.10.13/bin/python")
    python310 = str(pyenv) if pyenv.exists() else shutil.which("python3.10")
    if python310 is None:
        pytest.skip("no Python 3.10 here")
    modules = [path.stem for path in SUPERVISOR.parent.glob("*.py") if path.stem in OURS]
    imports = "; ".join(f"import agent.{module}" for module in sorted(modules))
    command = [python310, "-I", "-S", "-B", "-c", f"import sys; sys.path.append({str(SUPERVISOR.parents[1])!r}); {imports}"]
    subprocess.run(command, check=True)
    assert set(modules) == OURS


OURS = {"child", "command", "ending", "masking", "notes", "output", "processes", "spool", "spool_writer", "supervisor", "watch"}


def fifo(rank: Rank) -> Path:
    path = rank.folder.parent / "fifo"
    if not path.exists():
        os.mkfifo(path)
    return path
