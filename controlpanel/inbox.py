"""The one door for reports: reads every host's stream, checks who speaks, writes to the stores, acknowledges.

At least once and by offset: an entry is deleted only after its content is committed, and a repeated one
changes nothing. A report that raises is tried alone, then set aside: one bad host stops no other.
"""

from __future__ import annotations

import logging
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import cast
from uuid import UUID

import redis
from django.conf import settings
from django.db import InterfaceError, OperationalError, transaction
from django.utils import timezone

from agent import protocol
from clusters import holding, silence
from clusters.models import Host
from clusters.reports import (
    Acks,
    hold_log,
    take_agent,
    take_files,
    take_heartbeat,
    take_log,
    take_points,
    take_samples,
    take_states,
)
from controlpanel.disk_guard import DiskGuard
from controlpanel.host_keys import HostKeys
from monitoring import events, segments, streams
from monitoring.waking import STREAM, Waker

logger = logging.getLogger(__name__)

KINDS: dict[str, Callable[..., None]] = {
    protocol.REPORT_LOG: take_log,
    protocol.REPORT_STATES: take_states,
    protocol.REPORT_POINTS: take_points,
    protocol.REPORT_FILES: take_files,
    protocol.REPORT_SAMPLES: take_samples,
    protocol.REPORT_HEARTBEAT: take_heartbeat,
    protocol.REPORT_AGENT: take_agent,
}
PACE_S = 0.02  # at most 50 commits a second: one writer without pauses makes every other wait (SQLite)
READ_COUNT = 64  # entries of one host a read
SEALS_A_TICK = 8
MEND_PAUSE_S = 0.2

Entry = tuple[bytes, dict[bytes, bytes]]
Batch = dict[UUID, list[Entry]]


@dataclass
class Inbox:
    name: str = "inbox"
    hosts: dict[UUID, Host] = field(default_factory=dict)
    keys: HostKeys = field(default_factory=HostKeys)
    disk: DiskGuard = field(default_factory=DiskGuard)
    looked_at: float = 0.0  # monotonic
    committed_at: float = 0.0
    pending: Batch = field(default_factory=dict)
    unsealed_bytes: int = 0  # taken since the last look for what can be sealed

    def __post_init__(self) -> None:
        self.waker = Waker(self.name)

    def tick(self) -> None:
        """Take what has arrived; each second, see to hosts, users and reading time."""
        with self._mending():
            if time.monotonic() - self.looked_at >= 1:
                self._look_around(now=timezone.now())
                self._seal()
                self.looked_at = time.monotonic()
            batch, self.pending = self.pending or self._read(block_ms=None), {}
            if batch:
                self._take(batch, now=timezone.now())
                self.committed_at = time.monotonic()
                self.unsealed_bytes += sum(len(fields.get(b"d", b"")) for entries in batch.values() for _, fields in entries)
            if self.unsealed_bytes >= settings.LOG_SEAL_BYTES:
                self._seal()

    def wait(self) -> None:
        """Until a host reports, one enrols, or a second has passed."""
        time.sleep(max(0.0, self.committed_at + PACE_S - time.monotonic()))
        with self._mending():
            self.pending = self._read(block_ms=1000)

    @contextmanager
    def _mending(self) -> Iterator[None]:
        """A command that Redis refuses is of a key that a host has put there: that is mended, and the next tick goes on."""
        try:
            yield
        except redis.exceptions.ResponseError as error:
            logger.warning("redis refused a command error=%r", error)
            self.keys.mend(streams.reader(), self.hosts, now=timezone.now())
            time.sleep(MEND_PAUSE_S)  # should it be something else, it is said a few times a second and not a thousand

    # -- Reading ---------------------------------------------------------------------------------------

    def _read(self, *, block_ms: int | None) -> Batch:
        """All that has not been deleted yet: the streams hold only what is not stored."""
        keys: dict[str, bytes | str] = {protocol.reports_key(str(host)): "0" for host in self.keys.readable(self.hosts)}
        keys[STREAM] = self.waker.last_id
        found = streams.reader().xread(keys, count=READ_COUNT, block=block_ms)  # type: ignore[arg-type]
        batch: Batch = {}
        for key, entries in cast("list[tuple[bytes, list[Entry]]]", found):
            if key == STREAM.encode():
                if self.waker.seen([(key, entries)]):
                    self.looked_at = 0.0
            else:
                batch[UUID(key.split(b":")[1].decode())] = entries
        return batch

    # -- Taking ----------------------------------------------------------------------------------------

    def _take(self, batch: Batch, *, now: datetime) -> None:
        batch = {host: entries for host, entries in batch.items() if host in self.hosts}  # one may have been retired meanwhile
        works = [work for host, entries in batch.items() for work in self._sorted(self.hosts[host], entries, now)]
        works.sort(key=lambda work: work.file)  # files begin with the workload's id: locks go in that order
        acks: dict[UUID, Acks] = defaultdict(Acks)
        try:
            with transaction.atomic():
                for work in works:
                    work.run(acks[work.host.pk], now)
                self._note_heard(batch, now)
        except (OperationalError, InterfaceError):
            raise  # the database's trouble, not the report's: everything is still in the streams
        except Exception:
            logger.exception("batch failed, taking its reports one by one")
            acks = self._take_apart(works, now=now)
            self._note_heard(batch, now)
        taken = {host: [entry_id for entry_id, _ in entries] for host, entries in batch.items()}
        self.keys.acknowledge(streams.reader(), taken, acks)

    def _sorted(self, host: Host, entries: list[Entry], now: datetime) -> Iterable[Work]:
        """The entries of one host as one piece of work a file; what is no report, or of another session, is dropped."""
        by_file: dict[tuple[str, str], list[protocol.Report]] = defaultdict(list)
        for _entry_id, fields in entries:
            try:
                report = protocol.Report.from_fields(fields)
                KINDS[report.kind]
            except (ValueError, KeyError) as error:
                self._set_aside(host, repr(error), now)
                continue
            if report.session == host.session or self._is_new_session(host, report.session):
                by_file[report.kind, report.file].append(report)
        return [Work(self.hosts[host.pk], file, self._taker(kind), found) for (kind, file), found in by_file.items()]

    def _taker(self, kind: str) -> Callable[..., None]:
        return hold_log if kind == protocol.REPORT_LOG and self.disk.is_holding else KINDS[kind]

    def _is_new_session(self, host: Host, session: int) -> bool:
        """A session may have been opened since the last look around."""
        if session < host.session:
            return False
        self.hosts[host.pk] = Host.objects.select_related("subject").get(pk=host.pk)
        return self.hosts[host.pk].session == session

    def _take_apart(self, works: list[Work], *, now: datetime) -> dict[UUID, Acks]:
        acks: dict[UUID, Acks] = defaultdict(Acks)
        for work in works:
            own = Acks()
            try:
                with transaction.atomic():
                    work.run(own, now)
            except (OperationalError, InterfaceError):
                raise
            except Exception as error:
                logger.exception("report set aside host=%s file=%s", work.host.pk, work.file)
                self._set_aside(work.host, repr(error), now, file=work.file)
                own = Acks()
                if work.file:
                    own.refuse(work.file)
            acks[work.host.pk].wanted |= own.wanted
        return acks

    def _set_aside(self, host: Host, error: str, now: datetime, **data: str) -> None:
        with transaction.atomic():
            events.record(
                host.subject, "host.report-set-aside", "A report could not be taken.", at=now, error=error[:300], **data
            )

    def _note_heard(self, batch: Batch, now: datetime) -> None:
        stale = [host for host in batch if (at := self.hosts[host].heard_at) is None or now - at > timedelta(seconds=1)]
        if stale:
            Host.objects.filter(pk__in=stale).update(heard_at=now)
            for host in stale:
                self.hosts[host].heard_at = now

    # -- Each second -------------------------------------------------------------------------------------

    def _look_around(self, *, now: datetime) -> None:
        self.hosts = {host.pk: host for host in Host.objects.in_service().select_related("subject")}
        self.keys.tend(streams.reader(), self.hosts, now=now)
        self._note_reading(now)
        if self.disk.look(now=now):
            self.keys.let_pass(streams.reader(), self.hosts)

    def _note_reading(self, now: datetime) -> None:
        """A gap in reading starts the count of every host's silence anew."""
        last = holding.last_read(silence.INBOX)
        unbroken = last is not None and now - last[1] <= timedelta(seconds=settings.PANEL_GAP_S)
        holding.note_reading(silence.INBOX, since=last[0] if last and unbroken else now, now=now)

    def _seal(self) -> None:
        self.unsealed_bytes = 0
        segments.tick(timezone.now(), limit=SEALS_A_TICK)


@dataclass(frozen=True)
class Work:
    """The reports of one file of one host, in the order of its stream."""

    host: Host
    file: str
    take: Callable[..., None]
    reports: list[protocol.Report]

    def run(self, acks: Acks, now: datetime) -> None:
        self.take(self.host, self.reports, acks, now=now)
