"""A log that is followed comes once, whatever the line and the panel do."""

from __future__ import annotations

import base64

import httpx
import pytest

from tests.client.fakes import Script, a_job, error, event, events
from tpu_panel import following
from tpu_panel.errors import Forbidden, NotFound, NotSignedIn, PanelError
from tpu_panel.following import Away, Back, Begun, Ended, Gap, News, Piece, Which

BEGIN = event("attempt", attempt=1, rank=0, workload="w", part="output", offset=0)
END = event("complete", attempt=1, rank=0, offset=10)
GAP = {"attempt": 1, "offset": 5, "dropped_bytes": 100, "from_ms": 1, "to_ms": 2}


def log(offset: int, text: str = "", *, attempt: int = 1, data: bytes = b"") -> str:
    more = {"base64": base64.b64encode(data).decode()} if data else {}
    size = len(data or text.encode())
    return event("log", f"{attempt}:{offset + size}", attempt=attempt, rank=0, offset=offset, text=text, **more)


def follow(script: Script, **which):
    return list(following.follow_attempt(script.connection(), 17, Which(**which)))


def test_a_log_comes_to_its_end():
    script = Script(events(BEGIN, ": still here", event("job", state="running"), log(0, "hello"), log(5, "Größe"[:4]), END))
    assert follow(script) == [
        Begun(1),
        News({"state": "running"}),
        Piece(1, 0, b"hello"),
        Piece(1, 5, "Größ".encode()),
        Ended(1, ""),
    ]
    assert script.asked == ["GET /api/v1/jobs/17/log/stream?rank=0&part=output"]
    assert script.requests[0].headers["Accept"] == "text/event-stream"


def test_bytes_that_are_no_text_come_as_they_are():
    assert follow(Script(events(BEGIN, log(0, "\ufffd", data=b"\xff\x00"), END)))[1] == Piece(1, 0, b"\xff\x00")


@pytest.mark.parametrize("cut", [True, False])
def test_a_line_that_is_cut_is_taken_up_where_it_was(cut):
    script = Script(
        events(BEGIN, log(0, "hello"), cut=cut),
        events(event("attempt", attempt=1, rank=0, workload="w", part="output", offset=5), log(5, "there"), END),
    )
    assert [item for item in follow(script, tail=9) if isinstance(item, Piece)] == [Piece(1, 0, b"hello"), Piece(1, 5, b"there")]
    assert script.asked[1] == "GET /api/v1/jobs/17/log/stream?rank=0&part=output&tail_lines=9&attempt=1"
    assert "Last-Event-ID" not in script.requests[0].headers
    assert script.requests[1].headers["Last-Event-ID"] == "1:5"


def test_a_line_that_is_cut_before_the_first_byte_is_taken_up_at_the_same_place():
    """The last lines would be others by then."""
    begun = event("attempt", attempt=2, rank=0, workload="w", part="output", offset=40)
    script = Script(events(begun, cut=True), events(begun, log(40, "x", attempt=2), END))
    follow(script, tail=1)
    assert script.requests[1].headers["Last-Event-ID"] == "2:40"


def test_what_comes_twice_is_told_once():
    script = Script(events(BEGIN, log(0, "hello"), cut=True), events(BEGIN, log(0, "hello there"), log(2, "llo"), END))
    assert [item for item in follow(script) if isinstance(item, Piece)] == [Piece(1, 0, b"hello"), Piece(1, 5, b" there")]


def test_a_hole_is_an_error_and_not_passed_over():
    with pytest.raises(PanelError, match="went on at byte 9 of the log, after byte 5"):
        follow(Script(events(BEGIN, log(0, "hello"), log(9, "x"))))


def test_a_gap_is_told_once_though_it_is_told_again_after_a_resume():
    script = Script(
        events(BEGIN, log(0, "hello"), event("gap", rank=0, **GAP), cut=True),
        events(event("gap", rank=0, **GAP), event("gap", rank=0, **GAP | {"offset": 7}), END),
    )
    assert [item for item in follow(script) if isinstance(item, Gap)] == [Gap(**GAP), Gap(**GAP | {"offset": 7})]


@pytest.mark.parametrize("name", ["incomplete", "failure"])
def test_an_end_with_something_missing_says_what(name):
    script = Script(events(BEGIN, event(name, attempt=1, rank=0, offset=0, code="no-log", message="It printed nothing.")))
    assert follow(script)[-1] == Ended(1, "It printed nothing.")


def test_a_panel_that_is_away_is_waited_for_without_an_end_and_that_is_told_once():
    refused = httpx.ConnectError("[Errno 111] Connection refused")
    script = Script(
        events(BEGIN, cut=True), *[refused] * 40, httpx.Response(502), error(500, "internal"), events(log(0, "x"), END)
    )
    items = follow(script)
    assert [type(item) for item in items] == [Begun, Away, Back, Piece, Ended]
    assert items[1].sentence == "The panel at http://panel.example does not answer: Connection refused."
    assert max(script.slept) <= 5 * 1.25


def test_one_quick_reconnect_is_no_news():
    script = Script(events(BEGIN, log(0, "a"), cut=True), events(log(1, "b"), cut=True), events(log(2, "c"), END))
    assert not [item for item in follow(script) if isinstance(item, Away | Back)]
    assert all(wait_s < 0.3 for wait_s in script.slept)  # each time it got on begins anew


@pytest.mark.parametrize(("status", "kind"), [(404, NotFound), (403, Forbidden), (422, PanelError)])
def test_a_refusal_ends_it(status, kind):
    with pytest.raises(kind):
        follow(Script(events(BEGIN, cut=True), error(status, "no")))


@pytest.mark.parametrize(("code", "kind"), [("no-such-job", NotFound), ("not-signed-in", NotSignedIn)])
def test_whose_right_is_taken_away_is_told_so(code, kind):
    with pytest.raises(kind, match="not in its team any more"):
        follow(Script(events(BEGIN, event("refused", code=code, message="You are not in its team any more."))))


# -- From one attempt to the next ----------------------------------------------------------------------------------


def waited(**change) -> httpx.Response:
    return httpx.Response(200, content=b"  " + httpx.Response(200, json=a_job(**change)).content)


def attempts(*numbers: int) -> httpx.Response:
    return httpx.Response(200, json={"results": [{"number": number} for number in numbers]})


def test_the_attempts_after_it_are_followed_to_the_end_of_the_job():
    second = [event("attempt", attempt=2, rank=0, workload="v", part="output", offset=0), log(0, "two", attempt=2)]
    script = Script(
        events(BEGIN, log(0, "one"), END),
        waited(state="queued"),
        attempts(1),
        waited(state="queued"),
        attempts(1, 2),
        events(*second, event("complete", attempt=2, rank=0, offset=3)),
        waited(state="failed"),
        attempts(1, 2),
    )
    items = list(following.follow_job(script.connection(), 17, Which(tail=5)))
    assert [item for item in items if isinstance(item, Piece)] == [Piece(1, 0, b"one"), Piece(2, 0, b"two")]
    assert script.asked[5] == "GET /api/v1/jobs/17/log/stream?rank=0&part=output&attempt=2"  # no tail: all of it is new


def test_an_attempt_that_was_over_by_then_is_not_passed_over():
    script = Script(
        events(BEGIN, END),
        waited(state="succeeded"),
        attempts(1, 2),
        events(event("attempt", attempt=2, rank=0, workload="v", part="output", offset=0), log(0, "2", attempt=2), END),
        waited(state="succeeded"),
        attempts(1, 2),
    )
    items = list(following.follow_job(script.connection(), 17, Which()))
    assert Piece(2, 0, b"2") in items


def test_a_wait_that_ends_without_an_answer_is_asked_again():
    script = Script(httpx.Response(200, content=b"   "), waited(state="succeeded"))
    assert following.wait_once(script.connection(), 17, 4.2)["state"] == "succeeded"
    assert script.asked == ["GET /api/v1/jobs/17/wait?timeout_s=5"] * 2
