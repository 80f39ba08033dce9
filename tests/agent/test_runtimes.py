from __future__ import annotations

import fcntl
import json
import os
import time
from pathlib import Path

import pytest

from agent.runtimes import Runtimes

ONE, TWO, THREE = ("1" * 64, "2" * 64, "3" * 64)


class Launches(list):
    def __call__(self, spec: dict) -> None:
        self.append(spec)


@pytest.fixture
def launches() -> Launches:
    return Launches()


@pytest.fixture
def runtimes(tmp_path: Path, launches) -> Runtimes:
    return Runtimes(tmp_path / "runtimes", fetch=lambda digest: f"six=={digest[0]}\n", launch=launches, wake="", most_bytes=100)


def built(runtimes: Runtimes, digest: str, *, size_bytes: int = 50, used_s_ago: float = 0) -> Path:
    folder = runtimes._root / digest
    (folder / "venv" / "bin").mkdir(parents=True)
    (folder / "ready").write_text(json.dumps({"at_ms": 0, "size_bytes": size_bytes}))
    (folder / "used").touch()
    os.utime(folder / "used", (time.time() - used_s_ago,) * 2)
    return folder


def hold(folder: Path) -> int:
    """A supervisor lives there."""
    alive = os.open(folder / "alive", os.O_RDWR | os.O_CREAT)
    fcntl.flock(alive, fcntl.LOCK_EX)
    return alive


def test_what_is_wanted_is_built_from_the_panels_list(runtimes, launches):
    build = runtimes.want(ONE)
    assert (runtimes._root / ONE / "requirements.txt").read_text() == "six==1\n"
    (spec,) = launches
    assert spec["rank_folder"] == str(build.folder)
    assert spec["command"][1:] == ["-m", "agent", "build", str(runtimes._root / ONE)]
    assert not [name for name in spec["environment"] if name.startswith("PANEL_")]


def test_a_build_that_begins_or_runs_is_not_begun_again(runtimes, launches):
    build = runtimes.want(ONE)
    assert runtimes.want(ONE) == build
    alive = hold(build.folder)
    (build.folder / "started").touch()
    assert runtimes.want(ONE) == build
    assert len(launches) == 1
    os.close(alive)
    assert runtimes.want(ONE).folder.name == "2"  # it was lost
    assert len(launches) == 2


def test_what_stands_here_is_told_the_last_used_first(runtimes):
    built(runtimes, ONE, size_bytes=10, used_s_ago=1000)
    built(runtimes, TWO, size_bytes=20)
    runtimes.want(THREE)  # only begun
    (runtimes._root / "lost+found").mkdir()
    assert [(one.digest, one.size_bytes) for one in runtimes.built()] == [(TWO, 20), (ONE, 10)]
    assert abs(runtimes.built()[1].used_ms / 1000 - (time.time() - 1000)) < 60


def test_what_is_built_is_found_and_counts_as_used(runtimes):
    assert runtimes.find(ONE) is None
    folder = built(runtimes, ONE, used_s_ago=1000)
    assert runtimes.find(ONE) == folder / "venv" / "bin"
    assert time.time() - (folder / "used").stat().st_mtime < 100


def test_a_build_that_nobody_waits_for_is_stopped_once(runtimes):
    build, other = runtimes.want(ONE), runtimes.want(TWO)
    locks = [hold(build.folder), hold(other.folder)]
    runtimes.end_unwanted([TWO])
    assert json.loads((build.folder / "stop").read_text())["grace_s"] > 0
    assert not (other.folder / "stop").exists()
    for lock in locks:
        os.close(lock)


def test_the_longest_unused_goes_first_and_what_is_in_use_stays(runtimes):
    built(runtimes, ONE, used_s_ago=300)
    built(runtimes, TWO, used_s_ago=200)
    built(runtimes, THREE, used_s_ago=100)
    assert runtimes.drop_old([ONE]) == [TWO]
    assert sorted(path.name for path in runtimes._root.iterdir()) == [ONE, THREE]
    assert runtimes.drop_old([]) == []


@pytest.mark.parametrize("digest", ["..", "a/b", "", "x" * 64])
def test_only_a_digest_names_a_folder(runtimes, digest):
    with pytest.raises(ValueError, match="not a digest"):
        runtimes.find(digest)
