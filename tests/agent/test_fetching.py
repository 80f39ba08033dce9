"""Files on their way to the panel: piece by piece, in turn, and never one that lies elsewhere."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from agent import fetching, notes
from agent.fetching import Fetching, Unfit, open_file
from agent.home import Home
from agent.panel import Refused, Unreachable
from agent.protocol import shown_name

PIECE = 4


class Panel:
    """The other end: stores by offset, and may refuse or be away."""

    def __init__(self) -> None:
        self.stored: dict[int, bytes] = {}
        self.turns: list[int] = []
        self.failures: list[tuple[int, str, bool]] = []
        self.trouble: Exception | None = None

    def bring(self, fetch_id: int, data: bytes, offset: int, size_bytes: int) -> int | None:
        if self.trouble:
            raise self.trouble
        self.turns.append(fetch_id)
        have = b"" if offset == 0 else self.stored.get(fetch_id, b"")
        if offset != len(have):
            return len(have)
        self.stored[fetch_id] = have + data
        return None if len(have + data) == size_bytes else len(have + data)

    def refuse(self, fetch_id: int, sentence: str, is_gone: bool) -> None:
        if self.trouble:
            raise self.trouble
        self.failures.append((fetch_id, sentence, is_gone))


@pytest.fixture
def panel(monkeypatch) -> Panel:
    monkeypatch.setattr(fetching, "FETCH_PIECE_BYTES", PIECE)
    monkeypatch.setattr(fetching, "LONGEST_WAIT_S", 0.0)
    return Panel()


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "state")


@pytest.fixture
def folder(home: Home) -> Path:
    folder = home.path / "files" / "vit" / "17" / "1"
    folder.mkdir(parents=True)
    return folder


def an_agent(home: Home, panel: Panel) -> Fetching:
    return Fetching(home, bring=panel.bring, refuse=panel.refuse)


def wanted(home: Home, fetch_id: int, path: str = "model.bin", *, files_root: str = "", folder: str = "vit/17/1") -> None:
    home.note_fetch(fetch_id, {"files_root": files_root, "folder": folder, "path": path})


def left(home: Home) -> list[int]:
    return [fetch_id for fetch_id, _note in home.fetch_notes()]


def work(agent: Fetching) -> None:
    for _ in range(100):
        if not agent.tick():
            return
    raise AssertionError("no end")


def test_a_file_is_brought_and_its_note_goes(home, folder, panel):
    (folder / "model.bin").write_bytes(b"0123456789")
    (folder / "empty").write_bytes(b"")
    wanted(home, 17)
    wanted(home, 18, "empty")
    work(an_agent(home, panel))
    assert (panel.stored, left(home), panel.failures) == ({17: b"0123456789", 18: b""}, [], [])


def test_several_are_brought_in_turn(home, folder, panel):
    for name in ("a", "b"):
        (folder / name).write_bytes(name.encode() * 10)
    wanted(home, 17, "a")
    wanted(home, 18, "b")
    work(an_agent(home, panel))
    assert panel.turns == [17, 18] * 3
    assert panel.stored == {17: b"a" * 10, 18: b"b" * 10}


def test_the_same_order_again_changes_nothing(home, folder, panel):
    (folder / "model.bin").write_bytes(b"0123456789")
    for _ in range(2):
        wanted(home, 17)
    agent = an_agent(home, panel)
    agent.tick()
    wanted(home, 17)
    work(agent)
    assert (panel.stored, panel.turns) == ({17: b"0123456789"}, [17] * 3)


def test_what_is_put_in_its_place_meanwhile_is_not_mixed_in(home, folder, panel):
    (folder / "model.bin").write_bytes(b"0123456789")
    wanted(home, 17)
    agent = an_agent(home, panel)
    agent.tick()
    (folder / "new").write_bytes(b"abcdefghij")
    (folder / "new").replace(folder / "model.bin")
    work(agent)
    assert panel.stored == {17: b"0123456789"}


def test_a_file_that_grows_is_brought_as_long_as_it_was(home, folder, panel):
    (folder / "model.bin").write_bytes(b"0123456789")
    wanted(home, 17)
    agent = an_agent(home, panel)
    agent.tick()
    with (folder / "model.bin").open("ab") as file:
        file.write(b"more")
    work(agent)
    assert panel.stored == {17: b"0123456789"}


def test_a_file_that_shrinks_is_given_up(home, folder, panel):
    (folder / "model.bin").write_bytes(b"0123456789")
    wanted(home, 17)
    agent = an_agent(home, panel)
    agent.tick()
    os.truncate(folder / "model.bin", 6)
    work(agent)
    assert panel.failures == [(17, "The file became shorter while it was read. Ask for it again.", False)]
    assert left(home) == []


def test_a_file_that_is_gone_is_said_to_be(home, folder, panel):
    wanted(home, 17)
    wanted(home, 18, folder="vit/99/1")
    work(an_agent(home, panel))
    assert panel.failures == [(17, "The file is no longer there.", True), (18, "The file is no longer there.", True)]
    assert left(home) == []


def test_a_new_agent_begins_anew(home, folder, panel):
    (folder / "model.bin").write_bytes(b"0123456789")
    wanted(home, 17)
    an_agent(home, panel).tick()
    (folder / "model.bin").write_bytes(b"abcdefghij")
    work(an_agent(home, panel))
    assert panel.stored == {17: b"abcdefghij"}


def test_a_panel_that_wants_another_offset_gets_it(home, folder, panel):
    (folder / "model.bin").write_bytes(b"0123456789")
    wanted(home, 17)
    agent = an_agent(home, panel)
    agent.tick()
    agent.tick()
    panel.stored[17] = b"0123"
    work(agent)
    assert panel.stored == {17: b"0123456789"}


@pytest.mark.parametrize(
    "trouble", [Unreachable("away"), Refused(409, "session-over", "over"), Refused(401, "host-unknown", "who")]
)
def test_a_panel_that_is_away_is_tried_again(home, folder, panel, trouble):
    (folder / "model.bin").write_bytes(b"0123456789")
    wanted(home, 17)
    wanted(home, 18, "gone")
    agent = an_agent(home, panel)
    panel.trouble = trouble
    for _ in range(3):
        assert not agent.tick()
    assert (left(home), panel.stored) == ([17, 18], {})
    panel.trouble = None
    work(agent)
    assert (left(home), panel.stored, len(panel.failures)) == ([], {17: b"0123456789"}, 1)


@pytest.mark.parametrize("status", [404, 410])
def test_what_the_panel_does_not_want_any_more_is_let_go(home, folder, panel, status):
    (folder / "model.bin").write_bytes(b"0123456789")
    wanted(home, 17)
    agent = an_agent(home, panel)
    agent.tick()
    panel.trouble = Refused(status, "fetch-over", "over")
    work(agent)
    assert (left(home), agent._open) == ([], {})


def test_a_broken_note_holds_up_no_other(home, folder, panel):
    (folder / "model.bin").write_bytes(b"0123456789")
    wanted(home, 16)
    (home.fetches / "16").write_bytes(b"")
    wanted(home, 17)
    work(an_agent(home, panel))
    assert (panel.stored, left(home)) == ({17: b"0123456789"}, [])


def test_the_thread_is_woken_and_ends(home, folder, panel):
    agent, stop = an_agent(home, panel), threading.Event()
    thread = threading.Thread(target=agent.run, args=(stop,))
    thread.start()
    (folder / "model.bin").write_bytes(b"0123456789")
    wanted(home, 17)
    agent.woken.set()
    thread.join(0.01)
    for _ in range(500):
        if not left(home):
            break
        thread.join(0.01)
    stop.set()
    agent.woken.set()
    thread.join(5)
    assert (panel.stored, thread.is_alive()) == ({17: b"0123456789"}, False)


# -- Where it may lie ------------------------------------------------------------------------------------------


def read(root: Path, **place: object) -> bytes:
    file = open_file(root, {"folder": "vit/17/1", "path": "model.bin"} | place)
    try:
        return file.read()
    finally:
        file.close()


def test_the_files_root_is_the_clusters_or_the_agents_own(home, folder, panel, tmp_path):
    (folder / "model.bin").write_bytes(b"own")
    (tmp_path / "shared" / "vit" / "17" / "1").mkdir(parents=True)
    (tmp_path / "shared" / "vit" / "17" / "1" / "model.bin").write_bytes(b"all")
    assert read(home.path / "files") == b"own"
    assert read(home.path / "files", files_root=str(tmp_path / "shared")) == b"all"
    assert read(home.path / "files", folder="vit/17", path="1/model.bin") == b"own"


@pytest.mark.parametrize(
    "place",
    [
        {"path": "../../../../secret"},
        {"path": "../2/other"},
        {"path": "a/../../2/other"},
        {"path": "/etc/passwd"},
        {"path": ""},
        {"path": "."},
        {"folder": "", "path": "vit/17/2/other"},
        {"folder": "..", "path": "secret"},
        {"folder": "/etc", "path": "passwd"},
        {"path": "to-secret"},
        {"path": "to-other"},
        {"path": "to-folder/other"},
        {"folder": "vit/17/elsewhere", "path": "secret"},
        {"path": "sub"},
        {"path": "pipe"},
        {"path": "round/x"},
    ],
)
def test_nothing_outside_its_own_folder_is_opened(home, folder, panel, place):
    (home.path / "secret").write_bytes(b"secret")
    (folder.parent / "2").mkdir()
    (folder.parent / "2" / "other").write_bytes(b"of another attempt")
    (folder.parent / "elsewhere").symlink_to(home.path)
    (folder / "to-secret").symlink_to(home.path / "secret")
    (folder / "to-other").symlink_to("../2/other")
    (folder / "to-folder").symlink_to(folder.parent / "2")
    (folder / "round").symlink_to("round")
    (folder / "sub").mkdir()
    os.mkfifo(folder / "pipe")
    with pytest.raises(Unfit):
        read(home.path / "files", **place)


def test_a_link_within_the_folder_leads_to_what_it_names(home, folder, panel):
    (folder / "model-3.bin").write_bytes(b"xyz")
    (folder / "model.bin").symlink_to("model-3.bin")
    assert read(home.path / "files") == b"xyz"


@pytest.mark.parametrize("name", [b"caf\xe9", b"new\nline", "x\u202egnp.exe".encode(), rb"caf\xe9"])
def test_a_file_is_found_by_the_name_that_it_is_shown_by(home, folder, panel, name):
    below = os.fsencode(folder) + b"/\xe9"
    os.mkdir(below)  # noqa: PTH102  a name of bytes
    with open(below + b"/" + name, "wb") as file:  # noqa: PTH123
        file.write(b"mine")
    assert read(home.path / "files", path=r"\xe9/" + shown_name(os.fsdecode(name))) == b"mine"


def test_what_bears_the_shown_name_itself_goes_first(home, folder, panel):
    (folder / "a\n").write_bytes(b"esc")
    (folder / r"a\n").write_bytes(b"own")
    assert read(home.path / "files", path=r"a\n") == b"own"


def test_a_shown_name_leads_no_further_than_any_other(home, folder, panel):
    (home.path / "secret").write_bytes(b"secret")
    (folder / "to\nfolder").symlink_to(home.path)
    (folder / "to\nsecret").symlink_to(home.path / "secret")
    for path in (r"to\nfolder/secret", r"to\nsecret"):
        with pytest.raises(Unfit, match="leads out"):
            read(home.path / "files", path=path)
    for path in (r"no\nfolder/secret", r"no\nfile"):
        with pytest.raises(Unfit, match="no longer there"):
            read(home.path / "files", path=path)


def test_a_place_that_became_a_link_after_it_was_looked_at_is_refused(home, folder, panel, monkeypatch):
    """The descriptor says where the file was really found."""
    (folder / "model.bin").write_bytes(b"fine")
    (home.path / "sub").mkdir()
    (home.path / "sub" / "model.bin").write_bytes(b"secret")
    real = fetching._open

    def slow(path: str, inside: str) -> int:
        (folder / "model.bin").unlink()
        folder.rmdir()
        folder.symlink_to(home.path / "sub")
        return real(path, inside)

    monkeypatch.setattr(fetching, "_open", slow)
    with pytest.raises(Unfit):
        read(home.path / "files")


def test_a_note_says_where_the_file_lies(home):
    wanted(home, 17, "a/b", files_root="/shared")
    assert notes.read(str(home.fetches / "17")) == {"files_root": "/shared", "folder": "vit/17/1", "path": "a/b"}
    (home.fetches / "17.1.part").write_bytes(b"")
    assert left(home) == [17]
