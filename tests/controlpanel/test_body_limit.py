"""A body that nothing here would take is refused before it is written anywhere."""

from __future__ import annotations

import json

import pytest

from controlpanel.body_limit import BodyLimit

pytestmark = pytest.mark.asyncio


class Reader:
    """An application that reads all of the body, as Django does; `read` is what it got."""

    def __init__(self) -> None:
        self.read = b""
        self.was_called = False

    async def __call__(self, scope, receive, send) -> None:
        self.was_called = True
        while True:
            message = await receive()
            self.read += message["body"]
            if not message.get("more_body"):
                break
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"ok"})


async def answer_to(app, *parts, length=None):
    """(status, body) of a request whose body comes in these parts."""
    sent, left = [], list(parts)

    async def receive():
        return {"type": "http.request", "body": left.pop(0), "more_body": bool(left)}

    async def send(message):
        sent.append(message)

    headers = [(b"content-length", str(length).encode())] if length is not None else []
    await BodyLimit(app, most_bytes=1024**2)({"type": "http", "headers": headers}, receive, send)
    return sent[0]["status"], sent[1]["body"]


async def test_what_is_small_enough_passes():
    app = Reader()
    whole = b"x" * 1024**2
    assert await answer_to(app, whole, length=len(whole)) == (200, b"ok")
    assert app.read == whole


async def test_what_says_that_it_is_too_large_is_not_read():
    app = Reader()
    status, body = await answer_to(app, b"x", length=1024**2 + 1)
    assert (status, json.loads(body)["code"], app.was_called) == (413, "request-too-large", False)


@pytest.mark.parametrize("length", [None, 5])
async def test_what_turns_out_to_be_too_large_is_cut_off(length):
    app = Reader()
    half = b"x" * 600_000
    status, body = await answer_to(app, half, half, half, length=length)
    assert (status, json.loads(body)["code"], app.read) == (413, "request-too-large", half)


async def test_websockets_and_the_rest_pass_untouched():
    seen = []

    async def app(scope, receive, send):
        seen.append(await receive())

    async def receive():
        return {"type": "websocket.receive", "bytes": b"x"}

    await BodyLimit(app, most_bytes=10)({"type": "websocket", "headers": []}, receive, None)
    assert seen == [{"type": "websocket.receive", "bytes": b"x"}]
