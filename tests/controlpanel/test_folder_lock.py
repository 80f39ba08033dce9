"""Two panels never share a state folder."""

from __future__ import annotations

import os
import threading

import pytest

from controlpanel.folder_lock import FolderLock, InUse


def test_a_second_panel_is_told_of_the_first(tmp_path):
    first = FolderLock(tmp_path, url="http://127.0.0.1:8000", wait_s=0)
    with pytest.raises(InUse, match=rf"runs already, at http://127.0.0.1:8000 \(process {os.getpid()}\)"):
        FolderLock(tmp_path, url="http://127.0.0.1:8001", wait_s=5)  # which does not wait for one that runs
    del first
    FolderLock(tmp_path, url="http://127.0.0.1:8001", wait_s=0)


def test_one_that_is_ending_is_waited_for(tmp_path):
    first = [FolderLock(tmp_path, url="http://127.0.0.1:8000", wait_s=0)]
    first[0].ending()
    end = threading.Timer(0.5, first.clear)
    end.start()
    FolderLock(tmp_path, url="http://127.0.0.1:8001", wait_s=20)
    end.join()
    assert first == []


def test_what_a_panel_left_behind_locks_nothing(tmp_path):
    (tmp_path / "up.lock").write_text('{"url": "http://127.0.0.1:1", "pid": 1, "is_ending": false}')
    FolderLock(tmp_path, url="http://127.0.0.1:8000", wait_s=0)
    assert "8000" in (tmp_path / "up.lock").read_text()
