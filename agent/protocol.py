"""What the panel and a host say to each other: key names, message fields, states and causes.

The only module of the agent that the panel imports, and so standard library only. Both halves of one
release speak `VERSION`; each message carries it, and a reader takes its own and the one before.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

VERSION = 1

# -- Redis keys of one host ------------------------------------------------------------------------
# The host's Redis user may touch `host:<id>:*` and nothing else.


def key_prefix(host_id: str) -> str:
    return f"host:{host_id}:"


def orders_key(host_id: str) -> str:
    """The host's Celery queue: `orders` to the host, whose app has the prefix, this name to the panel."""
    return key_prefix(host_id) + "orders"


def reports_key(host_id: str) -> str:
    """Stream of reports, host to panel. The panel deletes what it has stored."""
    return key_prefix(host_id) + "reports"


def acks_key(host_id: str) -> str:
    """Hash: file -> next offset wanted, or one of the words below. The panel writes it, the host reads it."""
    return key_prefix(host_id) + "acks"


ACK_REFUSED = "refused"  # drop the file: the panel never takes it
ACK_HOLD = "hold"  # ship no log until told: the panel's disk guard

# -- Orders, panel to host (a Celery message carries ids only) ----------------------------------------

ORDER_TASK = "agent.worker.take_order"  # args: order id, kind, workload id, data (small, no secrets)
ORDER_START = "start"  # data: {"rank": number of the rank that this host is to claim}
ORDER_STOP = "stop"  # data: {"grace_s": seconds from TERM to KILL}
# data: {"fetch": id, "files_root": as in Start, "folder": below it, "path": of the file below that folder}
ORDER_FETCH_FILE = "fetch-file"
FETCH_PIECE_BYTES = 4 * 1024 * 1024  # a file goes to the panel in pieces of so many bytes; the last is shorter

# -- Ranks ---------------------------------------------------------------------------------------------

PREPARING, READY, RUNNING, ENDED = "preparing", "ready", "running", "ended"  # what a host reports of a rank

PART_PREPARE = "prepare"  # what fetching and building printed, and why a start failed
PART_OUTPUT = "output"  # what the command printed, to the byte
PARTS = (PART_PREPARE, PART_OUTPUT)

# Why a rank ended. `exited` and `signaled` are the command's own doing.
CAUSE_EXITED = "exited"
CAUSE_SIGNALED = "signaled"
CAUSE_STOPPED = "stopped"  # ended after the panel's TERM or KILL
CAUSE_OUT_OF_MEMORY = "out-of-memory"  # the kernel's OOM killer
CAUSE_NOT_STARTED = "not-started"  # the claim was refused, or a stop came before the start
CAUSE_COMMAND_NOT_FOUND = "command-not-found"
CAUSE_PREPARE_FAILED = "prepare-failed"
CAUSE_SUPERVISOR_LOST = "supervisor-lost"
CAUSE_FOLDER_GONE = "folder-gone"  # its command, or someone else, has deleted what the host knew of it
CAUSE_HOST_REBOOTED = "host-rebooted"
CAUSE_HOST_STATE_LOST = "host-state-lost"

# Environment variable that marks every process of a workload, and of a host; how leftovers are found.
ENV_WORKLOAD = "PANEL_WORKLOAD_ID"
ENV_HOST = "PANEL_HOST_ID"


@dataclass(frozen=True)
class Start:
    """The claim's answer: what one rank is to run. Secrets are in it, so it never touches a disk whole."""

    workload_id: str
    rank: int
    ranks: int
    command: list[str]
    environment: dict[str, str]
    secrets: dict[str, str]  # variable name -> value; set in the environment, masked in the log
    chips: list[int]  # local indices on this host
    stop_grace_s: int
    source: dict[str, Any] = field(default_factory=lambda: {"kind": "none"})  # or {"kind": "archive", "digest", "title"}
    runtime: dict[str, str] | None = None  # {"name", "digest"}
    files_root: str = ""  # a path that the cluster's hosts share; "": a folder of this host
    output: str = ""  # folder below it for this attempt's files
    checkpoints: str = ""  # folder below it for the job's checkpoints
    lists_files: bool = True  # of ranks that see the same files one tells of them

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Start:
        known = {name: data[name] for name in cls.__dataclass_fields__ if name in data}
        return cls(**known)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def _json(data: bytes) -> Any:
    """Raises ValueError, also for what is nested for ever."""
    try:
        return json.loads(data)
    except RecursionError:
        raise ValueError("nested too deeply") from None


@dataclass(frozen=True)
class RankReport:
    """One line of a rank's `states` file: the host says what state the rank has reached.

    `at_ms` is the host's clock (Unix milliseconds), for display only: order is the file's order.
    The fields from `exit_code` on belong to `ended`, which also means: no process of it is left.
    """

    state: str
    at_ms: int
    detail: str = ""
    exit_code: int | None = None
    signal: int | None = None
    cause: str = ""
    final_offsets: dict[str, int] = field(default_factory=dict)  # part -> bytes; a log is complete there

    def line(self) -> bytes:
        return json.dumps({k: v for k, v in asdict(self).items() if v not in (None, "", {})}).encode() + b"\n"

    @classmethod
    def from_line(cls, line: bytes) -> RankReport:
        """Raises ValueError when the line is not a report."""
        data = _json(line)
        if not isinstance(data, dict) or data.get("state") not in (PREPARING, READY, RUNNING, ENDED):
            raise ValueError("not a rank report")
        return cls(**{name: data[name] for name in cls.__dataclass_fields__ if name in data})


STEP_LIMIT = 2**62
LAST_MS = 253_402_300_799_000  # Unix milliseconds of what a calendar can hold: the year 9999


@dataclass(frozen=True)
class PointsLine:
    """One line of a rank's `points` file: what one reading of one source brought, many points at once.

    `source` and `until` are the file that was read and the offset up to which: there the next reading goes on, a new
    agent's too. `series` maps a metric's name to equally long columns: steps, Unix milliseconds, values. NaN and
    infinities are values.
    """

    source: str
    until: int
    series: dict[str, tuple[list[int], list[int], list[float]]]

    def line(self) -> bytes:
        return json.dumps({"f": self.source, "o": self.until, "p": self.series}, separators=(",", ":")).encode() + b"\n"

    @classmethod
    def from_line(cls, line: bytes) -> PointsLine:
        """Without points that are none. Raises ValueError when it is no such line, or its columns are of different lengths."""
        try:
            data = _json(line)
            series = {str(name): _sound(list(s), list(w), list(vs)) for name, (s, w, vs) in data["p"].items()}
            return cls(source=str(data["f"]), until=int(data["o"]), series=series)
        except (KeyError, TypeError, AttributeError, OverflowError) as error:
            raise ValueError(f"not a line of points: {error!r}") from error


def _sound(steps: list[int], walls: list[int], values: list[float]) -> tuple[list[int], list[int], list[float]]:
    if not len(steps) == len(walls) == len(values):
        raise ValueError("columns of different lengths")
    points = [point for point in zip(steps, walls, values, strict=True) if is_point(*point)]
    return [step for step, _, _ in points], [wall for _, wall, _ in points], [float(value) for _, _, value in points]


def is_point(step: object, wall_ms: object, value: object) -> bool:
    """Whether these are numbers that the panel's columns hold."""
    if not isinstance(step, int) or not isinstance(wall_ms, int) or not isinstance(value, (int, float)):
        return False
    is_held = isinstance(value, float) or abs(value) < 2**1023
    return is_held and -STEP_LIMIT <= step <= STEP_LIMIT and 0 <= wall_ms <= LAST_MS


AREA_OUTPUT = "output"  # the attempt's own folder
AREA_CHECKPOINTS = "checkpoints"  # the folder that all attempts of a job share
AREAS = (AREA_OUTPUT, AREA_CHECKPOINTS)
MOST_FILES = 10_000  # of a rank; what is beyond is not told
MOST_PATH = 500  # characters; a file with a longer path is not told


@dataclass(frozen=True)
class FileLine:
    """One line of a rank's `files` file: a file that is new or has changed, or that is gone.

    `path` is relative to its area's folder, with slashes. The line without a path says that the rank has more files than
    are told (MOST_FILES).
    """

    area: str
    path: str
    size_bytes: int = 0
    modified_ms: int = 0
    gone: bool = False

    def line(self) -> bytes:
        fields: dict[str, Any] = {"a": self.area, "p": self.path}
        fields |= {"gone": True} if self.gone else {"s": self.size_bytes, "m": self.modified_ms}
        return json.dumps(fields, separators=(",", ":")).encode() + b"\n"

    @classmethod
    def from_line(cls, line: bytes) -> FileLine:
        """Raises ValueError when the line is not such a line, or its path leads out of its area."""
        try:
            data = _json(line)
            gone = data.get("gone", False) is True
            found = cls(data["a"], data["p"], *((0, 0) if gone else (int(data["s"]), int(data["m"]))), gone=gone)
        except (KeyError, TypeError, AttributeError, OverflowError) as error:
            raise ValueError(f"not a line of files: {error!r}") from error
        if found.area not in AREAS or not 0 <= found.size_bytes < 2**63 or not 0 <= found.modified_ms <= LAST_MS:
            raise ValueError("not a line of files")
        if not isinstance(found.path, str) or (found.path and not is_inner_path(found.path)):
            raise ValueError("not a path below its area")
        return found


MORE_FILES = FileLine(AREA_OUTPUT, "")  # there are more than are told


def is_inner_path(path: str) -> bool:
    """A relative path in its one spelling that goes nowhere but down, as a database can store it."""
    parts = path.split("/")
    is_plain = len(path) <= MOST_PATH and "\0" not in path and path.encode(errors="ignore").decode() == path
    return is_plain and not {"", ".", ".."} & set(parts)


# Control characters, and those that end a line or turn the direction of what stands beside them.
UNREADABLE = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def shown_name(name: str) -> str:
    r"""A file's name or path for people: `\xe9`, `\n` and `\u202e` stand for a byte that is no UTF-8 and for what is UNREADABLE.

    The panel asks for the file by this name (agent/fetching.py finds it).
    """
    text = os.fsencode(name).decode(errors="backslashreplace")
    return UNREADABLE.sub(lambda found: ascii(found[0])[1:-1], text)


PROGRESS_STEP, PROGRESS_TOTAL = "progress/step", "progress/total"  # metrics that `::progress` lines become

# -- Files shipped by offset -------------------------------------------------------------------------


def log_file(workload_id: str, rank: int, part: str) -> str:
    return f"{workload_id}/{rank}/{part}"


def states_file(workload_id: str, rank: int) -> str:
    return f"{workload_id}/{rank}/states"


def points_file(workload_id: str, rank: int) -> str:
    return f"{workload_id}/{rank}/points"


def files_file(workload_id: str, rank: int) -> str:
    return f"{workload_id}/{rank}/files"


def split_file(name: str) -> tuple[str, int, str]:
    """(workload id, rank, what) of a shipped file's name. Raises ValueError."""
    workload_id, rank, what = name.split("/")
    return workload_id, int(rank), what


# -- Reports: the entries of the stream ----------------------------------------------------------------

REPORT_LOG = "log"
REPORT_STATES = "states"
REPORT_POINTS = "points"
REPORT_FILES = "files"
REPORT_SAMPLES = "samples"
REPORT_AGENT = "agent"
REPORT_HEARTBEAT = "heartbeat"

MAX_REPORT_BYTES = 256 * 1024  # data of one entry
WINDOW_BYTES = 4 * 1024 * 1024  # unacknowledged log bytes of a host


@dataclass(frozen=True)
class Gap:
    """Bytes that the host had to drop: they would stand at `offset`, which does not advance over them."""

    offset: int
    dropped_bytes: int
    from_ms: int
    to_ms: int


@dataclass(frozen=True)
class Report:
    """One entry of a host's report stream.

    `file` and `offset` say where `data` stands (log and states); `times` are (offset, host's Unix ms) marks
    within it, `gaps` the drops at or before its end. A heartbeat's data is a JSON object (`Heartbeat`).
    """

    session: int
    kind: str
    data: bytes
    file: str = ""
    offset: int = 0
    times: tuple[tuple[int, int], ...] = ()
    gaps: tuple[Gap, ...] = ()

    def fields(self) -> dict[str, bytes | str | int]:
        entry: dict[str, bytes | str | int] = {"v": VERSION, "s": self.session, "k": self.kind, "d": self.data}
        if self.file:
            entry |= {"f": self.file, "o": self.offset}
        if self.times:
            entry["t"] = json.dumps(self.times)
        if self.gaps:
            entry["g"] = json.dumps([[g.offset, g.dropped_bytes, g.from_ms, g.to_ms] for g in self.gaps])
        return entry

    @classmethod
    def from_fields(cls, entry: Mapping[bytes, bytes]) -> Report:
        """Raises ValueError (KeyError is turned into it) for whatever is not a report of a known version."""
        try:
            if int(entry[b"v"]) not in (VERSION, VERSION - 1):
                raise ValueError(f"protocol version {entry[b'v']!r}")
            return cls(
                session=int(entry[b"s"]),
                kind=entry[b"k"].decode(),
                data=entry[b"d"],
                file=entry.get(b"f", b"").decode(),
                offset=int(entry.get(b"o", 0)),
                times=tuple((int(o), int(t)) for o, t in json.loads(entry.get(b"t", b"[]"))),
                gaps=tuple(Gap(*map(int, g)) for g in json.loads(entry.get(b"g", b"[]"))),
            )
        except (KeyError, TypeError, UnicodeDecodeError, RecursionError, OverflowError) as error:
            raise ValueError(f"not a report: {error!r}") from error


@dataclass(frozen=True)
class Heartbeat:
    """What a host says each few seconds: that it lives, and every workload that its disk knows.

    `workloads` may run: one that the panel does not know, or wants stopped, so shows itself and gets a stop. `ended` have
    ended, and the panel has not yet acknowledged all of them. One that is in neither is not known here.
    """

    at_ms: int
    version: str
    workloads: tuple[str, ...]
    disk_free_bytes: int
    ended: tuple[str, ...] = ()

    def data(self) -> bytes:
        return json.dumps(asdict(self)).encode()

    @classmethod
    def from_data(cls, data: bytes) -> Heartbeat:
        """Raises ValueError."""
        try:
            fields = _json(data)
            return cls(
                at_ms=int(fields["at_ms"]),
                version=str(fields["version"]),
                workloads=tuple(map(str, fields["workloads"])),
                disk_free_bytes=int(fields["disk_free_bytes"]),
                ended=tuple(map(str, fields.get("ended", ()))),
            )
        except (KeyError, TypeError, OverflowError) as error:
            raise ValueError(f"not a heartbeat: {error!r}") from error


@dataclass(frozen=True)
class Samples:
    """How busy a host is and each workload on it: name -> value, the unit in the name. A lost one is no loss."""

    at_ms: int
    host: dict[str, float]
    workloads: dict[str, dict[str, float]]  # workload id -> its own values

    def data(self) -> bytes:
        return json.dumps(asdict(self)).encode()

    @classmethod
    def from_data(cls, data: bytes) -> Samples:
        """Raises ValueError."""
        try:
            fields = _json(data)
            return cls(
                at_ms=int(fields["at_ms"]),
                host={str(name): float(value) for name, value in fields["host"].items()},
                workloads={
                    str(workload): {str(name): float(value) for name, value in values.items()}
                    for workload, values in fields["workloads"].items()
                },
            )
        except (KeyError, TypeError, AttributeError, OverflowError) as error:
            raise ValueError(f"not samples: {error!r}") from error


@dataclass(frozen=True)
class BuiltRuntime:
    """A Python environment that stands on a host."""

    digest: str  # of its pinned list
    size_bytes: int
    used_ms: int  # Unix milliseconds of the host's clock


@dataclass(frozen=True)
class AgentReport:
    """What an agent says of itself and its machine when it has changed. A lost one comes again, changed or not."""

    at_ms: int
    log: str  # the end of what it logged
    runtimes: tuple[BuiltRuntime, ...]

    def data(self) -> bytes:
        return json.dumps(asdict(self)).encode()

    @classmethod
    def from_data(cls, data: bytes) -> AgentReport:
        """Raises ValueError."""
        try:
            fields = _json(data)
            runtimes = tuple(
                BuiltRuntime(str(one["digest"]), int(one["size_bytes"]), int(one["used_ms"])) for one in fields["runtimes"]
            )
            found = cls(at_ms=int(fields["at_ms"]), log=str(fields["log"]), runtimes=runtimes)
        except (KeyError, TypeError, AttributeError, OverflowError) as error:
            raise ValueError(f"not an agent's report: {error!r}") from error
        if not all(0 <= one.size_bytes < 2**63 and 0 <= one.used_ms <= LAST_MS for one in runtimes):
            raise ValueError("not an agent's report: no such size or time")
        return found
