"""Sealing: the pieces of a log become one compressed object, and a row that finds it by offset, line and time."""

from __future__ import annotations

import logging
import uuid
from datetime import datetime, timedelta

from django.conf import settings
from django.db import DatabaseError, transaction
from django.db.models import F, Q

from monitoring import objects, stretches
from monitoring.models import Log, LogPiece, LogSegment

logger = logging.getLogger(__name__)

MAX_BYTES = 4 * 1024 * 1024  # of a segment, which readers load whole
MAX_MARKS = 128  # times kept of a segment
SWEEP_AGE = timedelta(days=1)


def tick(now: datetime, limit: int = 200) -> int:
    """Seal what is due, at most `limit` logs; returns how many. One that cannot be sealed stops no other."""
    sealed = 0
    for log_id in due(now)[:limit]:
        try:
            seal(log_id)
            sealed += 1
        except DatabaseError:
            raise  # it is no matter of this log
        except Exception:  # whatever a storage raises; a hole; a log that was deleted meanwhile
            logger.exception("not sealed log=%d", log_id)
    return sealed


def due(now: datetime) -> list[int]:
    """Ids of the logs with bytes to seal: enough of them, or the last, or quiet ones."""
    is_large = Q(head_offset__gte=F("sealed_offset") + settings.LOG_SEAL_BYTES)
    is_complete = Q(final_offset__isnull=False, head_offset__gte=F("final_offset"))
    is_quiet = Q(last_at__lte=now - timedelta(seconds=settings.LOG_SEAL_QUIET_S))
    rows = Log.objects.filter(is_large | is_complete | is_quiet, head_offset__gt=F("sealed_offset"))
    return list(rows.order_by("last_at").values_list("pk", flat=True))


def seal(log_id: int) -> int:
    """Seal what is stored by now, in segments of at most 4 MiB; returns how many.

    Whatever it dies of, nothing is lost and it can be done again. Of two at once one wins. Raises Gone for a hole.
    """
    log = Log.objects.get(pk=log_id)
    count = 0
    while log.sealed_offset < log.head_offset:
        segment = _next_segment(log)
        if segment is None or not _commit(segment):
            break
        log.sealed_offset, log.sealed_lines = segment.offset + segment.size_bytes, segment.first_line + segment.line_count
        count += 1
    return count


def sweep_objects(now: datetime) -> int:
    """Delete what a crash or a lost race left: objects older than a day that no segment has. Returns how many."""
    swept = 0
    for folder, names in objects.folders():
        for name in sorted(set(names) - _kept(folder, names)):
            swept += objects.delete_if_older(name, now - SWEEP_AGE)
    return swept


def _kept(folder: str, names: list[str]) -> set[str]:
    """Objects of segments, and those that a sealer may yet take over: at or after `sealed_offset`, which only grows.

    Read after the names, so that what is sealed between the two reads is known.
    """
    workload_id, rank, part = folder.split("/")
    try:
        log = Log.objects.filter(workload_id=uuid.UUID(workload_id), rank=int(rank), part=part).first()
    except ValueError:
        return set(names)  # not ours
    if log is None:
        return set()
    rows = set(LogSegment.objects.filter(log=log).values_list("name", flat=True))
    return rows | {name for name in names if (offset := objects.offset_of(name)) is not None and offset >= log.sealed_offset}


def _next_segment(log: Log) -> LogSegment | None:
    """Store the object of the pieces after `sealed_offset`; None when another sealer has taken them. Raises Gone."""
    data, times = bytearray(), []
    for piece in LogPiece.objects.filter(log=log, offset__gte=log.sealed_offset).order_by("offset").iterator(chunk_size=16):
        if piece.offset != log.sealed_offset + len(data) or (data and len(data) + piece.size_bytes > MAX_BYTES):
            break
        data += piece.data
        times += piece.times
    if not data:
        sealed_offset = Log.objects.values_list("sealed_offset", flat=True).get(pk=log.pk)
        stretches.check_reaches(log, sealed_offset, log.sealed_offset + 1)  # it has grown if another has taken them
        return None
    segment = LogSegment(
        log=log,
        offset=log.sealed_offset,
        size_bytes=len(data),
        first_line=log.sealed_lines,
        line_count=data.count(b"\n"),
        first_ms=min((ms for _offset, ms in times), default=None),
        last_ms=max((ms for _offset, ms in times), default=None),
        times=_thinned(times),
        name=objects.name_of(log, log.sealed_offset, len(data)),
    )
    objects.save(segment.name, bytes(data))
    return segment


def _commit(segment: LogSegment) -> bool:
    """Row in, pieces out, in one transaction; False when another sealer was faster."""
    end = segment.offset + segment.size_bytes
    with transaction.atomic():
        log = Log.objects.select_for_update().get(pk=segment.log_id)
        if log.sealed_offset != segment.offset:
            return False
        segment.save(force_insert=True)
        log.sealed_offset, log.sealed_lines = end, segment.first_line + segment.line_count
        log.save(update_fields=["sealed_offset", "sealed_lines"])
        LogPiece.objects.filter(log=log, offset__lt=end).delete()
    return True


def _thinned(times: list[list[int]]) -> list[list[int]]:
    """At most MAX_MARKS of the marks, evenly, the first of them kept."""
    step = -(-len(times) // MAX_MARKS) or 1
    return times[::step]
