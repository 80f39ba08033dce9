"""Steps of a workload on its road, each taken by the function that takes it in the panel; and what the database says."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from agent import protocol
from clusters import fetches, files, ranks, scheduling, silence
from clusters.models import Chip, Fetch, Host, Lease, Loop, Order, OutputFile, Rank, Workload
from clusters.placement import Choice, Place
from clusters.silence import INBOX
from tests.factories import NOON, a_host, a_workload

EXITED_WELL: dict[str, Any] = {"state": protocol.ENDED, "cause": protocol.CAUSE_EXITED, "exit_code": 0}
FAILED: dict[str, Any] = {"state": protocol.ENDED, "cause": protocol.CAUSE_EXITED, "exit_code": 7}
STOPPED: dict[str, Any] = {"state": protocol.ENDED, "cause": protocol.CAUSE_STOPPED, "signal": 15}


def after(seconds: float) -> datetime:
    return NOON + timedelta(seconds=seconds)


def ordered(hosts: Sequence[Host] | Host | None = None, *, now: datetime = NOON, **workload: Any) -> Workload:
    """Placed on the first chip of each host: rank i on host i."""
    hosts = [a_host()] if hosts is None else [hosts] if isinstance(hosts, Host) else hosts
    made = a_workload(now=now, **workload)
    first_free = {host: Chip.objects.filter(host=host, workload=None).order_by("number")[0].number for host in hosts}
    assert scheduling._apply(made.pk, Choice(tuple(Place(host.pk, (first_free[host],)) for host in hosts)), now=now)
    return fresh(made)


def claimed(hosts: Sequence[Host] | Host | None = None, *, now: datetime = NOON, **workload: Any) -> Workload:
    made = ordered(hosts, now=now, **workload)
    for rank in made.ranks.order_by("number"):
        claim(made, rank.number, now=now)
    return fresh(made)


def running(hosts: Sequence[Host] | Host | None = None, *, now: datetime = NOON, **workload: Any) -> Workload:
    made = claimed(hosts, now=now, **workload)
    for rank in made.ranks.order_by("number"):
        says(made, rank.number, state=protocol.RUNNING, now=now)
    return fresh(made)


def claim(workload: Workload, rank: int = 0, *, host: Host | None = None, now: datetime = NOON) -> protocol.Start:
    return ranks.claim(workload.pk, rank, host=host or workload.ranks.get(number=rank).host, now=now)


def says(workload: Workload, rank: int = 0, *, now: datetime = NOON, **report: Any) -> None:
    """The host's word on a rank."""
    pk = workload.ranks.get(number=rank).pk
    ranks.take_report(pk, protocol.RankReport(**{"at_ms": 0} | report), now=now)


def fresh(workload: Workload) -> Workload:
    return Workload.objects.get(pk=workload.pk)


def state(workload: Workload) -> tuple[str, str, str, str]:
    """(state, wanted, outcome, reason code) as the database has them."""
    return Workload.objects.values_list("state", "wanted", "outcome", "reason_code").get(pk=workload.pk)


def ranks_of(workload: Workload) -> list[tuple[str, str]]:
    """(state, cause) by number."""
    return list(Rank.objects.filter(workload=workload).order_by("number").values_list("state", "cause"))


def held_chips(workload: Workload | None = None) -> int:
    """How many chips the workload holds; without one: how many anybody does."""
    return Chip.objects.filter(workload=workload).count() if workload else Chip.objects.exclude(workload=None).count()


def leases(workload: Workload) -> list[tuple[int, int, int | None]]:
    """(chips, from, to) in seconds after noon."""
    rows = Lease.objects.filter(workload=workload).order_by("pk").values_list("chips", "from_ms", "to_ms")
    noon = int(NOON.timestamp() * 1000)
    return [(chips, (start - noon) // 1000, None if end is None else (end - noon) // 1000) for chips, start, end in rows]


def open_orders(host: Host | UUID) -> list[tuple[str, dict[str, Any]]]:
    pk = host.pk if isinstance(host, Host) else host
    return list(Order.objects.open().filter(host_id=pk).order_by("pk").values_list("kind", "data"))


def events_of(workload: Workload) -> list[str]:
    return list(workload.subject.events.order_by("seq").values_list("code", flat=True))


def the_inbox_has_read(*, until: datetime, since: datetime = NOON - timedelta(hours=1)) -> None:
    """Without a break, so that what was not heard in it was silence."""
    Loop.objects.update_or_create(
        name=INBOX, defaults={"holder": "inbox", "until": until, "reading_since": since, "read_at": until}
    )


def silence_of(host: Host) -> float:
    return silence.silence_s(host, silence.listening())


PLACED: dict[str, Any] = {"output": "vit/17/1", "checkpoints": "vit/17/checkpoints"}


def a_file(workload: Workload | None = None, path: str = "model.bin", *, size: int = 10, area: str = "output") -> OutputFile:
    """Told of by the host of the workload's first rank."""
    rank = (workload or running(**PLACED)).ranks.select_related("workload__subject").get(number=0)
    files.note(rank, [protocol.FileLine(area, path, size, int(NOON.timestamp() * 1000))])
    return OutputFile.objects.get(rank=rank, area=area, path=path)


def a_fetch(file: OutputFile, *, now: datetime = NOON) -> Fetch:
    return fetches.want(file, now=now)


def fetched(file: OutputFile, data: bytes, *, now: datetime = NOON) -> Fetch:
    """Wanted, and brought by its host as an agent does."""
    fetch, size = a_fetch(file, now=now), protocol.FETCH_PIECE_BYTES
    for offset in range(0, max(1, len(data)), size):
        piece = data[offset : offset + size]
        fetches.take_piece(fetch.pk, host=fetch.host, offset=offset, size_bytes=len(data), data=piece, now=now)
    return Fetch.objects.get(pk=fetch.pk)
