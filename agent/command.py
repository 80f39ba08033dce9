"""What a supervisor is told to run: the spec that the agent writes to its stdin."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

LENGTH_BYTES = 8  # big-endian, in front of the JSON
MOST_BYTES = 64 * 1024 * 1024  # of JSON; more is no spec


class BadSpec(Exception):
    """What came on stdin is cut short, or says nothing that could be run."""


class Command:
    """One rank's command and its surroundings. No dataclass: importing `dataclasses` costs each rank 20 ms and 2 MB."""

    def __init__(
        self,
        *,
        workload_id: str,
        rank_folder: str,
        command: list[str],
        environment: dict[str, str],  # complete: nothing is inherited
        cwd: str,
        secrets: list[str],  # values to mask, of 8 bytes or more
        cap_bytes: int,  # of output kept on this disk
        wake: str = "",  # the agent's datagram socket; "": nobody to wake
        uid: int | None = None,
        gid: int | None = None,
        oom_score_adj: int = 500,  # the kernel ends the command before agent and supervisor
        vmstat: str = "/proc/vmstat",
    ) -> None:
        self.workload_id = workload_id
        self.rank_folder = rank_folder
        self.command = command
        self.environment = {"PYTHONUNBUFFERED": "1"} | environment
        self.cwd = cwd
        self.secrets = secrets
        self.cap_bytes = cap_bytes
        self.wake = wake
        self.uid = uid
        self.gid = gid
        self.oom_score_adj = oom_score_adj
        self.vmstat = vmstat


def read_command(read: Callable[[int], bytes]) -> Command:
    """The whole spec, or BadSpec: the agent died while it wrote, or the two are of different releases."""
    length = int.from_bytes(_exactly(read, LENGTH_BYTES), "big")
    if length > MOST_BYTES:
        raise BadSpec(f"no spec: {length} bytes are announced")
    try:
        spec = json.loads(_exactly(read, length))
        _check(spec)
        return Command(**spec)
    except (KeyError, TypeError, ValueError) as error:
        raise BadSpec(f"bad spec: {error!r}") from error


def _exactly(read: Callable[[int], bytes], size_bytes: int) -> bytes:
    data = read(size_bytes)
    if len(data) < size_bytes:
        raise BadSpec(f"short spec: {len(data)} of {size_bytes} bytes")
    return data


def _check(spec: Mapping[str, object]) -> None:
    """What would otherwise fail after `started` is made. Raises KeyError, TypeError or ValueError."""
    command, environment, secrets = spec["command"], spec["environment"], spec["secrets"]
    if not isinstance(command, list) or not isinstance(environment, dict) or not isinstance(secrets, list):
        raise TypeError("command and secrets are lists, the environment is an object")
    if not command or not command[0]:
        raise ValueError("the command is empty")
    texts = [*command, *environment, *environment.values(), *secrets, spec["cwd"], spec["rank_folder"]]
    if not all(isinstance(text, str) and "\0" not in text for text in texts):
        raise TypeError("words, variables, secrets and paths are texts without NUL")
    if not isinstance(spec["cap_bytes"], int):
        raise TypeError("cap_bytes is a whole number")
