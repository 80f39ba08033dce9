from __future__ import annotations

import hashlib
import io
import os
import tarfile
from pathlib import Path

import pytest

from agent import sources
from agent.sources import BadArchive


def archive(*entries: tarfile.TarInfo | tuple[str, bytes]) -> bytes:
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w:gz") as tar:
        for entry in entries:
            if isinstance(entry, tarfile.TarInfo):
                tar.addfile(entry)
            else:
                info = tarfile.TarInfo(entry[0])
                info.size = len(entry[1])
                tar.addfile(info, io.BytesIO(entry[1]))
    return plain.getvalue()


def link(name: str, to: str, kind: bytes = tarfile.SYMTYPE) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, to
    return info


def test_a_source_is_fetched_once_and_copied_for_each_rank(tmp_path: Path):
    data = archive(("train.py", b"print(1)"), ("data/a.txt", b"a"))
    digest = hashlib.sha256(data).hexdigest()
    asked: list[str] = []

    def fetch(digest: str) -> bytes:
        asked.append(digest)
        return data

    for name in ("one", "two"):
        sources.provide(tmp_path / "sources", digest, fetch, tmp_path / name)
        assert (tmp_path / name / "train.py").read_bytes() == b"print(1)"
        assert (tmp_path / name / "data" / "a.txt").read_bytes() == b"a"
    assert asked == [digest]


def test_what_nobody_has_used_for_a_week_goes_and_is_fetched_again(tmp_path: Path):
    root, data = tmp_path / "sources", {}
    for name in ("old", "used"):
        packed = archive((f"{name}.py", b"1"))
        data[hashlib.sha256(packed).hexdigest()] = packed
    old, used = data
    for digest in data:
        sources.provide(root, digest, data.__getitem__, tmp_path / digest)
    now_s = (root / used).stat().st_mtime
    (root / f"{old}.77.1.part").mkdir()
    for path in root.iterdir():
        os.utime(path, (0, now_s - sources.UNUSED_S - 1))
    sources.provide(root, used, data.__getitem__, tmp_path / "again")
    sources.drop_unused(root, now_s=now_s)
    assert [path.name for path in root.iterdir()] == [used]
    sources.provide(root, old, data.__getitem__, tmp_path / "anew")
    assert (tmp_path / "anew" / "old.py").exists()
    sources.drop_unused(tmp_path / "none", now_s=now_s)


def test_an_archive_that_is_not_the_one_asked_for_is_refused(tmp_path: Path):
    with pytest.raises(BadArchive, match="not the one"):
        sources.provide(tmp_path / "sources", "0" * 64, lambda _: archive(("a", b"a")), tmp_path / "one")
    assert not (tmp_path / "one").exists()


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (archive(("../out", b"x")), "outside"),
        (archive(("/etc/out", b"x")), "outside"),
        (archive(("a/../../out", b"x")), "outside"),
        (archive(link("a", "/etc/passwd")), "neither"),
        (archive(link("a", "b", tarfile.LNKTYPE)), "neither"),
        (b"no archive", "cannot be read"),
        (archive(("a", b"x" * 1000))[:-20], "cannot be read"),
    ],
    ids=["parent", "absolute", "hidden-parent", "symlink", "hard-link", "no-archive", "cut-off"],
)
def test_an_archive_that_reaches_out_or_is_broken_leaves_nothing(tmp_path: Path, data, words):
    with pytest.raises(BadArchive, match=words):
        sources.unpack(data, tmp_path / "into")
    assert list(tmp_path.iterdir()) == []


def test_an_archive_that_is_too_large_unpacked_is_refused(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(sources, "MOST_UNPACKED_BYTES", 100)
    with pytest.raises(BadArchive, match="more than"):
        sources.unpack(archive(("a", b"x" * 60), ("b", b"x" * 60)), tmp_path / "into")
