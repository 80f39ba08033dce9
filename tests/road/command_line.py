"""`tpu-panel` as a person runs it: a process of its own, in a pipe or on a terminal."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from tests.road.world import BASE_DIR, World, until

COMMAND = [sys.executable, "-m", "tpu_panel"]
CLEARED = re.compile(rb"[^\r\n]*\r\x1b\[K")  # a last line that was drawn, and is gone


def environment(world: World, folder: Path, *, token: str | None = None, **more: str) -> dict[str, str]:
    """Of who has signed in; `folder` is their home."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PANEL_", "XDG_", "NO_COLOR"))}
    mine = {"PANEL_URL": world.url, "PANEL_TOKEN": world.client.headers["Authorization"].removeprefix("Bearer ")}
    if token is not None:
        mine["PANEL_TOKEN"] = token
    return kept | mine | {"HOME": str(folder), "PYTHONPATH": str(BASE_DIR / "client"), "TERM": "xterm"} | more


def hear_ctrl_c() -> None:
    """Also when the tests themselves run in the background of a shell, where it is ignored, and so by their children."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


class Running:
    """One that was started; its output is read as it comes."""

    def __init__(self, arguments: tuple[str, ...], env: dict[str, str], folder: Path) -> None:
        self._out, self._err = folder / f"out-{time.monotonic_ns()}", folder / f"err-{time.monotonic_ns()}"
        with self._out.open("wb") as out, self._err.open("wb") as err:
            self.process = subprocess.Popen(
                [*COMMAND, *arguments],
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                preexec_fn=hear_ctrl_c,  # noqa: PLW1509  it takes no lock
            )

    @property
    def out(self) -> bytes:
        return self._out.read_bytes()

    @property
    def err(self) -> str:
        return self._err.read_text(errors="replace")

    def until_out(self, text: bytes, within_s: float = 40) -> None:
        until(lambda: text in self.out or self.process.poll() is not None, within_s, f"{text!r} after {self.out[-200:]!r}")
        assert text in self.out, (self.out[-500:], self.err)

    def until_err(self, text: str, within_s: float = 40) -> None:
        until(lambda: text in self.err, within_s, f"{text!r} in {self.err}")

    def interrupt(self) -> None:
        self.process.send_signal(signal.SIGINT)

    def end(self, within_s: float = 60) -> int:
        """Its exit status."""
        try:
            return self.process.wait(within_s)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise AssertionError(f"it did not end: {self.out[-500:]!r} {self.err[-500:]}") from None


class OnTerminal:
    """One whose input and output are a terminal."""

    def __init__(self, arguments: tuple[str, ...], env: dict[str, str]) -> None:
        self.shown = b""
        self._pid, self._fd = pty.fork()
        if self._pid == 0:
            hear_ctrl_c()
            os.execve(COMMAND[0], [*COMMAND, *arguments], env | {"COLUMNS": "80"})

    def until(self, text: bytes, within_s: float = 40) -> None:
        deadline = time.monotonic() + within_s
        while text not in self.shown:
            assert time.monotonic() < deadline, f"{text!r} did not come after {self.shown[-500:]!r}"
            if not self._read():
                raise AssertionError(f"{text!r} did not come before the end: {self.shown[-500:]!r}")

    def type(self, keys: bytes) -> None:
        os.write(self._fd, keys)

    def end(self, within_s: float = 40) -> int:
        """Its exit status."""
        deadline = time.monotonic() + within_s
        while self._read():
            assert time.monotonic() < deadline, f"it did not end: {self.shown[-500:]!r}"
        _pid, status = os.waitpid(self._pid, 0)
        os.close(self._fd)
        return os.waitstatus_to_exitcode(status)

    @property
    def left(self) -> str:
        """What stands on the screen at the end, without the lines that were drawn and taken away."""
        return CLEARED.sub(b"", self.shown).decode(errors="replace").replace("\r\n", "\n")

    def _read(self) -> bool:
        if not select.select([self._fd], [], [], 0.1)[0]:
            return True
        try:
            data = os.read(self._fd, 65536)
        except OSError:  # Linux's word that the other side is closed
            return False
        self.shown += data
        return bool(data)


def run(arguments: tuple[str, ...], env: dict[str, str], given: bytes = b"", within_s: float = 60, **more: Any) -> Any:
    """(exit status, standard output, standard error) once it has ended."""
    done = subprocess.run(
        [*COMMAND, *arguments], env=env, input=given, capture_output=True, timeout=within_s, check=False, **more
    )
    return done.returncode, done.stdout, done.stderr.decode()
