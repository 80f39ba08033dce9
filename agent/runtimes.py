"""The Python environments of this host: built once (agent/building.py) for all ranks that want the same.

<root>/<digest>/requirements.txt    the pinned list, from the panel
<root>/<digest>/venv                what came of it; beside it what agent/makings.py keeps
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from agent.makings import Build, Launch, Makings
from agent.protocol import BuiltRuntime

MOST_BYTES = 100 * 1024**3  # of all runtimes on this host


class Runtimes(Makings):
    """`fetch` asks the panel for a digest's pinned list."""

    def __init__(
        self, root: Path, *, fetch: Callable[[str], str], launch: Launch, wake: str, most_bytes: int = MOST_BYTES
    ) -> None:
        super().__init__(root, doing="build", launch=launch, wake=wake, most_bytes=most_bytes)
        self._fetch = fetch

    def find(self, digest: str) -> Path | None:
        """The environment's folder of programs, when it is built. Counts as use."""
        return self._folder(digest) / "venv" / "bin" if self.is_ready(digest) else None

    def want(self, digest: str) -> Build:
        """The build that runs, or a new one. Raises what `fetch` raises, and OSError."""

        def equip(folder: Path) -> None:
            requirements = folder / "requirements.txt"
            if not requirements.exists():
                part = folder / f"requirements.{os.getpid()}"
                part.write_text(self._fetch(digest))
                part.rename(requirements)

        return self.begin(digest, equip)

    def built(self) -> list[BuiltRuntime]:
        """Those that stand here, the one used last first."""
        found = [(self._used_at(name), name) for name in self._names() if (self._folder(name) / "ready").exists()]
        return [BuiltRuntime(name, self._size(self._folder(name)), int(at * 1000)) for at, name in sorted(found, reverse=True)]
