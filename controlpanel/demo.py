"""What `make demo` shows in the terminal: a job is launched through the API, its log and progress followed to its end."""

from __future__ import annotations

import json
import shutil
import sys
import time
import urllib.error
import urllib.request
from dataclasses import dataclass, field
from typing import IO, Any

DEFINITION = "digits-tensorflow"
LOOK_EVERY_S = 0.3
LOG_PATIENCE_S = 10.0  # for the last bytes of a job that has ended
ENDED = ("succeeded", "failed", "canceled")


class DemoFailed(Exception):
    """What went wrong, in a sentence."""


@dataclass
class Api:
    """The panel's REST API, as any script would use it."""

    url: str
    token: str

    def get(self, path: str) -> dict[str, Any]:
        return json.loads(self._open(path).read())

    def post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        return json.loads(self._open(path, json.dumps(body).encode()).read())

    def log(self, number: int, part: str, offset: int) -> tuple[bytes, bool]:
        """(bytes from `offset` on, whether these are the last)"""
        answer = self._open(f"jobs/{number}/log?part={part}&offset={offset}&limit=262144")
        is_last = answer.headers["X-Log-Complete"] == "true" and answer.headers["X-Log-Next"] == answer.headers["X-Log-Head"]
        return answer.read(), is_last

    def _open(self, path: str, body: bytes | None = None) -> Any:
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        request = urllib.request.Request(f"{self.url}/api/v1/{path}", body, headers)
        try:
            return urllib.request.urlopen(request, timeout=30)
        except urllib.error.HTTPError as error:
            raise DemoFailed(f"{path}: {error.read().decode(errors='replace')}") from error


@dataclass
class Terminal:
    """Lines as they come, and below them one line that says how far the job is."""

    out: IO[str] = field(default_factory=lambda: sys.stdout)
    bar: str = ""

    def lines(self, text: str) -> None:
        self._clear()
        self.out.write(text)
        self._draw()

    def progress(self, job: dict[str, Any]) -> None:
        self._clear()
        self.bar = bar_of(job, shutil.get_terminal_size().columns) if self.out.isatty() else ""
        self._draw()

    def end(self) -> None:
        self._clear()
        self.bar = ""

    def _clear(self) -> None:
        if self.bar:
            self.out.write("\r\x1b[K")

    def _draw(self) -> None:
        if self.bar:
            self.out.write(self.bar)
        self.out.flush()


def bar_of(job: dict[str, Any], width: int) -> str:
    """`running  [#####-----]  50 %  12 s left`, no wider than the terminal; while nothing is known, why."""
    progress = job["progress"] or {}
    if progress.get("percent") is None:
        return f"{job['state']}  {job['reason']['sentence']}"[: width - 1]
    left = f"  {progress['left_s']} s left" if progress["left_s"] is not None else ""
    room = max(5, min(40, width - len(left) - 30))
    done = progress["percent"] * room // 100
    return f"{job['state']}  [{'#' * done}{'-' * (room - done)}]  {progress['percent']} %{left}"[: width - 1]


def launch(api: Api, project: str) -> int:
    return int(api.post("jobs", {"project": project, "definition": DEFINITION, "name": "digits"})["number"])


def follow(api: Api, number: int, terminal: Terminal) -> dict[str, Any]:
    """Show the job's log until it has ended and all of it was shown; returns the job."""
    shown = {"prepare": 0, "output": 0}
    ended_at: float | None = None
    while True:
        job = api.get(f"jobs/{number}")
        is_all = True
        for part, offset in list(shown.items()):
            data, is_last = api.log(number, part, offset)
            shown[part] += len(data)
            is_all = is_all and (is_last or part == "prepare") and not data
            if data:
                terminal.lines(data.decode(errors="replace"))
        terminal.progress(job)
        if job["state"] in ENDED:
            ended_at = ended_at or time.monotonic()
            if is_all or time.monotonic() - ended_at > LOG_PATIENCE_S:
                terminal.end()
                return job
        time.sleep(LOOK_EVERY_S)


def verdict(api: Api, job: dict[str, Any]) -> str:
    """What came of it, with the address of its page."""
    page = f"{api.url}{job['link']}"
    if job["state"] != "succeeded":
        return f"Job {job['number']} {job['state']}: {job['reason']['sentence']}  {page}"
    metrics = {row["name"]: row["last_value"] for row in api.get(f"jobs/{job['number']}/metrics")["metrics"]}
    accuracy = metrics.get("test_accuracy")
    said = f"test accuracy {accuracy:.3f}" if accuracy is not None else "no test accuracy was reported"
    return f"Job {job['number']} succeeded: {said}  {page}"
