import hashlib
import io
import os
import tarfile

import pytest

from clusters import sources
from clusters.models import Source
from monitoring import conditions
from projects.actors import Actor
from projects.errors import Conflict, NotFound
from tests.factories import NOON, a_project, a_user

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _storage(settings, tmp_path):
    location = {"location": tmp_path / "files"}
    settings.STORAGES = settings.STORAGES | {
        "default": {"BACKEND": "django.core.files.storage.FileSystemStorage", "OPTIONS": location}
    }


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "recipes" / "digits"
    (folder / "data").mkdir(parents=True)
    (folder / "train.py").write_text("print(1)\n")
    (folder / "data" / "b.txt").write_text("b")
    (folder / "data" / "a.txt").write_text("a")
    (folder / "recipe.json").write_text("{}")
    return folder


def names(archive):
    with tarfile.open(fileobj=io.BytesIO(archive)) as found:
        return found.getnames()


def test_the_same_files_make_the_same_bytes(folder):
    first = sources.packed(folder).read()
    for path in folder.rglob("*"):
        os.utime(path, (0, 99))
    (folder / "train.py").chmod(0o600)
    (folder / "empty").mkdir()
    assert sources.packed(folder).read() == first
    assert names(first) == ["data/a.txt", "data/b.txt", "recipe.json", "train.py"]


def test_another_byte_name_or_right_to_run_makes_another_archive(folder):
    archives = {sources.packed(folder).read()}
    (folder / "train.py").chmod(0o755)
    archives.add(sources.packed(folder).read())
    (folder / "train.py").write_text("print(2)\n")
    archives.add(sources.packed(folder).read())
    (folder / "train.py").rename(folder / "run.py")
    archives.add(sources.packed(folder).read())
    assert len(archives) == 4


def test_an_archive_carries_no_owner_no_time_and_no_cache(folder):
    (folder / "__pycache__").mkdir()
    (folder / "__pycache__" / "train.pyc").write_text("x")
    with tarfile.open(fileobj=io.BytesIO(sources.packed(folder).read())) as found:
        entries = found.getmembers()
    assert {(entry.uid, entry.gid, entry.uname, entry.mtime) for entry in entries} == {(0, 0, "", 0)}
    assert not any("pyc" in entry.name for entry in entries)


def test_the_same_bytes_are_kept_once_under_the_title_that_came_first():
    first, again = (sources.keep(io.BytesIO(b"bytes"), title=title) for title in ("one", "two"))
    assert first == again == Source.objects.get()
    assert (first.digest, first.title, first.size_bytes) == (hashlib.sha256(b"bytes").hexdigest(), "one", 5)
    with sources.open_archive(first.digest) as file:
        assert file.read() == b"bytes"


@pytest.mark.parametrize("digest", ["0" * 64, "", "../secret_key"])
def test_a_source_that_nobody_made_is_not_found(digest):
    with pytest.raises(NotFound):
        sources.open_archive(digest)


def test_a_recipe_is_a_source_by_its_name(folder, settings, tmp_path):
    settings.BASE_DIR = tmp_path
    (tmp_path / "recipes" / "draft").mkdir()  # no recipe.json, no recipe
    assert sources.recipes() == ["digits"]
    source = sources.of_recipe("digits")
    assert (source.title, source.digest) == ("recipe digits", hashlib.sha256(sources.packed(folder).read()).hexdigest())
    for unknown in ("draft", "../recipes/digits"):
        with pytest.raises(NotFound) as refused:
            sources.of_recipe(unknown)
        assert refused.value.data == {"known": ["digits"]}


def test_while_the_panels_disk_is_low_no_archive_is_taken(db):
    conditions.begin(conditions.DISK_LOW, now=NOON, free="1.0", wanted="6.0")
    with pytest.raises(Conflict, match="only 1.0 % left"):
        sources.upload(project=a_project(), name="code.tar.gz", file=io.BytesIO(b""), by=Actor(user=a_user()), now=NOON)
    assert not Source.objects.exists()
