"""A commit is fetched once on a host, that commit only where the server lets one ask for it."""

from __future__ import annotations

import json
import subprocess

import pytest

from agent import checkouts
from tests.git_server import GitServer, _git


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    server = GitServer(tmp_path_factory.mktemp("git"))
    yield server
    server.close()


@pytest.fixture(autouse=True)
def _trusted(server, monkeypatch):
    monkeypatch.setenv("GIT_SSL_CAINFO", str(server.ca_file))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")


def check_out(folder, address, commit):
    """(exit code, names of its files) of one fetch into a fresh folder."""
    folder.mkdir()
    (folder / "commit.json").write_text(json.dumps({"address": address, "commit": commit}))
    code = checkouts.check_out(folder)
    tree = folder / "tree"
    return code, sorted(path.name for path in tree.iterdir() if path.name != ".git") if tree.exists() else []


def test_an_older_commit_comes_alone(server, tmp_path):
    repository = server.repository("alone")
    old = repository.commit({"train.py": "print(1)\n", "package/a.py": ""})
    repository.commit({"train.py": "print(2)\n"})
    assert check_out(tmp_path / "one", repository.address, old) == (0, ["package", "train.py"])
    assert (tmp_path / "one/tree/train.py").read_text() == "print(1)\n"
    assert _git(tmp_path / "one/tree", "rev-list", "--all", "--count") in ("0", "1")  # nothing but HEAD, and no history
    assert _git(tmp_path / "one/tree", "rev-list", "HEAD", "--count") == "1"
    assert json.loads((tmp_path / "one/ready").read_text())["size_bytes"] > 0


def test_a_server_that_hands_out_no_single_commits_is_asked_for_all(server, tmp_path, capfd):
    repository = server.repository("all")
    old = repository.commit({"train.py": "print(1)\n"})
    repository.commit({"train.py": "print(2)\n"})
    _git(repository.bare, "config", "uploadpack.allowAnySHA1InWant", "false")
    _git(repository.bare, "config", "protocol.version", "0")
    code, _files = check_out(tmp_path / "one", repository.address, old)
    assert (code, (tmp_path / "one/tree/train.py").read_text()) == (0, "print(1)\n")


def test_a_commit_that_is_not_there_fails_with_gits_words(server, tmp_path, capfd):
    repository = server.repository("missing")
    repository.commit({"train.py": "print(1)\n"})
    assert check_out(tmp_path / "one", repository.address, "0" * 40)[0] == 1
    assert "0" * 40 in capfd.readouterr().out
    assert not (tmp_path / "one/ready").exists()


@pytest.mark.parametrize("address", ["ext::sh -c id", "--upload-pack=id", "git://localhost/code", "-x:y"])
def test_other_addresses_are_not_fetched(tmp_path, address, monkeypatch):
    monkeypatch.setattr(subprocess, "run", None)
    assert check_out(tmp_path / "one", address, "0" * 40) == (1, [])
