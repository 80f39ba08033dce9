"""How the command ends whatever comes: with one sentence and a status, and never with a traceback."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.client.fakes import a_job

CLIENT = Path(__file__).parents[2] / "client"


class Odd(BaseHTTPRequestHandler):
    """Answers everything with what the test has written down; without it, it is silent until the test is over."""

    body: bytes | None = b""
    was_asked: threading.Event
    is_over: threading.Event

    def do_GET(self) -> None:
        self.was_asked.set()
        if self.body is None:
            self.is_over.wait(30)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(self.body)))
        self.end_headers()
        self.wfile.write(self.body)

    do_POST = do_GET

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def odd() -> Iterator[type[Odd]]:
    kind = type("_Odd", (Odd,), {"was_asked": threading.Event(), "is_over": threading.Event()})
    server = ThreadingHTTPServer(("127.0.0.1", 0), kind)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    kind.url = f"http://127.0.0.1:{server.server_port}"
    yield kind
    kind.is_over.set()
    server.shutdown()
    server.server_close()


def started(url: str, *words: str, **more: object) -> subprocess.Popen[bytes]:
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(CLIENT), "PANEL_URL": url, "PANEL_TOKEN": "tpu_x"}
    environment |= more.pop("environment", {})
    command = [sys.executable, "-m", "tpu_panel", *words]
    usual = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "stdin": subprocess.DEVNULL}
    # A shell that runs the tests in the background has them ignore Ctrl-C, which their children would inherit.
    return subprocess.Popen(["env", "--default-signal=INT", *command], env=environment, **(usual | more))


def ended(url: str, *words: str, **more: object) -> tuple[int, str]:
    """(status, what it says beside its result)."""
    process = started(url, *words, **more)
    _out, said = process.communicate(timeout=30)
    return process.returncode, said.decode()


PAGE = b"<!doctype html><title>Sign in to the proxy</title>"
COMMANDS = [
    ["jobs"],
    ["job", "17"],
    ["hosts"],
    ["metrics", "17"],
    ["wait", "17"],
    ["cancel", "17"],
    ["logs", "17"],
    ["launch", "digits"],
    ["login"],
]


@pytest.mark.parametrize("words", COMMANDS, ids=[words[0] for words in COMMANDS])
def test_an_answer_of_a_strange_shape_is_told_in_a_sentence(odd, tmp_path, words):
    stdin = tmp_path / "token"
    stdin.write_text("tpu_x\n")
    for body in (
        PAGE,
        b"[]",
        b'{"results": [{}], "number": 17}',
        b'{"results": 7, "metrics": [1]}',
        b"null",
        b"\xff",
        b"[" * 99_999,
    ):
        odd.body = body
        with stdin.open() as token:
            config = {"PANEL_CONFIG": str(tmp_path / "config.json")}
            status, said = ended(odd.url, *words, "--patience", "1", stdin=token, environment=config)
        assert (status, said.count("\n"), "Traceback" in said) == (69, 1, False), (body[:40], status, said)
        assert not (tmp_path / "config.json").exists()


def test_a_closed_pipe_ends_it_without_a_word(odd):
    odd.body = json.dumps({"results": [a_job(number=number) for number in range(3000)], "next_cursor": None}).encode()
    process = started(odd.url, "jobs", "--all")
    assert process.stdout and process.stderr
    process.stdout.readline()
    process.stdout.close()
    assert (process.stderr.read(), process.wait(30)) == (b"", 141)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="Linux has this")
def test_a_full_disk_is_told(odd):
    odd.body = json.dumps({"results": [a_job()], "next_cursor": None}).encode()
    with Path("/dev/full").open("w") as full:
        assert ended(odd.url, "jobs", stdout=full) == (
            1,
            "tpu-panel: the result cannot be written: No space left on device.\n",
        )


def test_without_an_output_it_does_its_work(odd):
    odd.body = json.dumps({"results": [a_job()], "next_cursor": None}).encode()
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(CLIENT), "PANEL_URL": odd.url, "PANEL_TOKEN": "tpu_x"}
    command = f"{sys.executable} -m tpu_panel jobs >&- 2>&-"
    assert subprocess.run(command, shell=True, env=environment, timeout=30, check=False).returncode == 0


def test_an_interruption_is_told(odd):
    odd.body = None
    process = started(odd.url, "jobs")
    assert odd.was_asked.wait(20)
    process.send_signal(signal.SIGINT)
    _out, said = process.communicate(timeout=30)
    assert (process.returncode, said) == (130, b"Interrupted.\n")


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"url": 7}', "\udcff", "[" * 99_999], ids=["cut", "list", "number", "bytes", "nested"]
)
def test_a_broken_config_is_told(tmp_path, text):
    place = tmp_path / "config.json"
    place.write_text(text, errors="surrogateescape")
    status, said = ended("", "jobs", environment={"PANEL_CONFIG": str(place), "PANEL_TOKEN": ""})
    assert (status, said.count("\n")) == (1, 1) and "Delete it, and sign in again." in said


def test_a_folder_that_cannot_be_written_is_told(odd, tmp_path):
    odd.body = b'{"username": "ada", "scope": "launch", "teams": []}'
    (tmp_path / "file").write_text("")
    token = tmp_path / "token"
    token.write_text("tpu_x\n")
    config = {"PANEL_CONFIG": str(tmp_path / "file" / "config.json")}
    status, said = ended(odd.url, "login", "--token-file", str(token), environment=config)
    assert (status, said.count("\n")) == (1, 1) and "cannot be written" in said
