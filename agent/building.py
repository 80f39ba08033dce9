"""Builds a runtime: `python -m agent build <runtime's folder>`, run by a supervisor of the host. uv does the work.

The folder holds `requirements.txt`, a fully pinned list. The environment is made in `venv`, and `ready` says that it is whole.
"""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import uv

from agent.makings import note_ready

UV_INDEXES = ("UV_DEFAULT_INDEX", "UV_INDEX", "UV_INDEX_URL", "UV_EXTRA_INDEX_URL", "UV_FIND_LINKS", "UV_CONFIG_FILE")


def build(folder: Path) -> int:
    """Exit code. A half-made environment of an earlier try is thrown away first."""
    venv = folder / "venv"
    shutil.rmtree(venv, ignore_errors=True)
    made = _uv("venv", "--quiet", "--no-project", "--python", sys.executable, str(venv))
    if made:
        return made
    pinned = ["--python", str(venv / "bin" / "python"), *_index_options()]
    installed = _uv("pip", "sync", "--strict", "--compile-bytecode", *pinned, str(folder / "requirements.txt"))
    if installed:
        return installed
    note_ready(folder, venv)
    return 0


def _uv(*arguments: str) -> int:
    """uv's own words go to the log as they come."""
    print("uv", *(_without_secret(word) for word in arguments), flush=True)
    return subprocess.run([uv.find_uv_bin(), *arguments], check=False, stdin=subprocess.DEVNULL).returncode


def _index_options() -> list[str]:
    """uv doesn't read pip's settings. Where uv has none of its own, a host's mirror is named in pip's."""
    if any(name in os.environ for name in UV_INDEXES):
        return []
    configured = _pip_settings()
    options = []
    if index := configured.get("index-url"):
        options += ["--default-index", index]
    for extra in filter(_is_there, configured.get("extra-index-url", "").split()):
        options += ["--index", extra]
    for links in filter(_is_there, configured.get("find-links", "").split()):
        options += ["--find-links", links]
    # As pip does: the best of all indexes. Every version is pinned, so that no other can slip in.
    return [*options, "--index-strategy", "unsafe-best-match"]


def _pip_settings() -> dict[str, str]:
    """`pip config list` prints lines such as global.index-url='...'; the environment's come last and win."""
    said = subprocess.run([sys.executable, "-m", "pip", "config", "list"], capture_output=True, text=True, check=False).stdout
    found = {}
    for line in said.splitlines():
        name, _equals, value = line.partition("=")
        found[name.rpartition(".")[2]] = str(ast.literal_eval(value)) if value else ""
    return found


def _is_there(address: str) -> bool:
    """A folder that is named but missing is nothing to pip; to uv it is an error."""
    parts = urlsplit(address)
    return parts.scheme not in ("", "file") or Path(parts.path).exists()


def _without_secret(word: str) -> str:
    parts = urlsplit(word)
    if "@" not in parts.netloc:
        return word
    return word.replace(parts.netloc, "***@" + parts.netloc.rpartition("@")[2])
