"""What the inbox does with each kind of report. The session was checked; here the content is."""

from __future__ import annotations

import functools
import logging
from collections import defaultdict
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from uuid import UUID

from django.conf import settings
from django.db import InterfaceError, OperationalError, transaction

from agent import protocol
from clusters import files, orders, ranks, workloads
from clusters.models import AgentReport, Host, Order, Rank, Workload
from clusters.models.orders import OrderKind
from clusters.states import WORKLOAD_ENDED, RankState, Wanted
from monitoring import events, logs, metrics
from monitoring.metric_chunks import EMPTY, Columns
from monitoring.models import Subject

logger = logging.getLogger(__name__)


@dataclass
class Acks:
    """What a host is to be told once the transaction is committed: file -> next offset wanted, or a word."""

    wanted: dict[str, str] = field(default_factory=dict)

    def want(self, file: str, offset: int) -> None:
        self.wanted[file] = str(offset)

    def hold(self, file: str) -> None:
        self.wanted[file] = protocol.ACK_HOLD

    def refuse(self, file: str) -> None:
        self.wanted[file] = protocol.ACK_REFUSED


def about_a_rank(take: Callable[..., None]) -> Callable[..., None]:
    """Of a file of no rank of this host the host hears that it is refused; else `take` gets the rank and the kind of file."""

    @functools.wraps(take)
    def taken(host: Host, reports: list[protocol.Report], acks: Acks, *, now: datetime) -> None:
        found = _rank_of(host, reports[0].file)
        if found is None:
            acks.refuse(reports[0].file)
        else:
            take(*found, reports, acks, now=now)

    return taken


@about_a_rank
def take_log(rank: Rank, part: str, reports: list[protocol.Report], acks: Acks, *, now: datetime) -> None:
    """Log bytes of one file, in the order of the stream."""
    if part not in protocol.PARTS:
        acks.refuse(reports[0].file)
        return
    log = logs.open_log(subject=rank.workload.subject, workload_id=rank.workload_id, rank=rank.number, part=part)
    chunks = [logs.Chunk(report.offset, report.data, report.times, report.gaps) for report in reports]
    acks.want(reports[0].file, logs.append_many(log, chunks, now=now))


@about_a_rank
def hold_log(_rank: Rank, _part: str, reports: list[protocol.Report], acks: Acks, *, now: datetime) -> None:
    """Instead of `take_log` while there is no room: the host keeps the bytes until it is told from where to go on."""
    acks.hold(reports[0].file)


@about_a_rank
def take_states(rank: Rank, _kind: str, reports: list[protocol.Report], acks: Acks, *, now: datetime) -> None:
    """Lines of a rank's `states` file. A line that is no report is passed over and becomes an event of the host."""
    lines, rank.states_offset = _new_lines(reports, rank.states_offset)
    for line in lines:
        _take_line(rank.host, rank, line, now=now)
    Rank.objects.filter(pk=rank.pk).update(states_offset=rank.states_offset)
    acks.want(reports[0].file, rank.states_offset)


@about_a_rank
def take_points(rank: Rank, _kind: str, reports: list[protocol.Report], acks: Acks, *, now: datetime) -> None:
    """Lines of a rank's `points` file: what its trainer measured. A line that is none is passed over."""
    lines, rank.points_offset = _new_lines(reports, rank.points_offset)
    series: dict[str, tuple[list[int], list[int], list[float]]] = {}
    for line in lines:
        try:
            points = protocol.PointsLine.from_line(line)
        except ValueError as error:
            _set_line_aside(rank, "points", error, now=now)
            continue
        for name, columns in points.series.items():
            steps, walls, values = series.setdefault(name, ([], [], []))
            steps += columns[0]
            walls += columns[1]
            values += columns[2]
    found = {name: Columns(*columns) for name, columns in series.items()}
    if not metrics.append(rank.workload.subject, found, workload_id=rank.workload_id, rank=rank.number):
        transaction.on_commit(partial(_tell_too_many, rank.workload.subject, now=now))
    Rank.objects.filter(pk=rank.pk).update(points_offset=rank.points_offset)
    acks.want(reports[0].file, rank.points_offset)


def _tell_too_many(subject: Subject, *, now: datetime) -> None:
    """Once for each subject, and in a transaction of its own: no subject's row is locked before a workload's."""
    with transaction.atomic():
        if not events.has(subject, "metrics.too-many"):
            sentence = f"It has more than {metrics.MAX_SERIES} metrics: those with further names are not kept."
            events.record(subject, "metrics.too-many", sentence, at=now)


@about_a_rank
def take_files(rank: Rank, _kind: str, reports: list[protocol.Report], acks: Acks, *, now: datetime) -> None:
    """Lines of a rank's `files` file: which files it has written. A line that is none is passed over."""
    lines, rank.files_offset = _new_lines(reports, rank.files_offset)
    told: list[protocol.FileLine] = []
    for line in lines:
        try:
            told.append(protocol.FileLine.from_line(line))
        except ValueError as error:
            _set_line_aside(rank, "files", error, now=now)
    files.note(rank, told)
    Rank.objects.filter(pk=rank.pk).update(files_offset=rank.files_offset)
    acks.want(reports[0].file, rank.files_offset)


def take_samples(host: Host, reports: list[protocol.Report], acks: Acks, *, now: datetime) -> None:
    """How busy the host and its ranks are. The only lossy kind: what was not sent is not sent again."""
    own: dict[str, Columns] = {}
    by_workload: dict[str, dict[str, Columns]] = defaultdict(dict)
    for report in reports:
        samples = protocol.Samples.from_data(report.data)
        at = samples.at_ms
        for name, value in samples.host.items():
            own[name] = own.get(name, EMPTY).plus(Columns([at], [at], [value]))
        for workload, values in samples.workloads.items():
            mine = by_workload[workload]
            for name, value in values.items():
                mine[name] = mine.get(name, EMPTY).plus(Columns([at], [at], [value]))
    metrics.append(host.subject, own)
    ranks_here = Rank.objects.filter(host=host, workload_id__in=filter(is_uuid, by_workload)).select_related("workload__subject")
    for rank in ranks_here.order_by("workload_id"):
        metrics.append(rank.workload.subject, by_workload[str(rank.workload_id)], workload_id=rank.workload_id, rank=rank.number)


def _new_lines(reports: list[protocol.Report], offset: int) -> tuple[list[bytes], int]:
    """The whole lines from `offset` on, and where they end. What was taken before is cut off, what is beyond a hole left."""
    lines: list[bytes] = []
    for report in reports:
        if report.offset > offset:
            break  # the host is told what is wanted, and sends again from there
        data = report.data[offset - report.offset :]
        whole = data[: data.rfind(b"\n") + 1]
        lines += whole.splitlines(keepends=True)
        offset += len(whole)
    return lines, offset


def _take_line(host: Host, rank: Rank, line: bytes, *, now: datetime) -> None:
    try:
        report = protocol.RankReport.from_line(line)
        report = replace(report, detail=_storable(report.detail))
        with transaction.atomic():
            ranks.take_report(rank.pk, report, now=now)
    except (OperationalError, InterfaceError):
        raise  # the database's trouble: the line comes again
    except Exception as error:  # one line must not stop those behind it, of which one says that the rank ended
        logger.exception("line of a states file passed over host=%s workload=%s", host.pk, rank.workload_id)
        _set_line_aside(rank, "states", error, now=now)


def _set_line_aside(rank: Rank, kind: str, error: Exception, *, now: datetime) -> None:
    """Whoever sees the host may read it: so it says whose the line is and what kind of fault it has, and nothing of its text."""
    with transaction.atomic():
        sentence, fault = f"A line of a {kind} file could not be taken.", type(error).__name__
        of = str(rank.workload_id)
        code = "host.report-set-aside"
        events.record(rank.host.subject, code, sentence, at=now, error=fault, workload=of, rank=rank.number)


def _storable(text: str) -> str:
    """PostgreSQL stores no NUL, and no database half a surrogate pair (a byte of a file's name that is no UTF-8)."""
    return text.encode(errors="replace").decode().replace("\0", "\N{REPLACEMENT CHARACTER}")


def take_heartbeat(host: Host, reports: list[protocol.Report], acks: Acks, *, now: datetime) -> None:
    """The newest heartbeat: health of the host, and stops for what it holds that it should not."""
    beat = protocol.Heartbeat.from_data(reports[-1].data)
    Host.objects.filter(pk=host.pk).update(
        clock_offset_ms=beat.at_ms - int(now.timestamp() * 1000),
        disk_free_bytes=beat.disk_free_bytes,
        agent_version=beat.version[:30],
    )
    held = {UUID(text) for text in beat.workloads if is_uuid(text)}
    wanted = set(
        Rank.objects.filter(host=host, workload_id__in=held, workload__wanted=Wanted.RUN)
        .exclude(state=RankState.ENDED)
        .exclude(workload__state__in=WORKLOAD_ENDED)
        .values_list("workload_id", flat=True)
    )
    for workload_id in held - wanted:
        grace_s = Workload.objects.filter(pk=workload_id).values_list("stop_grace_s", flat=True).first()
        orders.stop(host.pk, workload_id, grace_s=grace_s or 0, now=now)
    _stop_unknown(host, held | {UUID(text) for text in beat.ended if is_uuid(text)}, now=now)
    # A stop's effect is seen when the host no longer holds the workload. Young orders may not have reached it yet.
    stops = Order.objects.open().filter(host=host, kind=OrderKind.STOP, created_at__lt=now - timedelta(seconds=30))
    stops.exclude(workload_id__in=held).exclude(workload_id__in=_living(host)).update(confirmed_at=now)


def take_agent(host: Host, reports: list[protocol.Report], acks: Acks, *, now: datetime) -> None:
    """What the agent says of itself: the newest report stands, whole."""
    found = protocol.AgentReport.from_data(reports[-1].data)
    runtimes = [asdict(one) | {"digest": _storable(one.digest)[:64]} for one in found.runtimes]
    AgentReport.objects.update_or_create(host=host, defaults={"at": now, "log": _storable(found.log), "runtimes": runtimes})


def _stop_unknown(host: Host, known: set[UUID], *, now: datetime) -> None:
    """Claimed a while ago, and the host's disk no longer knows it: its folder was deleted. What is left of it is ended.

    One whose end the host has told, and the panel has not taken yet, is known: the heartbeat may be taken before its end.
    """
    long_ago = now - timedelta(seconds=settings.FOLDER_GONE_S)
    unknown = Rank.objects.filter(host=host, claimed_at__lt=long_ago, workload__wanted=Wanted.RUN)
    unknown = unknown.exclude(state__in=[RankState.ENDED, RankState.ORDERED]).exclude(workload_id__in=known)
    for workload_id in unknown.order_by("workload_id").values_list("workload_id", flat=True):
        workloads.want_stop(workload_id, code="folder-gone", grace_s=0, now=now, host=host.name)


def _living(host: Host) -> list[UUID]:
    return list(Rank.objects.filter(host=host).exclude(state=RankState.ENDED).values_list("workload_id", flat=True))


def _rank_of(host: Host, file: str) -> tuple[Rank, str] | None:
    """The rank that a file belongs to, when it was placed on this host; the file's last word."""
    try:
        workload_id, number, what = protocol.split_file(file)
        key = UUID(workload_id)
    except ValueError:
        return None
    rank = Rank.objects.filter(workload_id=key, number=number, host=host).select_related("workload__subject", "host").first()
    return (rank, what) if rank else None


def is_uuid(text: str) -> bool:
    try:
        UUID(text)
    except ValueError:
        return False
    return True
