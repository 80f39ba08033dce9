"""Silent is no state: it is how long ago a host was last heard, less the time in which nobody listened."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.conf import settings

from clusters.models import Host, Loop

INBOX = "inbox"


@dataclass(frozen=True)
class Listening:
    """The stretch in which the inbox has read the hosts' reports without a break, up to its last look."""

    since: datetime
    until: datetime


def listening() -> Listening | None:
    """None: the inbox has never read."""
    row = Loop.objects.filter(name=INBOX).exclude(read_at=None).first()
    return Listening(row.reading_since, row.read_at) if row and row.reading_since and row.read_at else None


def silence_s(host: Host, heard_by: Listening | None) -> float:
    """Seconds of silence that the panel has really listened to; 0 while nobody listens, as then nothing is known.

    A host that was never heard has been silent since it was made.
    """
    if heard_by is None:
        return 0.0
    heard = host.heard_at or host.created_at
    return max(0.0, (heard_by.until - max(heard, heard_by.since)).total_seconds())


def all_silences() -> dict[UUID, float]:
    """Seconds of silence of each host in service."""
    heard_by = listening()
    return {host.pk: silence_s(host, heard_by) for host in Host.objects.in_service().only("heard_at", "created_at")}


def has_living_agent(host: Host, *, now: datetime) -> bool:
    """An agent speaks for it, as far as can be known: it has a session, and was heard within SECOND_AGENT_S."""
    heard = host.session and host.heard_at
    return bool(heard and now - heard < timedelta(seconds=settings.SECOND_AGENT_S))


def heard(host_id: UUID, *, now: datetime) -> None:
    """An HTTP call or a report counts as heard."""
    Host.objects.filter(pk=host_id).exclude(heard_at__gt=now).update(heard_at=now)
