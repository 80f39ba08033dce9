"""Which files a rank writes, as its `files` file tells the panel."""

from __future__ import annotations

import os
from pathlib import Path
from uuid import uuid4

import pytest

from agent import listing, protocol
from agent.folders import WorkloadFolder
from agent.home import Home
from agent.listing import FileList, Listing
from agent.protocol import ENDED, MORE_FILES, FileLine, RankReport

MODIFIED_MS = 1_700_000_000_123


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "state")


@pytest.fixture
def places(tmp_path: Path) -> dict[str, str]:
    for area in protocol.AREAS:
        (tmp_path / "files" / area).mkdir(parents=True)
    return {area: str(tmp_path / "files" / area) for area in protocol.AREAS}


@pytest.fixture
def folder(home: Home, places: dict[str, str]) -> WorkloadFolder:
    folder = WorkloadFolder(home.workloads / str(uuid4()))
    folder.note_start(0)
    folder.note_claim({"rank": 0, "files": places})
    return folder


@pytest.fixture
def output(places: dict[str, str]) -> Path:
    return Path(places["output"])


def written(path: Path, data: bytes = b"x", modified_ms: int = MODIFIED_MS) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    os.utime(path, ns=(modified_ms * 1_000_000, modified_ms * 1_000_000))
    return path


def told(folder: WorkloadFolder) -> list[FileLine]:
    """All lines so far."""
    path = folder.path / "files"
    return [FileLine.from_line(line) for line in path.read_bytes().splitlines(keepends=True)] if path.exists() else []


def test_files_are_told_as_they_appear_with_their_size_and_time(folder, places, output):
    files = FileList(folder)
    assert not files.look(now_s=0)
    written(output / "model.bin", b"12345")
    written(output / "deep" / "er" / "log.txt")
    written(Path(places["checkpoints"]) / "ckpt-1", b"123")
    assert files.look(now_s=2)
    assert sorted(told(folder), key=lambda line: (line.area, line.path)) == [
        FileLine("checkpoints", "ckpt-1", 3, MODIFIED_MS),
        FileLine("output", "deep/er/log.txt", 1, MODIFIED_MS),
        FileLine("output", "model.bin", 5, MODIFIED_MS),
    ]
    assert not files.look(now_s=4)


def test_a_file_that_keeps_growing_is_told_ever_less_often_but_its_end_at_once(folder, output):
    files = FileList(folder)
    told_at = []
    for second in range(100):
        written(output / "log", b"x" * (second + 1))
        if files.look(now_s=float(second)):
            told_at.append(second)
    assert told_at == [0, 5, 15, 35, 75]
    assert files.look(now_s=99.0, is_last=True)
    assert told(folder)[-1].size_bytes == 100


def test_a_file_that_rested_is_told_soon_when_it_grows_again(folder, output):
    files = FileList(folder)
    for second, size in ((0, 1), (10, 2), (30, 3), (31, 3)):
        written(output / "log", b"x" * size)
        files.look(now_s=float(second))
    written(output / "log", b"x" * 4)
    assert files.look(now_s=35.0)
    assert [line.size_bytes for line in told(folder)] == [1, 2, 3, 4]


def test_what_vanishes_is_told_once_and_may_come_again(folder, output):
    files = FileList(folder)
    path = written(output / "tmp")
    files.look(now_s=0)
    path.unlink()
    assert files.look(now_s=2) and not files.look(now_s=4)
    written(path)
    files.look(now_s=6)
    assert [line.gone for line in told(folder)] == [False, True, False]


def test_a_new_agent_tells_nothing_twice_and_goes_on(folder, output):
    written(output / "one")
    gone = written(output / "two")
    FileList(folder).look(now_s=0)
    before = len(told(folder))
    assert not FileList(folder).look(now_s=0)
    gone.unlink()
    written(output / "one", b"more")
    assert FileList(folder).look(now_s=0)
    assert told(folder)[before:] == [FileLine("output", "two", gone=True), FileLine("output", "one", 4, MODIFIED_MS)]


def test_half_a_line_that_a_power_cut_left_is_cut_off(folder, output):
    written(output / "one")
    FileList(folder).look(now_s=0)
    with (folder.path / "files").open("ab") as file:
        file.write(b'{"a":"output","p":"tw')
    written(output / "two")
    FileList(folder).look(now_s=0)
    assert [line.path for line in told(folder)] == ["one", "two"]


def test_links_are_neither_told_nor_followed(folder, output, tmp_path):
    secret = written(tmp_path / "elsewhere" / "secret")
    written(output / "real")
    (output / "to-a-file").symlink_to(secret)
    (output / "to-a-folder").symlink_to(secret.parent)
    (output / "inside").symlink_to(output / "real")
    (output / "round").symlink_to(output)
    os.mkfifo(output / "pipe")
    FileList(folder).look(now_s=0)
    assert [line.path for line in told(folder)] == ["real"]


def test_a_folder_that_became_a_link_shows_nothing_of_where_it_leads(folder, output, tmp_path):
    written(tmp_path / "elsewhere" / "secret")
    output.rmdir()
    output.symlink_to(tmp_path / "elsewhere")
    assert not FileList(folder).look(now_s=0)


def test_a_name_that_cannot_be_read_is_shown_escaped(folder, output):
    for name in (b"caf\xe9", b"caf\xe8", b"new\nline", "x\u202egnp.exe".encode(), "grün \N{SNOWMAN}".encode()):
        with open(os.fsencode(output) + b"/" + name, "wb"):  # noqa: PTH123  a name of bytes
            pass
    written(output / ("x" * 250) / ("y" * 250) / "z")
    FileList(folder).look(now_s=0)
    assert sorted(line.path for line in told(folder)) == [
        r"caf\xe8",
        r"caf\xe9",
        "grün \N{SNOWMAN}",
        r"new\nline",
        r"x\u202egnp.exe",
    ]


def test_more_files_than_are_told_is_said_once(folder, output, monkeypatch):
    monkeypatch.setattr(protocol, "MOST_FILES", 3)
    for number in range(5):
        written(output / str(number))
    files = FileList(folder)
    files.look(now_s=0)
    assert (len(told(folder)), told(folder)[-1]) == (4, MORE_FILES)
    assert not files.look(now_s=2)
    assert not FileList(folder).look(now_s=2)
    for number in range(5):
        (output / str(number)).unlink()
    written(output / "after")
    files.look(now_s=4)
    assert [line.path for line in told(folder)[-4:] if not line.gone] == ["after"]


def test_a_folder_that_cannot_be_read_makes_nothing_gone(folder, output, monkeypatch):
    written(output / "sub" / "one")
    files = FileList(folder)
    files.look(now_s=0)
    real = os.scandir

    def broken(path):
        if str(path).endswith("sub/"):
            raise OSError(5, "Input/output error")
        return real(path)

    monkeypatch.setattr(listing.os, "scandir", broken)
    assert not files.look(now_s=2)


# -- The thread ------------------------------------------------------------------------------------------------


def test_the_last_look_comes_after_the_end_and_then_all_is_listed(home, folder, output):
    woken: list[int] = []
    one = Listing(home, wake=lambda: woken.append(1))
    written(output / "early")
    one.tick()
    written(output / "late")
    one.tick()  # too soon to look again
    assert ([line.path for line in told(folder)], folder.is_listed()) == (["early"], False)
    folder.report(RankReport(ENDED, 1, cause="exited", exit_code=0))
    one.tick()
    assert ([line.path for line in told(folder)], folder.is_listed(), bool(woken)) == (["early", "late"], True, True)
    written(output / "after")
    one.tick()
    Listing(home, wake=lambda: None).tick()
    assert len(told(folder)) == 2


def test_a_rank_that_was_never_claimed_or_tells_of_no_files_is_listed_when_it_ends(home):
    for claim in (None, {"rank": 0}, {"rank": 0, "files": {}}):
        folder = WorkloadFolder(home.workloads / str(uuid4()))
        folder.note_start(0)
        if claim is not None:
            folder.note_claim(claim)
        folder.report(RankReport(ENDED, 1, cause="not-started"))
        Listing(home, wake=lambda: None).tick()
        assert (folder.is_listed(), told(folder)) == (True, [])


def test_a_broken_folder_holds_up_no_other(home, folder, output):
    bad = WorkloadFolder(home.workloads / "00000000-0000-7000-8000-000000000000")
    bad.note_start(0)
    (bad.path / "claim").write_bytes(b"")
    written(output / "one")
    one = Listing(home, wake=lambda: None)
    one.tick()
    assert [line.path for line in told(folder)] == ["one"]
    bad.report(RankReport(ENDED, 1, cause="not-started"))
    one.tick()
    assert bad.is_listed()


# -- The line --------------------------------------------------------------------------------------------------


def test_a_line_comes_back_as_it_was_written():
    for line in (FileLine("output", "a/ä b\n", 7, 9), FileLine("checkpoints", "x", gone=True), MORE_FILES):
        assert FileLine.from_line(line.line()) == line


@pytest.mark.parametrize(
    "line",
    [
        b"\n",
        b"[]\n",
        b"null\n",
        b'{"a":"output"}\n',
        b'{"a":"secrets","p":"x","s":1,"m":1}\n',
        b'{"a":"output","p":"x","s":-1,"m":1}\n',
        b'{"a":"output","p":"x","s":1e999,"m":1}\n',
        b'{"a":"output","p":"x","s":1,"m":999999999999999}\n',
        b'{"a":"output","p":7,"s":1,"m":1}\n',
        *(
            b'{"a":"output","p":"%s","s":1,"m":1}\n' % path
            for path in (b"../x", b"a/../../x", b"/etc/passwd", b"a//b", b"./a", b"a/", b"..", b"\\u0000", b"\\ud800", b"x" * 501)
        ),
    ],
)
def test_a_line_that_is_none_or_leads_out_is_refused(line):
    with pytest.raises(ValueError):
        FileLine.from_line(line)
