"""What a browser or script says on the socket /ws/v1, and the frames of log bytes that it gets."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from agent.protocol import PARTS

MAX_BYTES = 64 * 1024  # of a client's message
MAX_LOGS = 1_024  # named in one message, and followed by one subscription
LogKey = tuple[str, int, str]  # workload, rank, part


@dataclass(frozen=True)
class Subscribe:
    """`events_from`: the last event the client has (None: it wants those from now on). `logs`: wanted offset of each, or all.

    All logs begin at their start, or a screen before their end; one that appears later begins at its start. `changes`: the
    count that the client has drawn (None: it shows nothing that is counted).
    """

    subject: str
    events_from: int | None = None
    logs: dict[LogKey, int] | None = None  # None: all of them
    log_from: str = "tail"
    metrics: bool = False  # to be told which metrics have new points
    changes: int | None = None


@dataclass(frozen=True)
class Unsubscribe:
    subject: str


@dataclass(frozen=True)
class Position:
    """The client's word from where on it wants a log."""

    subject: str
    log: LogKey
    offset: int


@dataclass(frozen=True)
class Ping:
    pass


Message = Subscribe | Unsubscribe | Position | Ping


def parse(text: str) -> Message:
    """Raises ValueError for whatever is not a message."""
    data = json.loads(text)
    match data:
        case {"type": "ping"}:
            return Ping()
        case {"type": "unsubscribe", "subject": subject}:
            return Unsubscribe(_address(subject))
        case {"type": "log", "subject": subject}:
            return Position(_address(subject), *_log(data))
        case {"type": "subscribe", "subject": subject}:
            return _subscribe(_address(subject), data)
    raise ValueError("not a message")


def log_fields(subject: str, key: LogKey) -> dict[str, Any]:
    workload, rank, part = key
    return {"subject": subject, "workload": workload, "rank": rank, "part": part}


def log_frame(subject: str, key: LogKey, offset: int, data: bytes) -> bytes:
    """Length of the header (4 bytes, big-endian), header (JSON), then the log's bytes as they are."""
    header = json.dumps({**log_fields(subject, key), "offset": offset}).encode()
    return len(header).to_bytes(4, "big") + header + data


def read_log_frame(frame: bytes) -> tuple[dict[str, Any], bytes]:
    """The header and the log's bytes of such a frame."""
    size = int.from_bytes(frame[:4], "big")
    return json.loads(frame[4 : 4 + size]), frame[4 + size :]


def _subscribe(subject: str, data: dict[str, Any]) -> Subscribe:
    events_from, changes = data.get("events_from"), data.get("changes")
    logs, log_from = data.get("logs", []), data.get("log_from", "tail")
    if log_from not in ("start", "tail"):
        raise ValueError("log_from")
    if logs != "all" and (not isinstance(logs, list) or len(logs) > MAX_LOGS):
        raise ValueError("logs")
    return Subscribe(
        subject=subject,
        events_from=None if events_from is None else _offset(events_from),
        logs=None if logs == "all" else dict(_log(entry) for entry in logs),
        log_from=log_from,
        metrics=data.get("metrics") is True,
        changes=None if changes is None else _offset(changes),
    )


def _address(value: Any) -> str:
    if not isinstance(value, str) or not value.isprintable() or not 0 < len(value) <= 140:  # as long as a Subject's
        raise ValueError("not an address")
    return value


def _log(entry: Any) -> tuple[LogKey, int]:
    match entry:
        case {"workload": str(workload), "rank": int(rank), "part": str(part), "from": offset} if part in PARTS:
            return (str(UUID(workload)), _offset(rank, 2**31), part), _offset(offset)
    raise ValueError("not a log's position")


def _offset(value: Any, limit: int = 2**63) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < limit:
        raise ValueError("not an offset")
    return value
