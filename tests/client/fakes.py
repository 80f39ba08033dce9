"""A panel that says what a test has written down, call by call."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from typing import Any

import httpx

from tpu_panel.cli.terminal import Terminal
from tpu_panel.connection import Connection

Answer = httpx.Response | Exception | Callable[[httpx.Request], httpx.Response]


class Script:
    """Answers in this order, and then fails the test. `requests` is what was asked."""

    def __init__(self, *answers: Answer) -> None:
        self.answers = list(answers)
        self.requests: list[httpx.Request] = []
        self.slept: list[float] = []
        self.notices: list[str] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        request.read()
        self.requests.append(request)
        assert self.answers, f"not expected: {request.method} {request.url}"
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer(request) if callable(answer) else answer

    @property
    def transport(self) -> httpx.MockTransport:
        return httpx.MockTransport(self)

    def connection(self, *, url: str = "http://panel.example", token: str = "tpu_x", patience_s: float = 15) -> Connection:
        return Connection(
            url, token, patience_s=patience_s, transport=self.transport, notice=self.notices.append, sleep=self.slept.append
        )

    @property
    def asked(self) -> list[str]:
        return [f"{request.method} {request.url.raw_path.decode()}" for request in self.requests]


def error(status: int, code: str, message: str = "No.", **details: Any) -> httpx.Response:
    return httpx.Response(status, json={"code": code, "message": message, "details": details})


def events(*blocks: str, cut: bool = False) -> httpx.Response:
    """A stream of these events, which ends as if the line were cut when `cut`."""

    def parts() -> Iterator[bytes]:
        for block in blocks:
            yield f"{block}\n\n".encode()
        if cut:
            raise httpx.ReadError("cut")

    return httpx.Response(200, content=parts(), headers={"Content-Type": "text/event-stream"})


def event(name: str, id: str = "", **data: Any) -> str:
    return (f"id: {id}\n" if id else "") + f"event: {name}\ndata: {json.dumps(data)}"


def a_job(**change: Any) -> dict[str, Any]:
    """As the API answers."""
    return {
        "number": 17,
        "name": "digits",
        "project": "first-project",
        "definition": "digits-tensorflow",
        "version": 1,
        "state": "running",
        "reason": {"code": "", "sentence": ""},
        "progress": None,
        "parameters": {"epochs": 3},
        "resources": {"accelerator": "cpu", "chips": 1, "cluster": ""},
        "source": {"kind": "none"},
        "labels": {},
        "environment": {},
        "secrets": [],
        "retries": {},
        "retry_at": None,
        "relaunch_of": None,
        "created_by": "ada",
        "created_at": "2026-03-01T12:00:00Z",
        "started_at": "2026-03-01T12:00:02Z",
        "ended_at": None,
        "subject": "job:17",
        "workload": "019505c5-7c00-7000-8000-000000000001",
        "link": "/jobs/17",
    } | change


class Screen(io.TextIOWrapper):
    """A stream that may be a terminal."""

    def __init__(self, *, is_tty: bool = False, encoding: str = "utf-8") -> None:
        super().__init__(io.BytesIO(), encoding=encoding, write_through=True)
        self.is_tty = is_tty

    def isatty(self) -> bool:
        return self.is_tty

    @property
    def shown(self) -> bytes:
        self.flush()
        return self.buffer.getvalue()  # type: ignore[attr-defined]


def a_terminal(*, is_tty: bool = False, out_tty: bool | None = None, encoding: str = "utf-8", **environ: str) -> Terminal:
    out = Screen(is_tty=is_tty if out_tty is None else out_tty, encoding=encoding)
    return Terminal(out, Screen(is_tty=is_tty, encoding=encoding), {"TERM": "xterm"} | environ)
