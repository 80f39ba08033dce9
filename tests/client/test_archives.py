"""A folder that is brought to the panel: what is in it, and the same each time."""

from __future__ import annotations

import io
import os
import tarfile

import pytest

from tpu_panel import archives
from tpu_panel.errors import PanelError


@pytest.fixture
def code(tmp_path):
    folder = tmp_path / "code"
    for name in ("train.py", "lib/model.py", ".git/HEAD", ".venv/bin/python", "lib/__pycache__/x.pyc", "old.pyc", ".env.example"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name)
    (folder / "train.py").chmod(0o755)
    (folder / "link").symlink_to("train.py")
    os.mkfifo(folder / "pipe")
    return folder


def opened(data: bytes) -> tarfile.TarFile:
    return tarfile.open(fileobj=io.BytesIO(data))


def test_a_folder_is_packed_without_what_nobody_runs(code):
    name, data = archives.packed(code)
    assert name == "code.tar.gz"
    with opened(data) as archive:
        assert archive.getnames() == [".env.example", "lib/model.py", "link", "train.py"]
        assert archive.extractfile("lib/model.py").read() == b"lib/model.py"
        assert archive.getmember("train.py").mode & 0o111
        assert archive.getmember("link").linkname == "train.py"
        assert {(m.mtime, m.uid, m.uname) for m in archive} == {(0, 0, "")}


def test_the_same_files_are_the_same_archive(code):
    _name, first = archives.packed(code)
    os.utime(code / "train.py", (1, 1))
    assert archives.packed(code)[1] == first
    (code / "train.py").write_text("changed")
    assert archives.packed(code)[1] != first


def test_the_present_folder_has_a_name(code, monkeypatch):
    monkeypatch.chdir(code)
    assert archives.packed(archives.Path("."))[0] == "code.tar.gz"


def test_a_file_is_brought_as_it_is(tmp_path):
    (tmp_path / "code.zip").write_bytes(b"PK")
    assert archives.packed(tmp_path / "code.zip") == ("code.zip", b"PK")


def test_what_cannot_be_brought_is_told(tmp_path, monkeypatch, code):
    (tmp_path / "empty").mkdir()
    for path, words in ((tmp_path / "none", "cannot be read"), (tmp_path / "empty", "There is no file in")):
        with pytest.raises(PanelError, match=words):
            archives.packed(path)
    monkeypatch.setattr(archives, "MOST_BYTES", 10)
    with pytest.raises(PanelError, match="data belongs elsewhere"):
        archives.packed(code)
