"""Brings log bytes and states to the panel: by offset, from the disk, until it says that it has them. And the heartbeat.

One `tick` looks at what the panel has acknowledged and sends what is new. A lost answer, a wiped Redis, a restored
panel are all the same here: what is wanted next is said by the acks, and goes out again from there.
"""

from __future__ import annotations

import logging
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import cast
from uuid import UUID

import redis

from agent import __version__, protocol
from agent.folders import WorkloadFolder, all_folders
from agent.home import Home
from agent.protocol import PARTS, WINDOW_BYTES, Heartbeat, Report
from agent.tracks import Track

logger = logging.getLogger(__name__)

HEARTBEAT_S = 3.0
PACE_S = 0.01  # from one look at a log that grows to the next: lines that come together go together, the first goes at once
ANSWER_S = 0.03  # until the next look for an answer
POLL_S = 0.2  # behind the supervisors' bytes, which may be lost
KEEP_ACKED_BYTES = 64 * 1024 * 1024  # of a long log, for a panel that was restored and asks again
LONGEST_WAIT_S = 5.0
TROUBLE_S = 10.0  # until the next try with a folder that could not be read

Acks = dict[bytes, bytes]


class Shipper:
    def __init__(
        self,
        home: Home,
        *,
        host_id: str,
        redis_url: str,
        session: Callable[[], int | None],
        on_locked_out: Callable[[], None] = lambda: None,
    ) -> None:
        """`on_locked_out` is called when Redis does not know this host: it may be that the panel does not, either."""
        self._home = home
        self._reports = protocol.reports_key(host_id)
        self._orders = protocol.orders_key(host_id)
        self._acks = protocol.acks_key(host_id)
        self._session = session
        self._on_locked_out = on_locked_out
        self._redis = redis.Redis.from_url(
            redis_url, socket_connect_timeout=5, socket_timeout=10, socket_keepalive=True, health_check_interval=25
        )
        self._tracks: dict[str, Track] = {}
        self._done: set[UUID] = set()
        self._trouble: dict[UUID, float] = {}  # folder -> when it is tried again (monotonic)
        self._beat_at = 0.0
        self._last_beat: bytes | None = None
        self._offered: dict[str, bytes] = {}  # kind of report -> its newest data
        self._last_offered: dict[str, bytes] = {}  # kind of report -> entry of the last one
        self.woken = threading.Event()
        self.orders_waiting = 0  # beats in a row at which the host's queue was not empty: its worker may be deaf

    def run(self, stop: threading.Event) -> None:
        """Ticks until told to stop; Redis may be away for as long as it likes."""
        failures = 0
        while not stop.is_set():
            try:
                self.tick()
                failures = 0
            except redis.exceptions.RedisError as error:
                failures += 1
                logger.warning("cannot ship tries=%d error=%r", failures, error)
                if isinstance(error, redis.exceptions.AuthenticationError):
                    self._on_locked_out()
                stop.wait(min(0.1 * 2**failures, LONGEST_WAIT_S))
            except Exception:
                logger.exception("tick failed")
                stop.wait(1.0)
            ticked_at = time.monotonic()
            is_waiting = any(track.is_waiting for track in self._tracks.values())
            if self.woken.wait(ANSWER_S if is_waiting else POLL_S):
                self.woken.clear()
            time.sleep(max(0.0, ticked_at + PACE_S - time.monotonic()))

    def tick(self) -> None:
        """Hear what the panel has, send what is new, beat when it is time. Raises RedisError."""
        session = self._session()
        if session is None:
            return  # nobody would believe a word
        folders = [folder for folder in all_folders(self._home.workloads) if folder.workload_id not in self._done]
        self._hear(beat_is_due := time.monotonic() >= self._beat_at)
        for folder in self._sound(folders):
            with self._apart(folder):
                self._ship_lines(folder, "states", protocol.REPORT_STATES, session)
                self._ship_lines(folder, "points", protocol.REPORT_POINTS, session)
                self._ship_lines(folder, "files", protocol.REPORT_FILES, session)
        self._ship_logs(self._sound(folders), session)
        for folder in self._sound(folders):
            with self._apart(folder):
                self._close(folder)
        self._send_offered(session)
        if beat_is_due:
            self._beat(folders, session)

    @contextmanager
    def _apart(self, folder: WorkloadFolder) -> Iterator[None]:
        """What is broken in one folder holds up no other: it is left alone for TROUBLE_S."""
        try:
            yield
        except (OSError, ValueError):
            logger.exception("cannot ship workload=%s", folder)
            self._trouble[folder.workload_id] = time.monotonic() + TROUBLE_S

    def _sound(self, folders: list[WorkloadFolder]) -> list[WorkloadFolder]:
        now = time.monotonic()
        self._trouble = {workload_id: until for workload_id, until in self._trouble.items() if until > now}
        return [folder for folder in folders if folder.workload_id not in self._trouble]

    # -- What the panel has ----------------------------------------------------------------------------------

    def _hear(self, anyhow: bool) -> None:
        """One round trip: first whether the last reports have left the stream, then the acks, which were written before."""
        waiting = [track for track in self._tracks.values() if track.is_waiting]
        if not waiting and not anyhow:
            return
        pipeline = self._redis.pipeline(transaction=False)
        for track in waiting:
            entry = cast("bytes", track.last_entry)
            pipeline.xrange(self._reports, entry, entry)
        pipeline.hgetall(self._acks)
        *found, acks = pipeline.execute()
        gone = {track.name for track, entries in zip(waiting, found, strict=True) if not entries}
        for track in self._tracks.values():
            track.hear(acks.get(track.name.encode()), entry_is_gone=track.name in gone or not track.is_waiting)

    def _track(self, name: str) -> Track:
        """A file seen for the first time goes on where the panel says, else from its start."""
        track = self._tracks.get(name)
        if track is None:
            track = self._tracks[name] = Track(name)
            track.hear(self._ack_of(name), entry_is_gone=True)
        return track

    def _ack_of(self, name: str) -> bytes | None:
        return cast("Acks", self._redis.hgetall(self._acks)).get(name.encode())

    # -- What is new ------------------------------------------------------------------------------------------

    def _ship_lines(self, folder: WorkloadFolder, file: str, kind: str, session: int) -> None:
        """`states`, `points` or `files`, outside the window: a state must not wait behind a log. Of those two one at a time."""
        path = folder.path / file
        if not path.exists():
            return
        track = self._track(_name_of(folder, file))
        if kind == protocol.REPORT_STATES:
            _begin_again_if_replaced(track, path)
        if track.is_refused or path.stat().st_size <= track.place or (kind != protocol.REPORT_STATES and track.is_waiting):
            return
        with path.open("rb") as lines:
            lines.seek(track.place)
            data = lines.read(protocol.MAX_REPORT_BYTES)
        data = data[: data.rfind(b"\n") + 1]
        if data:
            self._send(track, Report(session, kind, data, file=track.name, offset=track.sent))

    def _ship_logs(self, folders: list[WorkloadFolder], session: int) -> None:
        """A report of each in turn, until the window is full or nothing is new."""
        window = WINDOW_BYTES - sum(track.unacked_bytes for track in self._tracks.values() if track.name.endswith(PARTS))
        open_logs = [(folder, part) for folder in folders for part in PARTS]
        while open_logs and window > 0:
            still_open = []
            for folder, part in open_logs:
                sent = 0
                with self._apart(folder):
                    sent = self._ship_log(folder, part, session, min(window, protocol.MAX_REPORT_BYTES))
                window -= sent
                if sent:
                    still_open.append((folder, part))
                if window <= 0:
                    break
            open_logs = still_open

    def _ship_log(self, folder: WorkloadFolder, part: str, session: int, limit: int) -> int:
        """Bytes sent."""
        spool = folder.spool(part)
        end = spool.end()
        name = _name_of(folder, part)
        if not end and name not in self._tracks and not spool.gaps(0, 0):
            return 0
        track = self._track(name)
        if track.is_refused or track.is_held or limit <= 0:
            return 0
        try:
            data = spool.read(track.sent, limit) if track.sent < end else b""
        except LookupError as error:
            if not track.is_cut:
                logger.error("the panel wants bytes that are gone file=%s error=%s", name, error)
            track.is_cut = True
            return 0
        track.is_cut = False
        gaps = spool.gaps(track.sent, track.sent + len(data))
        if not data and (not gaps or gaps[-1] == track.last_gap):
            return 0
        times = spool.times(track.sent, track.sent + len(data))
        report = Report(session, protocol.REPORT_LOG, data, file=name, offset=track.sent, times=times, gaps=gaps)
        self._send(track, report)
        track.last_gap = gaps[-1] if gaps else track.last_gap
        return len(data)

    def _send(self, track: Track, report: Report) -> None:
        entry = cast("bytes", self._redis.xadd(self._reports, report.fields()))  # type: ignore[arg-type]
        track.went(entry, report.offset + len(report.data))

    # -- What is over -----------------------------------------------------------------------------------------

    def _close(self, folder: WorkloadFolder) -> None:
        """Note a folder of which the panel has all; let go of what it has of a long log."""
        if folder.is_done():
            self._done.add(folder.workload_id)
            return
        ended = folder.has_ended()
        if not ended:
            for part in PARTS:
                track = self._tracks.get(_name_of(folder, part))
                if track and track.acked and track.acked > KEEP_ACKED_BYTES:
                    folder.spool(part).drop_before(track.acked - KEEP_ACKED_BYTES)
        elif self._has_all(folder):
            folder.note_done()
            self._done.add(folder.workload_id)
            prefix = f"{folder}/"
            self._tracks = {name: track for name, track in self._tracks.items() if not name.startswith(prefix)}

    def _has_all(self, folder: WorkloadFolder) -> bool:
        """The rank has ended, its metrics are gathered and its files listed, and the panel has all that is shipped to its end."""
        sizes = {part: folder.spool(part).end() for part in PARTS}
        for file in ("states", "points", "files"):
            path = folder.path / file
            sizes[file] = path.stat().st_size if path.exists() else 0
        tracks = {file: self._tracks.get(_name_of(folder, file)) for file in sizes}
        is_told = folder.is_measured() and folder.is_listed()
        return is_told and all(
            not size or ((track := tracks[file]) is not None and track.has_all(track.base + size)) for file, size in sizes.items()
        )

    # -- That this host lives ---------------------------------------------------------------------------------

    def offer(self, kind: str, data: bytes) -> None:
        """Of the kinds that are newer next time (samples). Dropped unless the last of its kind has left the stream."""
        self._offered[kind] = data

    def _send_offered(self, session: int) -> None:
        for kind in list(self._offered):
            data, last = self._offered.pop(kind), self._last_offered.get(kind)
            if last is None or not self._redis.xrange(self._reports, last, last):
                report = Report(session, kind, data)
                self._last_offered[kind] = cast("bytes", self._redis.xadd(self._reports, report.fields()))  # type: ignore[arg-type]

    def _beat(self, folders: list[WorkloadFolder], session: int) -> None:
        """One heartbeat in the stream at a time: a panel that is away finds one, not a thousand."""
        self._beat_at = time.monotonic() + HEARTBEAT_S
        self.orders_waiting = self.orders_waiting + 1 if self._redis.llen(self._orders) else 0
        if self._last_beat and self._redis.xrange(self._reports, self._last_beat, self._last_beat):
            return
        ended = {folder.workload_id for folder in folders if _has_ended(folder)}
        beat = Heartbeat(
            at_ms=time.time_ns() // 1_000_000,
            version=__version__,
            workloads=tuple(str(folder) for folder in folders if folder.workload_id not in ended and _may_run(folder)),
            disk_free_bytes=shutil.disk_usage(self._home.path).free,
            ended=tuple(map(str, ended)),
        )
        report = Report(session, protocol.REPORT_HEARTBEAT, beat.data())
        self._last_beat = cast("bytes", self._redis.xadd(self._reports, report.fields()))  # type: ignore[arg-type]


def _begin_again_if_replaced(track: Track, states: Path) -> None:
    """What was sent ends with a line. When the file has no line's end there, its command has deleted it and this is a new one.

    All of that goes out, behind what the panel has of the old one: a state that it has heard before changes nothing.
    """
    if not track.place:
        return
    with states.open("rb") as lines:
        lines.seek(max(0, track.place - 1))
        is_the_same = track.place > 0 and lines.read(1) == b"\n"
    if not is_the_same:
        track.base = track.sent


def _may_run(folder: WorkloadFolder) -> bool:
    """One that cannot be read is told of: nobody knows that nothing of it is left.

    Without an order it is a rest that its command has left of it, and the panel ends what may still run.
    """
    try:
        return folder.ordered_rank() is not None or folder.stop_grace_s() is not None
    except (OSError, ValueError):
        return True


def _has_ended(folder: WorkloadFolder) -> bool:
    try:
        return folder.has_ended()
    except (OSError, ValueError):
        return False


def _name_of(folder: WorkloadFolder, file: str) -> str:
    """What the panel calls a file of this folder."""
    return f"{folder}/{folder.ordered_rank() or 0}/{file}"
