"""Commits of git repositories on this host: each fetched once, by a supervised process, for all ranks that run it.

<root>/<digest>/commit.json   address and commit
<root>/<digest>/tree          the files of that commit, with a repository of nothing else; beside it what agent/makings.py keeps

git is used with the settings and keys of the user that the agent runs as.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
from pathlib import Path
from urllib.parse import urlsplit

from agent import notes
from agent.makings import Build, Launch, Makings, note_ready

MOST_BYTES = 20 * 1024**3  # of all checkouts on this host
SCHEMES = {"https", "http", "ssh", "file"}  # the panel's settings say which of these people may name
COMMIT = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")
STALLED = ["-c", "http.lowSpeedLimit=1000", "-c", "http.lowSpeedTime=60"]  # bytes a second, seconds


class Checkouts(Makings):
    def __init__(self, root: Path, *, launch: Launch, wake: str, most_bytes: int = MOST_BYTES) -> None:
        super().__init__(root, doing="checkout", launch=launch, wake=wake, most_bytes=most_bytes)

    def find(self, digest: str) -> Path | None:
        """The commit's files, when they are there. Counts as use."""
        return self._folder(digest) / "tree" if self.is_ready(digest) else None

    def want(self, address: str, commit: str) -> Build:
        """The fetch that runs, or a new one. Raises OSError."""
        what = {"address": address, "commit": commit}
        return self.begin(digest_of(address, commit), lambda folder: notes.write(os.fspath(folder / "commit.json"), what))


def digest_of(address: str, commit: str) -> str:
    return hashlib.sha256(f"{address}\n{commit}".encode()).hexdigest()


def check_out(folder: Path) -> int:
    """Exit code. Fetches the commit that `commit.json` names, and nothing else where the server allows to ask for one."""
    what = notes.read(os.fspath(folder / "commit.json"))
    assert what is not None
    address, commit = str(what["address"]), str(what["commit"])
    scheme = _scheme(address)
    if scheme not in SCHEMES or address.startswith("-") or not COMMIT.fullmatch(commit):
        print(f"{address} at {commit} is nothing to fetch")
        return 1
    tree = folder / "tree"
    shutil.rmtree(tree, ignore_errors=True)
    git = Git(tree, scheme)
    try:
        git("init", "--quiet")
        _fetch(git, address, commit)
        git("-c", "advice.detachedHead=false", "checkout", "--quiet", commit)
    except subprocess.CalledProcessError:  # git has said why
        return 1
    except FileNotFoundError:
        print("git is not installed on this host")
        return 1
    note_ready(folder, tree)
    return 0


class Git:
    """git in one repository: asks nobody anything, and speaks nothing but `scheme`, wherever an answer may send it."""

    def __init__(self, tree: Path, scheme: str) -> None:
        tree.mkdir()
        self._tree = os.fspath(tree)
        self._environment = {"GIT_SSH_COMMAND": "ssh -oBatchMode=yes -oConnectTimeout=10"} | dict(os.environ)
        self._environment |= {"GIT_TERMINAL_PROMPT": "0", "GIT_ALLOW_PROTOCOL": scheme, "LC_ALL": "C"}

    def __call__(self, *arguments: str) -> None:
        """git's own words go to the log as they come. Raises CalledProcessError, FileNotFoundError."""
        print("git", *arguments, flush=True)
        subprocess.run(
            ["git", "-C", self._tree, *arguments],
            check=True,
            stdin=subprocess.DEVNULL,
            stderr=subprocess.STDOUT,
            env=self._environment,
        )


def _fetch(git: Git, address: str, commit: str) -> None:
    """Servers that hand out no single commits are asked for all that they have."""
    fetch = (*STALLED, "fetch", "--no-tags", "--no-recurse-submodules")
    try:
        git(*fetch, "--depth=1", "--", address, commit)
    except subprocess.CalledProcessError:
        print("not to be had alone; fetching all branches and tags", flush=True)
        git(*fetch, "--", address, "+refs/heads/*:refs/remotes/origin/*", "+refs/tags/*:refs/tags/*")


def _scheme(address: str) -> str:
    """git@host:path is ssh; a transport helper (name::address) is nothing that is fetched here."""
    if "::" in address:
        return ""
    return urlsplit(address).scheme if "://" in address else "ssh"
