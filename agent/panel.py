"""The panel's HTTP door, as a host uses it: enrol, open a session, claim a rank, bring a file."""

from __future__ import annotations

import io
import json
import uuid
from typing import Any

import urllib3

from agent.home import Identity
from agent.protocol import Start

SESSION_HEADER = "X-Agent-Session"
ATTEMPTS_S = 10.0  # for one answer; the loop comes again
PIECE_TIMEOUT = urllib3.Timeout(connect=ATTEMPTS_S, read=ATTEMPTS_S)  # of each write, and for the answer


class Unreachable(Exception):
    """No answer, or none that a panel gives: try again later."""


class Refused(Exception):
    """The panel's answer is no. `status` is HTTP's, `code` the panel's own word."""

    def __init__(self, status: int, code: str, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status
        self.code = code
        self.sentence = sentence


class Panel:
    """Speaks for one host. Thread-safe."""

    def __init__(self, address: str) -> None:
        self.address = address.rstrip("/")
        self._pool = urllib3.PoolManager(
            maxsize=8, retries=False, timeout=urllib3.Timeout(connect=3, read=ATTEMPTS_S), headers={"User-Agent": "panel-agent"}
        )

    def enrol(self, *, token: str, machine_id: str, name: str, chips: int) -> Identity:
        """Spend the one-time `token`. Raises Refused or Unreachable."""
        answer = self._post("enrolment", token, {"machine_id": machine_id, "name": name, "chips": chips})
        return Identity(panel=self.address, host_id=answer["host_id"], token=answer["token"], redis_url=answer["redis_url"])

    def open_session(self, identity: Identity, *, instance_id: str, boot_id: str, machine_id: str, version: str) -> int:
        """The number that every call and message carries from now on. Raises Refused or Unreachable."""
        body = {"instance_id": instance_id, "boot_id": boot_id, "machine_id": machine_id, "agent_version": version}
        return int(self._post("session", identity.token, body)["session"])

    def claim(self, identity: Identity, session: int, workload_id: uuid.UUID, rank: int) -> Start:
        """The right to start this rank, and what it is to run. Raises Refused or Unreachable."""
        path = f"workloads/{workload_id}/ranks/{rank}/claim"
        return Start.from_json(self._post(path, identity.token, {}, _headers(identity.token, session)))

    def requirements(self, identity: Identity, digest: str) -> str:
        """A runtime's pinned list. Raises Refused or Unreachable."""
        return str(json.loads(self._get(f"runtimes/{digest}", identity.token))["requirements"])

    def source(self, identity: Identity, digest: str) -> bytes:
        """A source's archive. Raises Refused or Unreachable."""
        return self._get(f"sources/{digest}", identity.token)

    def put_piece(
        self, identity: Identity, session: int, fetch_id: int, data: bytes, *, offset: int, size_bytes: int
    ) -> int | None:
        """Bring bytes of a file; the offset of those wanted next, None when the panel has all. Raises Refused or Unreachable."""
        answer = self._ask(
            "PUT",
            f"fetches/{fetch_id}?offset={offset}&size={size_bytes}",
            body=io.BytesIO(data),  # written in small blocks: a time-out is for each, not for all of them
            headers=_headers(identity.token, session) | {"Content-Length": str(len(data))},
            timeout=PIECE_TIMEOUT,
        )
        return None if answer["complete"] else int(answer["offset"])

    def fetch_failed(self, identity: Identity, session: int, fetch_id: int, sentence: str, *, is_gone: bool) -> None:
        """Say why a file does not come. Raises Refused or Unreachable."""
        body = {"sentence": sentence, "gone": is_gone}
        self._post(f"fetches/{fetch_id}/failure", identity.token, body, _headers(identity.token, session))

    def _get(self, path: str, token: str) -> bytes:
        try:
            answer = self._pool.request("GET", f"{self.address}/agent/v1/{path}", headers=_headers(token))
        except urllib3.exceptions.HTTPError as error:
            raise Unreachable(f"{self.address} does not answer: {error}") from error
        if answer.status >= 500:
            raise Unreachable(f"{self.address} answered with status {answer.status}")
        if answer.status >= 400:
            raise Refused(answer.status, "not-found", f"{self.address} has no {path}")
        return answer.data

    def _post(self, path: str, token: str, body: dict[str, Any], headers: dict[str, str] | None = None) -> dict[str, Any]:
        headers = _headers(token) | {"Content-Type": "application/json"} | (headers or {})
        return self._ask("POST", path, body=json.dumps(body), headers=headers)

    def _ask(self, method: str, path: str, **request: Any) -> dict[str, Any]:
        try:
            answer = self._pool.request(method, f"{self.address}/agent/v1/{path}", **request)
            found = json.loads(answer.data)
        except urllib3.exceptions.HTTPError as error:
            raise Unreachable(f"{self.address} does not answer: {error}") from error
        except ValueError as error:
            raise Unreachable(f"{self.address} gave an answer that is not the panel's (status {answer.status})") from error
        if answer.status >= 500 or not isinstance(found, dict):
            raise Unreachable(f"{self.address} answered with status {answer.status}")
        if answer.status >= 400:
            raise Refused(answer.status, str(found.get("code")), str(found.get("message")))
        return found


def _headers(token: str, session: int | None = None) -> dict[str, str]:
    headers = {"Authorization": f"Bearer {token}"}
    return headers if session is None else headers | {SESSION_HEADER: str(session)}
