"""A secret is known to its command alone: wherever else what it said or was given is seen or kept, the secret is masked."""

from __future__ import annotations

import base64
import json
import shlex
from urllib.parse import quote

import pytest

from tests.road.listener import LogListener
from tests.road.test_disks import signed_in

SECRET = "open sesame/42+ünd mehr"
FORMS = {
    "plain": SECRET.encode(),
    "base64": base64.b64encode(SECRET.encode()),
    "url": quote(SECRET, safe="").encode(),
    "json": json.dumps(SECRET)[1:-1].encode(),
}
PROGRAM = """
import base64, json, os, sys, time, urllib.parse
secret = os.environ["API_KEY"]
out = sys.stdout.buffer
out.write(b"plain: " + secret.encode() + b"\\n")
out.write(b"base64: " + base64.b64encode(secret.encode()) + b"\\n")
out.write(b"url: " + urllib.parse.quote(secret, safe="").encode() + b"\\n")
out.write(b"json: " + json.dumps({"key": secret}).encode() + b"\\n")
for byte in b"bit by bit: " + secret.encode() + b"\\n":
    out.write(bytes([byte]))
    out.flush()
    time.sleep(0.002)
raise ValueError(f"the server did not take {secret}")
"""
SAYS = ("plain: ", "base64: ", "url: ", "json: ", "bit by bit: ", "ValueError: the server did not take ")


def check_absent(where: str, data: bytes) -> None:
    found = [form for form, text in FORMS.items() if text in data]
    assert not found, f"{where} has the secret: {found}"


@pytest.mark.parametrize("form", FORMS)
def test_the_check_of_this_file_finds_a_secret(form):
    with pytest.raises(AssertionError, match="has the secret"):
        check_absent("a log", b"before " + FORMS[form] + b" after")


def test_a_secret_shows_nowhere_but_to_its_command(world, agent, tmp_path):
    world.client.put("projects/first-project/secrets/API_KEY", json={"value": SECRET}).raise_for_status()
    program, length = tmp_path / "program.py", tmp_path / "length"
    program.write_text(PROGRAM)
    command = (
        f'printf %s "$API_KEY" | wc -c > {length}; set -x; : "$API_KEY"; env | grep API_KEY;'
        f" exec {shlex.quote(str(agent._command[0]))} {program}"
    )
    launched = world.client.post(
        "jobs",
        json={
            "project": "first-project",
            "definition": "command",
            "parameters": {"command": command},
            "secrets": ["API_KEY"],
        },
    ).raise_for_status()
    number = launched.json()["number"]
    with LogListener(world, number) as listener:
        job = world.wait(number)
        assert (job["state"], job["reason"]["code"]) == ("failed", "exit-code")
        listener.hear_for(1)
        heard = bytes(listener.data) + json.dumps(listener.messages).encode()
    assert int(length.read_text()) == len(SECRET.encode())  # it did get it
    text = world.complete_log(number)
    for words in SAYS:
        assert words.encode() in text, f"the log lacks {words!r}"
    assert SAYS[0].encode() in heard
    assert b"API_KEY" in text
    browser = signed_in(world)
    for where, data in {
        "the launch's answer": launched.content,
        "the log": text,
        "the websocket": heard,
        "the panel's own log": world.said().encode(),
        "the agent's own log": agent.said().encode(),
        "the page of the job": browser.get(f"/jobs/{number}").raise_for_status().content,
        "the form of a relaunch": browser.get("/jobs/new", params={"from": number}).raise_for_status().content,
        **{
            path: world.client.get(path).raise_for_status().content
            for path in (
                "jobs",
                f"jobs/{number}",
                f"jobs/{number}/events",
                f"jobs/{number}/attempts",
                f"jobs/{number}/metrics",
                "projects/first-project/secrets",
            )
        },
    }.items():
        check_absent(where, data)
    for folder in (world.folder / "var", agent.state):
        for path in folder.rglob("*"):
            if path.is_file():
                check_absent(str(path), path.read_bytes())
