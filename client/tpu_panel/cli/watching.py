"""A job that is followed in the terminal: its log to the standard output, to the byte; everything else beside it."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator, Mapping
from typing import Any, TextIO

from tpu_panel.cli import words
from tpu_panel.cli.statuses import Status, of_job
from tpu_panel.cli.terminal import Terminal
from tpu_panel.errors import PanelError
from tpu_panel.following import Away, Back, Begun, Ended, Gap, Item, News, Piece
from tpu_panel.job import Job

BAR_COLUMNS = 24


def watch(terminal: Terminal, job: Job, *, as_json: bool = False) -> int:
    """From the first attempt to the job's end, with whose status it ends."""
    shown: Shown = JsonLines(terminal) if as_json else Watched(terminal, job)
    if as_json:
        terminal.print(json.dumps({"event": "launched", "job": job.data}))
    else:
        terminal.note(f"Job {job.number} is {job.state}: {job.url}")
    try:
        show(job.follow_all(), shown)
        job.refresh()
    except KeyboardInterrupt:
        shown.close()
        number = job.number
        terminal.note(f"Job {number} goes on. Follow it: tpu-panel logs {number} -f    Cancel it: tpu-panel cancel {number}")
        return Status.INTERRUPTED
    except PanelError:
        shown.close()
        raise
    shown.close()
    if as_json:
        terminal.print(json.dumps({"event": "ended", "job": job.data}))
    else:
        terminal.note(f"{verdict(terminal, job)}  {job.url}")
    return of_job(job)


def show(items: Iterator[Item], shown: Shown) -> None:
    for item in items:
        shown.take(item)


def verdict(terminal: Terminal, job: Job, stream: TextIO | None = None) -> str:
    """✓ Job 17 succeeded after 3 min 12 s."""
    stream = stream or terminal.err
    time = words.run_time(job.data)
    after = f" after {time}" if time else ""
    why = f": {words.plain(job.reason)}" if job.state != "succeeded" and job.reason else "."
    mark = terminal.paint(terminal.mark(job.state, stream), words.STATES[job.state][2], stream)
    return f"{mark} Job {job.number} {job.state}{after}{why}"


class Shown:
    """What becomes of what a job says."""

    def __init__(self, terminal: Terminal) -> None:
        self.terminal = terminal

    def take(self, item: Item) -> None:
        """The log alone, and a note on what is missing of it."""
        match item:
            case Piece():
                self.terminal.write(item.data)
            case Gap():
                self.terminal.note(f"[{words.size(item.dropped_bytes)} of the log are missing here: the host had to drop them]")
            case Ended() if item.sentence:
                self.terminal.note(f"[{words.plain(item.sentence)}]")
            case Begun() if item.attempt > 1:
                self.terminal.note(f"[Attempt {item.attempt}]")
            case Away():
                self.terminal.note(f"{item.sentence} Trying again until it does; Ctrl-C ends this, not the job.")
            case Back():
                self.terminal.note("The panel answers again.")

    def close(self) -> None:
        pass


class Watched(Shown):
    """And a last line that says how far the job is, or notes where no line can stay."""

    def __init__(self, terminal: Terminal, job: Job) -> None:
        super().__init__(terminal)
        self._job = job
        self._told = _standing(job.data)
        self._preparation: Preparation | None = None

    def take(self, item: Item) -> None:
        match item:
            case News():
                self._tell(item.job)
            case Begun():
                self._stop_preparation()
                self._preparation = Preparation(self.terminal, self._job, item.attempt)
            case Piece():
                self._stop_preparation()
        super().take(item)

    def close(self) -> None:
        self._stop_preparation()
        self.terminal.bar("")

    def _tell(self, job: dict[str, Any]) -> None:
        state = job["state"]
        if state == "starting" and self._preparation:
            self._preparation.start()
        elif state != "queued":
            self._stop_preparation()
        if self.terminal.is_live:
            self.terminal.bar(bar_of(job, self.terminal))
        elif _standing(job) != self._told and state not in ("succeeded", "failed", "canceled"):
            why = f": {words.plain(job['reason']['sentence'])}" if job["reason"]["sentence"] else "."
            self.terminal.note(f"Job {self._job.number} is {state}{why}")
        self._told = _standing(job)

    def _stop_preparation(self) -> None:
        if self._preparation:
            self._preparation.stop()
            self._preparation = None


def _standing(job: Mapping[str, Any]) -> tuple[str, str]:
    """What is news when it changes: of a job that waits, what it waits for, too."""
    return job["state"], job["reason"]["code"] if job["state"] == "queued" else ""


class Preparation:
    """What the host says while it prepares an attempt, as notes: it comes before the log and is none of it."""

    def __init__(self, terminal: Terminal, job: Job, attempt: int) -> None:
        self._terminal = terminal
        self._job = job
        self._attempt = attempt
        self._is_over = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, daemon=True, name="preparation")
            self._thread.start()

    def stop(self) -> None:
        self._is_over.set()

    def _run(self) -> None:
        waiting = b""
        try:
            for item in self._job.follow(part="prepare", attempt=self._attempt):
                if self._is_over.is_set():
                    return
                if isinstance(item, Piece):
                    *lines, waiting = (waiting + item.data).split(b"\n")
                    for line in lines:
                        text = words.plain(line.decode(errors="replace").rstrip("\r").rpartition("\r")[2])
                        self._terminal.note(self._terminal.paint(text, "grey", self._terminal.err))
        except PanelError:
            pass  # what happens to the log is told; this is an extra


class JsonLines(Shown):
    """An object a line, for scripts."""

    def take(self, item: Item) -> None:
        match item:
            case Piece():
                try:
                    content = {"text": item.data.decode()}
                except UnicodeDecodeError:
                    encoded = base64.b64encode(item.data).decode()
                    content = {"text": item.data.decode(errors="replace"), "base64": encoded}
                self._print("log", {"attempt": item.attempt, "offset": item.offset} | content)
            case News():
                self._print("job", item.job)
            case Gap():
                self._print("gap", vars(item))
            case Ended():
                self._print("complete" if not item.sentence else "incomplete", vars(item))
            case Away() | Back():
                super().take(item)

    def _print(self, name: str, data: dict[str, Any]) -> None:
        self.terminal.print(json.dumps({"event": name, **data}))


def bar_of(job: dict[str, Any], terminal: Terminal) -> str:
    """`● running  [#####-----]  50 %  12 s left`; while nothing is known, why."""
    progress, state = job["progress"] or {}, f"{terminal.mark(job['state'], terminal.err)} {job['state']}"
    if progress.get("percent") is None:
        step = f"step {progress['step']}" if progress else words.plain(job["reason"]["sentence"])
        return f"{state}  {step}".rstrip()
    left = f"  {words.duration(progress['left_s'])} left" if progress.get("left_s") else ""
    done = progress["percent"] * BAR_COLUMNS // 100
    return f"{state}  [{'#' * done}{'-' * (BAR_COLUMNS - done)}]  {progress['percent']} %{left}"
