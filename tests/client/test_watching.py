"""What becomes of a followed job in the terminal: its log on one side, everything else on the other."""

from __future__ import annotations

import json

import httpx
import pytest

from tests.client.fakes import Script, a_job, a_terminal, error, event, events
from tpu_panel.cli import watching
from tpu_panel.cli.statuses import of_job
from tpu_panel.cli.watching import JsonLines, Shown, Watched
from tpu_panel.errors import NotFound
from tpu_panel.following import Away, Back, Begun, Ended, Gap, News, Piece
from tpu_panel.job import Job

BEGIN = event("attempt", attempt=1, rank=0, workload="w", part="output", offset=0)
HELLO = event("log", "1:6", attempt=1, rank=0, offset=0, text="hello\n")
END = event("complete", attempt=1, rank=0, offset=6)
QUEUED = {"code": "no-room", "sentence": "It needs 4 chips; 1 is free."}


def a_launched(script: Script, **change) -> Job:
    return Job(script.connection(), a_job(**change))


def answer(body: object) -> httpx.Response:
    return httpx.Response(200, json=body)


def ends(job: dict[str, object]) -> list[httpx.Response]:
    """What is asked for when a log has ended: whether the job has, whether there is another attempt, and the job once more."""
    return [answer(job), answer({"results": [{"number": 1}]}), answer(job)]


def news(state: str, **change) -> News:
    return News({"number": 17, "state": state, "reason": {"code": "", "sentence": ""}, "progress": None} | change)


def test_the_log_goes_to_one_side_and_everything_else_to_the_other():
    done = a_job(state="succeeded", ended_at="2026-03-01T12:03:14Z")
    script = Script(events(BEGIN, HELLO, END), *ends(done))
    terminal = a_terminal()
    assert watching.watch(terminal, a_launched(script, state="queued")) == 0
    assert terminal.out.shown == b"hello\n"
    assert terminal.err.shown.decode().splitlines() == [
        "Job 17 is queued: http://panel.example/jobs/17",
        "✓ Job 17 succeeded after 3 min 12 s.  http://panel.example/jobs/17",
    ]


def test_as_json_each_line_is_an_object():
    done = a_job(state="canceled", ended_at="2026-03-01T12:03:14Z")
    script = Script(events(BEGIN, HELLO, END), *ends(done))
    terminal = a_terminal()
    assert watching.watch(terminal, a_launched(script), as_json=True) == 125
    told = [json.loads(line) for line in terminal.out.shown.splitlines()]
    assert [one["event"] for one in told] == ["launched", "log", "complete", "ended"]
    assert told[1] == {"event": "log", "attempt": 1, "offset": 0, "text": "hello\n"}
    assert (told[0]["job"]["state"], told[-1]["job"]["state"]) == ("running", "canceled")
    assert terminal.err.shown == b""


def test_a_refusal_takes_the_last_line_away():
    terminal = a_terminal(is_tty=True)
    with pytest.raises(NotFound):
        watching.watch(
            terminal, a_launched(Script(events(BEGIN, event("job", **news("running").job)), error(404, "no-such-job")))
        )
    assert terminal.err.shown.endswith(b"\r\x1b[K")


def test_what_is_missing_and_what_happens_is_noted_beside_the_log():
    terminal = a_terminal()
    items = [
        Begun(1),
        Piece(1, 0, b"a"),
        Gap(1, 1, 2048, 1, 2),
        Ended(1, "The attempt has ended, \x1b[31mand the end of its log did not come."),
        Begun(2),
        Away("The panel at x does not answer."),
        Back(),
        Ended(2, ""),
    ]
    watching.show(iter(items), Shown(terminal))
    assert terminal.out.shown == b"a"
    assert terminal.err.shown.decode().splitlines() == [
        "[2.0 KiB of the log are missing here: the host had to drop them]",
        "[The attempt has ended, \ufffd[31mand the end of its log did not come.]",
        "[Attempt 2]",
        "The panel at x does not answer. Trying again until it does; Ctrl-C ends this, not the job.",
        "The panel answers again.",
    ]


def test_where_no_line_can_stay_each_state_is_noted_once_and_what_a_job_waits_for():
    terminal = a_terminal()
    watched = Watched(terminal, a_launched(Script(), state="queued"))
    half = {"step": 5, "total": 10, "percent": 50, "left_s": 3}
    for item in (
        news("queued"),
        news("queued", reason=QUEUED),
        news("queued", reason=QUEUED | {"sentence": "It needs 4 chips; 2 are free."}),
        news("running"),
        news("running", progress=half),
        news("succeeded"),
    ):
        watched.take(item)
    assert terminal.err.shown.decode().splitlines() == [
        "Job 17 is queued: It needs 4 chips; 1 is free.",
        "Job 17 is running.",
    ]


@pytest.mark.parametrize(
    ("job", "bar"),
    [
        (a_job(state="queued", reason=QUEUED), "○ queued  It needs 4 chips; 1 is free."),
        (a_job(), "● running"),
        (a_job(progress={"step": 7, "total": None, "percent": None, "left_s": None}), "● running  step 7"),
        (
            a_job(progress={"step": 5, "total": 10, "percent": 50, "left_s": 72}),
            "● running  [############------------]  50 %  1 min 12 s left",
        ),
        (
            a_job(progress={"step": 10, "total": 10, "percent": 100, "left_s": None}),
            "● running  [########################]  100 %",
        ),
    ],
)
def test_the_last_line_says_how_far_it_is_or_why_it_waits(job, bar):
    assert watching.bar_of(job, a_terminal()) == bar


def failed(data: dict[str, object]) -> Job:
    page = {"results": [{"seq": 3, "code": "job.failed", "data": data}], "head": 3}
    return a_launched(Script(answer({"results": [], "head": 3}), answer(page)), state="failed")


@pytest.mark.parametrize(
    ("job", "status"),
    [
        (a_launched(Script(), state="succeeded"), 0),
        (a_launched(Script(), state="canceled"), 125),
        (failed({"exit_code": 7}), 7),
        (failed({"signal": 9}), 137),
        (failed({"exit_code": 0}), 1),
        (failed({}), 1),
    ],
)
def test_it_ends_as_the_job_did(job, status):
    assert of_job(job) == status


def test_bytes_that_are_no_text_are_exact_as_json():
    terminal = a_terminal()
    JsonLines(terminal).take(Piece(2, 5, b"a\xff"))
    assert json.loads(terminal.out.shown) == {"event": "log", "attempt": 2, "offset": 5, "text": "a\ufffd", "base64": "Yf8="}
