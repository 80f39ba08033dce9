"""Files that grow by whole lines, as they are shipped by offset: what a power cut left of a line is cut off before the next."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

TAIL_BYTES = 2**18  # longer than any line


def whole_lines(path: Path) -> Iterator[bytes]:
    """None, when there is no such file."""
    with suppress(FileNotFoundError), path.open("rb") as file:
        yield from (line for line in file if line.endswith(b"\n"))


def whole_bytes(descriptor: int) -> int:
    """Its size without half a line at the end."""
    size = os.fstat(descriptor).st_size
    end = os.pread(descriptor, min(size, TAIL_BYTES), max(0, size - TAIL_BYTES))
    return size if not end or end.endswith(b"\n") else max(0, size - len(end) + end.rfind(b"\n") + 1)
