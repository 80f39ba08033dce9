"""Who leaves a team has nothing of it open a minute later: no socket, no stream, no page, no token."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Iterator
from contextlib import suppress

import httpx
import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from tests.road.listener import LogListener
from tests.road.world import World, until

PROMISED_S = 60
NO_LONGER_ADMITTED = 4403


@pytest.fixture
def chatty(world: World, agent, tmp_path) -> Iterator[int]:
    """A job that prints until the test is over."""
    number = world.launch(f"i=0; while [ ! -e {tmp_path}/go ]; do i=$((i+1)); echo line $i; sleep 0.1; done")
    world.wait(number, "running")
    yield number
    (tmp_path / "go").touch()
    assert world.wait(number)["state"] == "succeeded"  # what others launched runs on


class Stream:
    """A follower of the log by server-sent events, in a thread of its own."""

    def __init__(self, world: World, number: int, token: str) -> None:
        self.text, self.ended_at = "", 0.0
        self._address = f"{world.url}/api/v1/jobs/{number}/log/stream"
        self._headers = {"Authorization": f"Bearer {token}"}
        threading.Thread(target=self._read, daemon=True).start()
        until(lambda: "line 1" in self.text, what="the stream")

    def _read(self) -> None:
        with suppress(httpx.HTTPError), httpx.stream("GET", self._address, headers=self._headers, timeout=90) as answer:
            for part in answer.iter_text():
                self.text += part
        self.ended_at = time.monotonic()


def token_of(world: World, name: str, *options: str) -> str:
    return world.manage("issue_token", name, "--name", "laptop", *options).strip()


def test_who_is_removed_hears_nothing_more_and_keeps_their_other_team(world: World, chatty: int):
    world.manage("add_team", "speech")
    for team in ("first-team", "speech"):
        world.manage("add_user", "ada", "--team", team)
    token = token_of(world, "ada")
    client, stream = world.client_of(token), Stream(world, chatty, token)
    with LogListener(world, chatty, token=token) as listener:
        listener.hear_until(30)
        assert world.client.delete("teams/first-team/members/ada").status_code == 204
        removed_at = time.monotonic()
        assert client.get(f"jobs/{chatty}").status_code == 404
        assert client.get("jobs").json()["results"] == []
        until(
            lambda: any(message["type"] == "refused" for message in listener.messages) or listener.hear_for(1),
            PROMISED_S,
            "refused",
        )
        until(lambda: stream.ended_at, PROMISED_S - (time.monotonic() - removed_at), "the stream's end")
        assert "event: refused" in stream.text
        had = len(listener.data)
        listener.hear_for(2)
        assert len(listener.data) == had
    assert [team["slug"] for team in client.get("me").json()["teams"]] == ["speech"]
    assert client.get(f"jobs/{chatty}/log/stream").status_code == 404


def test_who_leaves_their_last_team_is_put_out_with_their_token(world: World, chatty: int):
    world.manage("add_user", "bob")
    token = token_of(world, "bob", "--scope", "admin")
    client, stream = world.client_of(token), Stream(world, chatty, token)
    child = client.post("tokens", json={"name": "child", "scope": "read"}).json()["text"]
    with LogListener(world, chatty, token=token) as listener, LogListener(world, chatty, token=child) as other:
        listener.hear_until(30)
        assert client.delete("teams/first-team/members/bob").status_code == 204
        for one in (listener, other):
            with pytest.raises(ConnectionClosed) as closed:
                one.hear_for(PROMISED_S)
            assert closed.value.rcvd and closed.value.rcvd.code == NO_LONGER_ADMITTED
        until(lambda: stream.ended_at, 20, "the stream's end")
    for text in (token, child):
        assert world.client_of(text).get("me").status_code == 401


def test_who_is_deactivated_is_out_of_the_browser_too(world: World, chatty: int):
    said = world.manage("add_user", "eve")
    password = re.search(r"password (\S+)", said)[1]  # type: ignore[index]
    browser = httpx.Client(base_url=world.url)
    page = browser.get("/sign-in").text
    secret = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', page)[1]  # type: ignore[index]
    form = {"username": "eve", "password": password, "csrfmiddlewaretoken": secret}
    assert browser.post("/sign-in", data=form).headers["Location"] == "/"
    cookie = "; ".join(f"{name}={value}" for name, value in browser.cookies.items())
    address = world.url.replace("http", "ws", 1) + "/ws/v1"
    with connect(address, additional_headers={"Cookie": cookie, "Origin": world.url}) as socket:
        socket.send(json.dumps({"type": "subscribe", "subject": f"job:{chatty}", "logs": []}))
        assert '"subscribed"' in socket.recv(10)
        assert browser.get(f"/jobs/{chatty}").status_code == 200
        world.manage("deactivate_user", "eve")
        deadline = time.monotonic() + PROMISED_S
        with pytest.raises(ConnectionClosed) as closed:
            while True:
                socket.recv(deadline - time.monotonic())
    assert closed.value.rcvd and closed.value.rcvd.code == NO_LONGER_ADMITTED
    assert browser.get(f"/jobs/{chatty}").headers["Location"].startswith("/sign-in")
