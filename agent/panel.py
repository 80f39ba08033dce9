"""The panel's HTTP door, as a host uses it: enrol, open a session, claim a rank."""

from __future__ import annotations

import json
import uuid
from typing import Any

import urllib3

from agent.home import Identity
from agent.protocol import Start

SESSION_HEADER = "X-Agent-Session"
ATTEMPTS_S = 10.0  # for one answer; the loop comes again


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
        return Start.from_json(self._post(path, identity.token, {}, {SESSION_HEADER: str(session)}))

    def requirements(self, identity: Identity, digest: str) -> str:
        """A runtime's pinned list. Raises Refused or Unreachable."""
        return str(json.loads(self._get(f"runtimes/{digest}", identity.token))["requirements"])

    def source(self, identity: Identity, digest: str) -> bytes:
        """A source's archive. Raises Refused or Unreachable."""
        return self._get(f"sources/{digest}", identity.token)

    def _get(self, path: str, token: str) -> bytes:
        try:
            answer = self._pool.request("GET", f"{self.address}/agent/v1/{path}", headers={"Authorization": f"Bearer {token}"})
        except urllib3.exceptions.HTTPError as error:
            raise Unreachable(f"{self.address} does not answer: {error}") from error
        if answer.status >= 500:
            raise Unreachable(f"{self.address} answered with status {answer.status}")
        if answer.status >= 400:
            raise Refused(answer.status, "not-found", f"{self.address} has no {path}")
        return answer.data

    def _post(self, path: str, token: str, body: dict[str, Any], headers: dict[str, str] | None = None) -> dict[str, Any]:
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"} | (headers or {})
        try:
            answer = self._pool.request("POST", f"{self.address}/agent/v1/{path}", body=json.dumps(body), headers=headers)
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
