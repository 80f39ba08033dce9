"""What is asked again, for how long, and what becomes of every answer that is none."""

from __future__ import annotations

import json
import ssl
from datetime import datetime, timedelta, timezone
from email.utils import format_datetime

import httpx
import pytest

from tests.client.fakes import Script, error, events
from tpu_panel import connection as connecting
from tpu_panel.connection import checked_url
from tpu_panel.errors import (
    Conflict,
    Forbidden,
    Invalid,
    NotFound,
    NotSignedIn,
    PanelError,
    TooManyRequests,
    Unreachable,
)

OK = httpx.Response(200, json={"state": "running"})


def test_an_answer_is_its_json_and_the_token_goes_along():
    script = Script(OK)
    assert script.connection().get("jobs/17", {"fields": "state", "state": ["a", "b"], "owner": None, "text": ""}) == {
        "state": "running"
    }
    assert script.asked == ["GET /api/v1/jobs/17?fields=state&state=a&state=b"]
    assert script.requests[0].headers["Authorization"] == "Bearer tpu_x"
    assert script.requests[0].headers["User-Agent"].startswith("tpu-panel-client/")


def test_a_panel_below_a_path_is_asked_there():
    script = Script(OK)
    script.connection(url="https://example.org/panel/").get("me")
    assert str(script.requests[0].url) == "https://example.org/panel/api/v1/me"


@pytest.mark.parametrize(
    "trouble",
    [
        httpx.ConnectError("[Errno 111] Connection refused"),
        httpx.ReadError("reset"),
        httpx.RemoteProtocolError("Server disconnected without sending a response."),
        httpx.ReadTimeout("slow"),
        httpx.Response(502, text="<html>Bad gateway</html>"),
        httpx.Response(503),
        httpx.Response(504),
    ],
)
@pytest.mark.parametrize("method", ["get", "post"])
def test_trouble_on_the_way_is_tried_again(trouble, method):
    script = Script(trouble, OK)
    assert getattr(script.connection(), method)("jobs/17") == {"state": "running"}
    assert len(script.slept) == 1
    assert 0.1 < script.slept[0] < 0.3
    assert len(script.notices) == 1


def test_what_makes_something_carries_the_same_key_each_time_and_another_the_next():
    script = Script(httpx.ReadError("reset"), httpx.Response(503), OK, OK)
    panel = script.connection()
    panel.post("jobs", {"project": "p"})
    panel.post("jobs", {"project": "p"})
    keys = [request.headers["Idempotency-Key"] for request in script.requests]
    assert keys[0] == keys[1] == keys[2] != keys[3]
    assert [json.loads(request.content) for request in script.requests] == [{"project": "p"}] * 4


def test_a_key_of_ones_own_is_taken():
    script = Script(OK)
    script.connection().post("jobs", {}, key="mine")
    assert script.requests[0].headers["Idempotency-Key"] == "mine"


def test_the_waits_grow_to_a_bound_and_end_with_the_patience(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(connecting.time, "monotonic", lambda: now[0])
    script = Script(*[httpx.ConnectError("[Errno 111] Connection refused")] * 50)
    panel = script.connection(patience_s=30)
    panel.sleep = lambda seconds: (script.slept.append(seconds), now.__setitem__(0, now[0] + seconds))[0]
    with pytest.raises(Unreachable) as raised:
        panel.get("me")
    assert raised.value.message == "The panel at http://panel.example does not answer: Connection refused."
    assert (raised.value.code, raised.value.status) == ("unreachable", 0)
    assert 22 < sum(script.slept) <= 30
    assert max(script.slept) <= 5 * 1.25
    assert all(0.75 <= wait_s / min(0.2 * 2**i, 5) <= 1.25 for i, wait_s in enumerate(script.slept))
    assert script.notices == ["The panel at http://panel.example does not answer: Connection refused. Trying again."]


@pytest.mark.parametrize(
    ("trouble", "words"),
    [
        (httpx.ConnectError("[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed"), "CERTIFICATE_VERIFY_FAILED"),
        (httpx.UnsupportedProtocol("no"), "does not answer: no"),
    ],
)
def test_what_will_not_get_better_is_not_tried_again(trouble, words):
    script = Script(trouble)
    with pytest.raises(Unreachable, match=words):
        script.connection().get("me")
    assert ssl and script.slept == []


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, Invalid),
        (401, NotSignedIn),
        (403, Forbidden),
        (404, NotFound),
        (409, Conflict),
        (410, NotFound),
        (413, Invalid),
        (422, Invalid),
        (500, PanelError),
    ],
)
@pytest.mark.parametrize("method", ["get", "post"])
def test_a_refusal_is_the_panels_own_words_and_final(status, kind, method):
    script = Script(error(status, "job-ended", "Job 17 has ended.", job=17))
    with pytest.raises(PanelError) as raised:
        getattr(script.connection(), method)("jobs/17")
    found = raised.value
    assert type(found) is kind
    assert found.as_json() == {"code": "job-ended", "message": "Job 17 has ended.", "details": {"job": 17}, "status": status}
    assert str(found) == "Job 17 has ended."
    assert script.slept == []


def test_who_asks_too_often_waits_as_long_as_is_said():
    script = Script(httpx.Response(429, headers={"Retry-After": "7"}, json=json.loads(error(429, "throttled").content)), OK)
    assert script.connection(patience_s=1).get("me") == {"state": "running"}
    assert script.slept == [7.0]


def test_a_moment_to_come_again_at_is_understood():
    at = format_datetime(datetime.now(timezone.utc) + timedelta(seconds=20), usegmt=True)  # noqa: UP017  as the client has it
    script = Script(httpx.Response(429, headers={"Retry-After": at}), OK)
    script.connection().get("me")
    assert 17 < script.slept[0] <= 20


@pytest.mark.parametrize("said", ["nonsense", "-1", "", "9" * 400])
def test_a_retry_after_that_is_none_does_no_harm(said):
    script = Script(httpx.Response(429, headers={"Retry-After": said}), OK)
    if said.isdecimal():
        with pytest.raises(TooManyRequests):
            script.connection().get("me")
    else:
        assert script.connection().get("me") == {"state": "running"}
        assert script.slept[0] >= 1


def test_a_time_that_is_too_long_to_wait_is_an_error_that_says_it():
    script = Script(httpx.Response(429, headers={"Retry-After": "3600"}))
    with pytest.raises(TooManyRequests) as raised:
        script.connection().get("me")
    assert (raised.value.retry_after_s, raised.value.status, script.slept) == (3600.0, 429, [])


def test_who_is_always_told_to_wait_gives_up():
    script = Script(*[httpx.Response(429, headers={"Retry-After": "1"}) for _ in range(9)])
    with pytest.raises(TooManyRequests):
        script.connection().get("me")
    assert 4 <= len(script.slept) <= 6


@pytest.mark.parametrize(
    "answer",
    [
        httpx.Response(200, text="<html>Welcome to nginx</html>"),
        httpx.Response(404, text="<html>Not found</html>"),
        httpx.Response(404, json=["no", "panel"]),
        httpx.Response(403, json={"error": "login"}),
    ],
)
def test_what_is_no_panel_is_told_apart(answer):
    with pytest.raises(Unreachable, match="Is the address right"):
        Script(answer).connection().get("me")


def test_an_address_that_points_elsewhere_is_not_followed_with_the_token():
    script = Script(httpx.Response(308, headers={"Location": "https://panel.example/api/v1/me"}))
    with pytest.raises(PanelError, match=r"points to https://panel\.example/api/v1/me: use that address"):
        script.connection().get("me")
    assert len(script.requests) == 1


def test_without_a_token_nothing_is_sent():
    script = Script()
    with pytest.raises(NotSignedIn, match=r"tpu-panel login http://panel\.example"):
        script.connection(token="").get("me")


def test_a_stream_is_tried_once_and_its_errors_are_the_same():
    script = Script(events("event: a\ndata: 1"), error(404, "no-such-job"), httpx.ConnectError("refused"), events(cut=True))
    panel = script.connection()
    with panel.stream("jobs/1/log/stream", headers={"Last-Event-ID": "1:2"}) as answer:
        assert answer.read() == b"event: a\ndata: 1\n\n"
    assert script.requests[0].headers["Last-Event-ID"] == "1:2"
    with pytest.raises(NotFound), panel.stream("x"):
        pass
    with pytest.raises(Unreachable), panel.stream("x"):
        pass
    with pytest.raises(Unreachable), panel.stream("x") as answer:
        answer.read()
    assert script.slept == []


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("https://panel.example/", "https://panel.example"),
        ("panel.example", "http://panel.example"),
        (" 127.0.0.1:8000 ", "http://127.0.0.1:8000"),
        ("http://[::1]:8000/below", "http://[::1]:8000/below"),
    ],
)
def test_an_address_is_taken_as_people_write_it(text, url):
    assert checked_url(text) == url


@pytest.mark.parametrize("text", ["", "http://", "ftp://x", "http://a b", "http://x:port", "http://x:0", "http://[::1", "//"])
def test_what_is_no_address_is_told(text):
    with pytest.raises(PanelError, match="is no address of a panel"):
        checked_url(text)
