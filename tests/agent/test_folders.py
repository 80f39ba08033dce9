from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path
from uuid import uuid4

import pytest

from agent import folders, notes
from agent.folders import KEEP_DONE_S, WorkloadFolder, all_folders
from agent.protocol import ENDED, RUNNING, RankReport
from agent.spool import SpoolWriter

NOW_MS = 1_700_000_000_000


@pytest.fixture
def folder(tmp_path: Path) -> WorkloadFolder:
    path = tmp_path / str(uuid4())
    path.mkdir()
    return WorkloadFolder(path)


def die_in(step: str) -> None:
    """What `kill -9` in the middle of a note leaves: `step` of the os module is never done."""

    def die(*_: object) -> None:
        os._exit(9)

    setattr(os, step, die)


@pytest.mark.parametrize("step", ["pwrite", "ftruncate", "fsync", "link"])
def test_a_worker_killed_while_it_notes_an_order_leaves_none_and_the_next_one_can(folder, step):
    pid = os.fork()
    if pid == 0:
        die_in(step)
        folder.note_start(3)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 9
    assert folder.ordered_rank() is None
    folder.note_start(3)
    assert folder.ordered_rank() == 3


@pytest.mark.parametrize("step", ["pwrite", "ftruncate", "fsync", "link"])
def test_a_start_that_is_killed_while_it_is_taken_is_not_taken(folder, step):
    pid = os.fork()
    if pid == 0:
        die_in(step)
        folder.spend_start()
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 9
    assert folder.supervisor_note("started") is None
    assert folder.spend_start() is True


def test_the_first_start_order_stays(folder):
    folder.note_start(2)
    folder.note_start(5)
    assert folder.ordered_rank() == 2
    assert sorted(path.name for path in (folder.path / "orders").iterdir()) == ["start"]


def test_of_several_stops_the_smallest_grace_stays(folder):
    assert folder.stop_grace_s() is None
    for grace_s in (30, 5, 10):
        folder.note_stop(grace_s)
    assert folder.stop_grace_s() == 5


def test_a_stop_is_passed_to_the_supervisor_once_and_again_when_it_is_sharper(folder):
    folder.make_rank_folder()
    assert [folder.pass_stop(grace_s) for grace_s in (30, 30, 60, 0, 0)] == [True, False, False, True, False]
    assert notes.read(os.fspath(folder.rank_folder / "stop")) == {"grace_s": 0}


def test_the_one_start_is_spent_once(folder):
    assert [folder.spend_start() for _ in range(3)] == [True, False, False]
    started = folder.supervisor_note("started")
    assert started is not None
    assert started["by"] == "agent"


def test_a_supervisor_lives_while_its_lock_is_held(folder):
    assert not folder.is_supervised()
    folder.make_rank_folder()
    alive = os.open(folder.rank_folder / "alive", os.O_RDWR | os.O_CREAT)
    assert not folder.is_supervised()
    fcntl.flock(alive, fcntl.LOCK_EX)
    assert folder.is_supervised()
    os.close(alive)
    assert not folder.is_supervised()


def test_half_a_line_of_a_power_cut_is_cut_off_before_the_next(folder):
    running, ended = RankReport(RUNNING, NOW_MS), RankReport(ENDED, NOW_MS, cause="exited", exit_code=0)
    folder.report(running)
    with (folder.path / "states").open("ab") as states:
        states.write(b'{"state": "en')
    assert folder.last_report() == running
    assert not folder.has_ended()
    folder.report(ended)
    assert (folder.path / "states").read_bytes() == running.line() + ended.line()
    assert folder.has_ended()


def test_a_line_that_is_no_report_hides_none_before_it(folder):
    folder.report(RankReport(ENDED, NOW_MS, cause="exited", exit_code=0))
    with (folder.path / "states").open("ab") as states:
        states.write(b'not json\n{"state": "dancing"}\n[]\n')
    assert folder.has_ended()


def test_a_folder_without_reports_has_not_ended(folder):
    assert folder.last_report() is None
    assert not folder.has_ended()


def test_each_part_has_its_spool(folder):
    folder.make_rank_folder()
    for place, data in ((folder.rank_folder / "output", b"out"), (folder.path / "prepare", b"pre")):
        spool = SpoolWriter(place, cap_bytes=1 << 20)
        spool.write(data)
        spool.close()
    assert (folder.spool("output").read(0, 9), folder.spool("prepare").read(0, 9)) == (b"out", b"pre")


def test_a_folder_goes_an_hour_after_it_was_done(folder, monkeypatch):
    folder.note_start(0)
    folder.make_rank_folder()
    assert not folder.drop_if_old(time.time() + 10 * KEEP_DONE_S)  # not done
    monkeypatch.setattr(folders, "_now_ms", lambda: NOW_MS)
    folder.note_done()
    assert folder.is_done()
    assert not folder.drop_if_old(NOW_MS / 1000 + KEEP_DONE_S - 1)
    assert folder.path.exists()
    assert folder.drop_if_old(NOW_MS / 1000 + KEEP_DONE_S)
    assert not folder.path.exists()


def test_a_folder_whose_deletion_was_broken_off_is_deleted_by_the_next_look(folder, monkeypatch):
    folder.note_start(0)
    folder.note_done()
    (folder.path / "states").touch()
    with monkeypatch.context() as broken, pytest.raises(KeyboardInterrupt):
        broken.setattr(folders.shutil, "rmtree", interrupt)
        folder.drop_if_old(time.time() + 2 * KEEP_DONE_S)
    assert folder.is_done()
    assert folder.drop_if_old(time.time() + 2 * KEEP_DONE_S)
    assert not folder.path.exists()


def interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def test_all_folders_are_those_of_workloads_oldest_first(tmp_path):
    names = ["019a0000-0000-7000-8000-000000000002", "019a0000-0000-7000-8000-000000000001"]
    for name in (*names, "lost+found"):
        (tmp_path / name).mkdir()
    (tmp_path / "notes.txt").touch()
    assert [str(folder) for folder in all_folders(tmp_path)] == sorted(names)
