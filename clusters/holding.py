"""One holder at a time for each loop: a row that the holder renews, and that another may take once it is stale."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import Q

from clusters.models import Loop


def hold(name: str, holder: str, *, now: datetime) -> bool:
    """Take or renew the loop `name`. False: another holds it."""
    until = now + timedelta(seconds=settings.LOOP_HOLD_S)
    won = Loop.objects.filter(Q(holder=holder) | Q(until__lt=now), name=name).update(holder=holder, until=until)
    if won:
        return True
    _, made = Loop.objects.get_or_create(name=name, defaults={"holder": holder, "until": until})
    return made


def release(name: str, holder: str, *, now: datetime) -> None:
    """Let the next one in at once instead of after LOOP_HOLD_S."""
    Loop.objects.filter(name=name, holder=holder).update(until=now - timedelta(seconds=1))


def note_reading(name: str, *, since: datetime, now: datetime) -> None:
    """The inbox has read just now, and without a break since `since`."""
    Loop.objects.filter(name=name).update(reading_since=since, read_at=now)


def last_read(name: str) -> tuple[datetime, datetime] | None:
    """(since, until) of the last stretch of reading; None: there was none."""
    row = Loop.objects.filter(name=name).exclude(read_at=None).first()
    return (row.reading_since, row.read_at) if row and row.reading_since and row.read_at else None
