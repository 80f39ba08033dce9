"""A job from Python: waiting, its log, its end."""

from __future__ import annotations

import httpx
import pytest

from tests.client.fakes import Script, a_job, error, event, events
from tpu_panel.errors import Conflict, WaitTimeout
from tpu_panel.job import PIECE_BYTES, Job


def job(script: Script, **change) -> Job:
    return Job(script.connection(), a_job(**change))


def answer(**change) -> httpx.Response:
    return httpx.Response(200, json=a_job(**change))


def test_a_job_says_what_the_answer_says():
    found = job(Script(), state="failed", reason={"code": "exit-code", "sentence": "It ended."})
    assert (found.number, found.name, found.project, found.state, found.reason, found.reason_code, found.has_ended) == (
        17,
        "digits",
        "first-project",
        "failed",
        "It ended.",
        "exit-code",
        True,
    )
    assert found.url == "http://panel.example/jobs/17"
    assert repr(found) == "<Job 17 digits failed>"


def test_it_is_waited_for_in_pieces_until_it_has_ended():
    script = Script(answer(), answer(state="succeeded"))
    found = job(script)
    assert found.wait() is found
    assert (found.state, script.asked) == ("succeeded", ["GET /api/v1/jobs/17/wait?timeout_s=60"] * 2)


def test_a_wait_that_takes_too_long_is_an_error_of_two_kinds():
    script = Script(answer())
    with pytest.raises(TimeoutError) as raised:
        job(script).wait(0)
    assert isinstance(raised.value, WaitTimeout)
    assert (raised.value.code, raised.value.message) == ("wait-timeout", "Job 17 is running after 0 s, and goes on.")
    assert script.asked == ["GET /api/v1/jobs/17/wait?timeout_s=0"]


def test_cancel_and_relaunch_are_asked_for():
    script = Script(answer(state="stopping"), httpx.Response(201, json=a_job(number=18)), error(409, "job-ended"))
    found = job(script)
    assert found.cancel(force=True).state == "stopping"
    assert found.relaunch().number == 18
    assert script.asked == ["POST /api/v1/jobs/17/cancellation", "POST /api/v1/jobs/17/relaunch"]
    assert script.requests[0].content == b'{"force":true}'
    with pytest.raises(Conflict):
        found.cancel()


@pytest.mark.parametrize(
    ("state", "data", "code"),
    [
        ("failed", {"exit_code": 3}, 3),
        ("failed", {"signal": 11}, 139),
        ("failed", {"exit_code": 0}, 0),
        ("failed", {"detail": "x"}, None),
    ],
)
def test_an_exit_code_is_what_the_last_failure_says(state, data, code):
    earlier = {"seq": 3, "code": "job.failed", "data": {"exit_code": 9}}
    page = {"results": [earlier, {"seq": 30, "code": "job.failed", "data": data}], "head": 30}
    script = Script(httpx.Response(200, json={"results": [], "head": 30}), httpx.Response(200, json=page))
    assert job(script, state=state).exit_code == code
    assert script.asked[1] == "GET /api/v1/jobs/17/events?since=10"


def test_a_success_is_0_and_other_ends_have_no_code():
    assert [job(Script(), state=state).exit_code for state in ("succeeded", "canceled", "running")] == [0, None, None]


def test_events_are_read_page_by_page():
    pages = [{"results": [{"seq": 1}, {"seq": 2}], "head": 3}, {"results": [{"seq": 3}], "head": 3}]
    script = Script(*[httpx.Response(200, json=page) for page in pages])
    assert [one["seq"] for one in job(script).events()] == [1, 2, 3]
    assert script.asked[1].endswith("events?since=2")


def piece(data: bytes, offset: int, head: int) -> httpx.Response:
    headers = {"X-Log-Next": str(offset + len(data)), "X-Log-Head": str(head), "X-Log-Workload": "w"}
    return httpx.Response(200, content=data, headers=headers)


def test_what_is_stored_is_read_in_pieces_up_to_where_it_was_at_the_beginning():
    script = Script(piece(b"abc", 0, 8), httpx.ReadError("cut"), piece(b"defgh", 3, 999))
    assert list(job(script).log_bytes(follow=False, attempt=2, tail=9)) == [b"abc", b"defgh"]
    assert script.asked == [
        f"GET /api/v1/jobs/17/log?rank=0&part=output&attempt=2&tail_lines=9&limit={PIECE_BYTES}",
        *["GET /api/v1/jobs/17/log?rank=0&part=output&workload=w&offset=3&limit=5"] * 2,
    ]


def test_an_empty_log_is_no_bytes():
    assert list(job(Script(piece(b"", 0, 0))).logs(follow=False)) == []


def test_lines_are_text_however_the_bytes_come():
    script = Script(piece("größ".encode()[:3], 0, 12), piece(b"\xb6\xc3\x9fer\nx\r\n\xff", 3, 12), piece(b"", 12, 12))
    assert list(job(script).logs(follow=False)) == ["größer", "x\r", "\ufffd"]


def test_who_follows_gets_the_bytes_alone():
    begun = event("attempt", attempt=1, rank=0, workload="w", part="output", offset=0)
    stream = [begun, event("log", "1:4", attempt=1, offset=0, text="a\nbc"), event("complete", attempt=1, rank=0, offset=4)]
    script = Script(
        events(*stream), answer(state="succeeded"), httpx.Response(200, json={"results": [{"number": 1}]}), events(*stream)
    )
    found = job(script)
    assert list(found.logs()) == ["a", "bc"]
    assert list(found.log_bytes(attempt=1)) == [b"a\nbc"]
