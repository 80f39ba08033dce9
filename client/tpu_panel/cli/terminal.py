"""What there is to write on: colours, width, and a line that stays below what is printed."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import TextIO

from tpu_panel.cli import words

COLOURS = {"grey": "90", "red": "31", "green": "32", "yellow": "33", "blue": "34", "cyan": "36", "bold": "1"}
NARROW, USUAL = 20, 100  # columns


def _nowhere() -> TextIO:
    """Python has no stream where the shell has closed it."""
    return Path(os.devnull).open("w")


class Terminal:
    """Results go to `out`, everything else to `err`. Thread-safe."""

    def __init__(self, out: TextIO | None = None, err: TextIO | None = None, environ: Mapping[str, str] = os.environ) -> None:
        self.out = out or sys.stdout or _nowhere()
        self.err = err or sys.stderr or _nowhere()
        self._environ = environ
        self._lock = threading.RLock()
        self._bar = ""
        self._is_drawn = False
        self._is_at_start = True  # of a line, on the terminal that the bar is on
        for stream in (self.out, self.err):
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="replace")

    @property
    def is_live(self) -> bool:
        """Whether a line can stay in its place."""
        return self.err.isatty() and self._environ.get("TERM") != "dumb"

    @property
    def columns(self) -> int:
        """Of what is written to `out`; a file or a pipe has as many as it needs."""
        return self._columns_of(self.out) if self.out.isatty() else 10_000

    def paint(self, text: str, colour: str, stream: TextIO | None = None) -> str:
        """In colour on a terminal, unless NO_COLOR is set."""
        stream = stream or self.out
        if not stream.isatty() or self._environ.get("NO_COLOR") or self._environ.get("TERM") == "dumb":
            return text
        return f"\x1b[{COLOURS[colour]}m{text}\x1b[0m"

    def mark(self, state: str, stream: TextIO | None = None) -> str:
        shape, ascii_shape, _colour = words.STATES.get(state, ("•", "?", "grey"))
        try:
            shape.encode((stream or self.out).encoding or "ascii")
        except (UnicodeEncodeError, LookupError):
            return ascii_shape
        return shape

    def state(self, state: str, stream: TextIO | None = None) -> str:
        """Shape, word and colour."""
        colour = words.STATES.get(state, ("", "", "grey"))[2]
        return self.paint(f"{self.mark(state, stream)} {words.plain(state)}", colour, stream)

    def print(self, text: str = "") -> None:
        """A line of the result."""
        self.out.write(text + "\n")
        self.out.flush()

    def note(self, text: str) -> None:
        """A line for whoever watches."""
        with self._lock:
            self._clear()
            if not self._is_at_start:
                self.err.write("\n")
                self._is_at_start = True
            self.err.write(text + "\n")
            self._draw()

    def write(self, data: bytes) -> None:
        """Bytes of the result, as they are."""
        with self._lock:
            self._clear()
            self.out.flush()
            self.out.buffer.write(data)
            self.out.buffer.flush()
            if self.out.isatty():
                self._is_at_start = data.endswith(b"\n")
            self._draw()

    def bar(self, text: str) -> None:
        """What the last line says from now on, where there is one; "": nothing."""
        with self._lock:
            self._clear()
            self._bar = words.cut_end(text, self._columns_of(self.err) - 1) if self.is_live else ""
            self._draw()

    def _columns_of(self, stream: TextIO) -> int:
        told = self._environ.get("COLUMNS", "")
        try:
            columns = int(told) if told.isascii() and told.isdecimal() else os.get_terminal_size(stream.fileno()).columns
        except OSError:
            columns = 0
        return max(NARROW, columns or USUAL)

    def _clear(self) -> None:
        if self._is_drawn:
            self.err.write("\r\x1b[K")
            self._is_drawn = False

    def _draw(self) -> None:
        """Not behind the beginning of a line, which it would overwrite."""
        if self._bar and self._is_at_start:
            self.err.write(self._bar)
            self._is_drawn = True
        self.err.flush()
