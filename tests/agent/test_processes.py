from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent import processes
from tests.road.world import until


@pytest.fixture
def parent() -> Iterator[subprocess.Popen[bytes]]:
    """A marked process with a child that has a session of its own, and a zombie. It prints the child's pid."""
    script = (
        "import os, subprocess, sys\n"
        "zombie = subprocess.Popen(['true'])\n"
        "os.waitid(os.P_PID, zombie.pid, os.WEXITED | os.WNOWAIT)\n"
        "child = subprocess.Popen(['sleep', '60'], start_new_session=True)\n"
        "print(child.pid, zombie.pid, flush=True)\n"
        "sys.stdin.read()\n"
        "child.kill()\n"
    )
    command = [sys.executable, "-c", script]
    started = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=os.environ | {"PANEL_WORKLOAD_ID": f"w-{os.getpid()}"}
    )
    yield started
    started.communicate()


def test_descendants_are_the_living_ones(parent):
    child, zombie = map(int, parent.stdout.readline().split())
    assert processes.children(parent.pid) == [child]
    assert set(processes.descendants(os.getpid())) >= {parent.pid, child}
    assert zombie not in processes.descendants(os.getpid())
    assert processes.start_time(zombie) is None


def test_marked_finds_the_workload_by_its_environment_but_not_by_part_of_its_name(parent):
    child, _ = map(int, parent.stdout.readline().split())
    assert processes.marked("PANEL_WORKLOAD_ID", f"w-{os.getpid()}") == sorted([parent.pid, child])
    assert processes.marked("PANEL_WORKLOAD_ID", f"w-{os.getpid()}"[:-1]) == []


def test_start_time_names_a_process(parent):
    began = processes.start_time(parent.pid)
    assert began is not None
    assert abs(began / os.sysconf("SC_CLK_TCK") - time.clock_gettime(time.CLOCK_BOOTTIME)) < 60
    assert processes.start_time(2**22 + 1) is None


def test_a_stopped_process_is_told_from_one_that_runs(parent):
    assert not processes.is_stopped(parent.pid)
    os.kill(parent.pid, signal.SIGSTOP)
    until(lambda: processes.is_stopped(parent.pid))
    os.kill(parent.pid, signal.SIGCONT)
    until(lambda: not processes.is_stopped(parent.pid))
    assert not processes.is_stopped(2**30)


def test_a_name_with_parentheses_and_spaces_is_read_right(tmp_path):
    _stat(tmp_path, 7, "evil) R 1 (x", "S", parent=3)
    assert processes.start_time(7, proc=tmp_path) == 4242
    assert processes.children(3, proc=tmp_path) == [7]


def test_descendants_go_through_generations_and_leave_out_who_vanished(tmp_path):
    _stat(tmp_path, 10, "a", "S", parent=1)
    _stat(tmp_path, 11, "b", "R", parent=10)
    _stat(tmp_path, 12, "c", "Z", parent=10)
    _stat(tmp_path, 9, "d", "S", parent=11)
    (tmp_path / "13").mkdir()  # ended between the listing and the look
    assert processes.descendants(1, proc=tmp_path) == [10, 11, 9]
    assert processes.descendants(9, proc=tmp_path) == []


def test_oom_kills_and_boot_id(tmp_path):
    vmstat = tmp_path / "vmstat"
    vmstat.write_text("nr_free_pages 5\noom_kill 3\noom_kill_other 9\n")
    assert processes.oom_kills(vmstat) == 3
    vmstat.write_text("nr_free_pages 5\n")
    assert processes.oom_kills(vmstat) == 0
    assert processes.boot_id() == Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def _stat(proc: Path, pid: int, name: str, state: str, *, parent: int) -> None:
    (proc / str(pid)).mkdir()
    (proc / str(pid) / "stat").write_text(f"{pid} ({name}) {state} {parent} " + "0 " * 17 + "4242 0 0\n")
