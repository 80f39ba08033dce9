"""What people upload: unpacked within its folder or refused with a sentence, and the same files are the same source."""

from __future__ import annotations

import io
import tarfile
import zipfile
from pathlib import Path

import pytest
from django.core.files.storage import storages

from clusters import archives, sources
from clusters.models import Source, Upload
from projects.actors import Actor
from projects.errors import Invalid
from projects.models import AuditEntry
from tests.factories import NOON, a_project, a_user


@pytest.fixture(autouse=True)
def _storage(settings, tmp_path):
    location = {"location": tmp_path / "files"}
    settings.STORAGES = settings.STORAGES | {
        "default": {"BACKEND": "django.core.files.storage.FileSystemStorage", "OPTIONS": location}
    }


def entry(name, content=b"", *, kind=tarfile.REGTYPE, link="", mode=0o644):
    made = tarfile.TarInfo(name)
    made.size, made.type, made.linkname, made.mode = len(content), kind, link, mode
    return made, content


def a_tar(*entries, mode="w:gz"):
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode=mode) as archive:
        for made, content in entries:
            archive.addfile(made, io.BytesIO(content))
    file.seek(0)
    return file


def a_zip(files):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    file.seek(0)
    return file


def unpacked(file, tmp_path):
    """Path -> content of what came out."""
    into = tmp_path / "into"
    into.mkdir()
    archives.unpacked(file, into)
    return {str(path.relative_to(into)): path.read_bytes() for path in into.rglob("*") if path.is_file()}


CODE = entry("code/train.py", b"print(1)\n"), entry("code/run.sh", b"#!/bin/sh\n", mode=0o755)


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:bz2", "w:xz"])
def test_a_tar_is_unpacked_however_it_is_compressed(tmp_path, mode):
    assert unpacked(a_tar(*CODE, mode=mode), tmp_path) == {"code/train.py": b"print(1)\n", "code/run.sh": b"#!/bin/sh\n"}
    assert (tmp_path / "into/code/run.sh").stat().st_mode & 0o111


def test_a_zip_is_unpacked(tmp_path):
    assert unpacked(a_zip({"code/train.py": b"print(1)\n", "a\\b": b"c"}), tmp_path) == {
        "code/train.py": b"print(1)\n",
        "a/b": b"c",
    }


def test_a_link_within_the_folder_becomes_the_file_that_it_leads_to(tmp_path):
    links = entry("latest.py", kind=tarfile.SYMTYPE, link="code/train.py"), entry("x", kind=tarfile.LNKTYPE, link="code/train.py")
    found = unpacked(a_tar(*links, *CODE), tmp_path)
    assert (found["latest.py"], found["x"]) == (b"print(1)\n", b"print(1)\n")


LEADS_OUT = {
    "dots": a_tar(entry("../evil", b"x")),
    "dots within": a_tar(entry("a/../../evil", b"x")),
    "absolute": a_tar(entry("/tmp/evil", b"x")),
    "link": a_tar(entry("l", kind=tarfile.SYMTYPE, link="/etc/passwd")),
    "link up": a_tar(entry("a/l", kind=tarfile.SYMTYPE, link="../../etc/passwd")),
    "hard link": a_tar(entry("l", kind=tarfile.LNKTYPE, link="../etc/passwd")),
    "link by link": a_tar(entry("d", kind=tarfile.SYMTYPE, link="."), entry("e", kind=tarfile.SYMTYPE, link="d/../../x")),
    "zip dots": a_zip({"../evil": b"x"}),
    "zip backslash": a_zip({"..\\evil": b"x"}),
    "zip absolute": a_zip({"/tmp/evil": b"x"}),
}


@pytest.mark.parametrize("kind", LEADS_OUT)
def test_what_leads_out_is_refused_and_nothing_is_written_there(tmp_path, kind):
    file = LEADS_OUT[kind]
    file.seek(0)
    with pytest.raises(Invalid, match="outside of its folder"):
        unpacked(file, tmp_path)
    assert not list(tmp_path.glob("evil"))


def test_a_file_is_not_written_through_a_link(tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    with pytest.raises(Invalid):
        unpacked(a_tar(entry("d", kind=tarfile.SYMTYPE, link="../outside"), entry("d/evil", b"x")), tmp_path)
    assert list(outside.iterdir()) == []


def damaged(file, place):
    """One byte of it is another."""
    data = bytearray(file.getvalue())
    data[place] ^= 0xFF
    return bytes(data)


LONG = entry("a", bytes(range(256)) * 40)
BROKEN = {
    "damaged tar.gz": damaged(a_tar(LONG), -5),  # its checksum alone
    "damaged tar.xz": damaged(a_tar(LONG, mode="w:xz"), 60),
    "damaged tar.bz2": damaged(a_tar(LONG, mode="w:bz2"), 60),
    "damaged zip": damaged(a_zip({"a": bytes(range(256)) * 40}), 60),
    "empty": b"",
    "text": b"no archive",
    "half a tar": a_tar(*CODE).getvalue()[:40],
    "half a zip": a_zip({"a": b"b" * 100}).getvalue()[:60],
}


@pytest.mark.parametrize("file", BROKEN.values(), ids=BROKEN)
def test_what_is_no_archive_is_refused(tmp_path, file):
    with pytest.raises(Invalid, match="it is no .tar, .tar.gz or .zip that can be read"):
        unpacked(io.BytesIO(file), tmp_path)


def test_a_name_that_no_file_can_have_is_refused_without_this_machine_s_folders(tmp_path):
    with pytest.raises(Invalid, match="it cannot be unpacked: File name too long") as error:
        unpacked(a_tar(entry("a" * 300)), tmp_path)
    assert str(tmp_path) not in str(error.value)


def test_a_zip_with_a_password_is_refused_for_that(tmp_path):
    locked = bytearray(a_zip({"a": b"b" * 100}).getvalue())
    locked[6] |= 1  # the flag that says so, in the file's own header
    locked[locked.index(b"PK\x01\x02") + 8] |= 1  # and in the list of all
    with pytest.raises(Invalid, match="it is locked with a password"):
        unpacked(io.BytesIO(locked), tmp_path)


def test_devices_are_refused(tmp_path):
    with pytest.raises(Invalid, match="neither a file nor a folder"):
        unpacked(a_tar(entry("null", kind=tarfile.CHRTYPE)), tmp_path)


@pytest.mark.parametrize("file", [a_tar(entry("zeros", b"\0" * 5000)), a_zip({"zeros": b"\0" * 5000})])
def test_what_unpacks_to_more_than_the_limit_is_refused(tmp_path, settings, file):
    settings.SOURCE_MAX_UNPACKED_BYTES = 4999
    file.seek(0)
    with pytest.raises(Invalid, match="holds more than"):
        unpacked(file, tmp_path)


MANY = {
    "files": [entry(f"f{number}") for number in range(11)],
    "empty folders": [entry(f"d{number}", kind=tarfile.DIRTYPE) for number in range(11)],
    "folders of one file": [entry("/".join("abcdefghij") + "/f")],
    "links in folders": [entry("a"), *(entry(f"d{number}/l", kind=tarfile.SYMTYPE, link="../a") for number in range(5))],
}


@pytest.mark.parametrize("entries", MANY.values(), ids=MANY)
def test_more_files_and_folders_than_the_limit_are_refused(tmp_path, monkeypatch, entries):
    monkeypatch.setattr(archives, "MOST_ENTRIES", 10)
    with pytest.raises(Invalid, match="holds more than 10 files and folders"):
        unpacked(a_tar(*entries), tmp_path)


def test_as_many_files_and_folders_as_the_limit_are_taken(tmp_path, monkeypatch):
    monkeypatch.setattr(archives, "MOST_ENTRIES", 10)
    files = [*(f"a/b/f{number}" for number in range(7)), "c"]
    assert sorted(unpacked(a_tar(*map(entry, files)), tmp_path)) == files


def test_empty_folders_are_not_made(tmp_path):
    folders = [entry(name, kind=tarfile.DIRTYPE) for name in ("empty", "code", "code/empty")]
    assert unpacked(a_tar(*folders, *CODE), tmp_path).keys() == {"code/train.py", "code/run.sh"}
    assert sorted(path.name for path in (tmp_path / "into").rglob("*")) == ["code", "run.sh", "train.py"]


def test_folders_within_folders_without_end_are_refused(tmp_path):
    with pytest.raises(Invalid, match="more than 100 folders"):
        unpacked(a_tar(entry("a/" * 1500 + "f")), tmp_path)


def test_links_count_as_what_they_lead_to(tmp_path, settings):
    settings.SOURCE_MAX_UNPACKED_BYTES = 10_000
    links = [entry(f"l{i}", kind=tarfile.SYMTYPE, link="a") for i in range(4)]
    with pytest.raises(Invalid, match="holds more than"):
        unpacked(a_tar(entry("a", b"x" * 3000), *links), tmp_path)


def test_a_link_to_a_folder_is_refused_rather_than_lost(tmp_path):
    with pytest.raises(Invalid, match="link to a folder"):
        unpacked(a_tar(*CODE, entry("alias", kind=tarfile.SYMTYPE, link="code")), tmp_path)


def test_a_header_that_is_larger_than_any_name_is_refused_before_it_is_read(tmp_path):
    long = tarfile.TarInfo("a")
    long.pax_headers = {"comment": "x" * 1_000_000}
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz", format=tarfile.PAX_FORMAT) as archive:
        archive.addfile(long)
    file.seek(0)
    with pytest.raises(Invalid, match="headers is larger than"):
        unpacked(file, tmp_path)


# -- Uploads -------------------------------------------------------------------------------------------------


def upload(project, file, *, name="code.tar.gz"):
    return sources.upload(project=project, name=name, file=file, by=Actor(user=a_user()), now=NOON)


def test_the_same_files_are_one_source_whoever_packed_them(db):
    project, other = a_project(), a_project()
    first = upload(project, a_tar(entry("a", b"1")))
    again = upload(project, a_zip({"a": b"1"}))
    elsewhere = upload(other, a_tar(entry("a", b"1"), mode="w"))
    assert (first, first.source) == (again, elsewhere.source)
    assert (Source.objects.count(), Upload.objects.count(), AuditEntry.objects.filter(verb="source.upload").count()) == (1, 2, 2)
    with tarfile.open(fileobj=sources.open_archive(first.source_id)) as archive:
        assert archive.getnames() == ["a"]


def test_an_archive_is_launched_only_where_it_was_brought(db):
    project, other = a_project(), a_project()
    digest = upload(project, a_tar(*CODE)).source_id
    pinned = sources.pin({"kind": "archive", "digest": digest}, project=project)
    assert pinned == {"kind": "archive", "digest": digest, "title": "code.tar.gz"}
    with pytest.raises(Invalid, match="no such archive was uploaded to project"):
        sources.pin({"kind": "archive", "digest": digest}, project=other)


def test_too_large_a_file_is_refused_unopened(db, settings):
    settings.SOURCE_MAX_BYTES = 3
    with pytest.raises(Invalid, match="larger than"):
        upload(a_project(), io.BytesIO(b"1234"))
    assert not Source.objects.exists()


EMPTY = {
    "nothing": a_tar(),
    "no entry of a zip": a_zip({}),
    "folders": a_tar(entry("a", kind=tarfile.DIRTYPE), entry("a/b", kind=tarfile.DIRTYPE)),
    "folders of a zip": a_zip({"a/": b""}),
    "a link to nothing": a_tar(entry("l", kind=tarfile.SYMTYPE, link="a")),
    "what is not packed": a_tar(entry("__pycache__/a.pyc", b"x")),
}


@pytest.mark.parametrize("file", EMPTY.values(), ids=EMPTY)
def test_an_archive_without_a_file_is_refused(db, file):
    file.seek(0)
    with pytest.raises(Invalid) as error:
        upload(a_project(), file)
    assert error.value.fields == {"archive": "there is no file in it"}
    assert not Source.objects.exists() and not Upload.objects.exists()


def test_a_script_is_a_source_of_one_file_with_its_own_line_ends(db):
    pinned = sources.pin({"kind": "script", "name": "script.py", "text": "a = 1\r\nprint(a)\n"}, project=a_project())
    with tarfile.open(fileobj=sources.open_archive(pinned["digest"])) as archive:
        assert archive.extractfile("script.py").read() == b"a = 1\nprint(a)\n"


def test_a_save_that_was_broken_off_is_mended_by_the_next(db, settings):
    project = a_project()
    digest = upload(project, a_tar(*CODE)).source_id
    path = storages["default"].path(f"sources/{digest}.tar.gz")
    whole = Path(path).read_bytes()
    Path(path).write_bytes(whole[:20])
    upload(project, a_tar(*CODE))
    assert Path(path).read_bytes() == whole
