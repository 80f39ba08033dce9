"""What pages show of hosts: their state in words, their chips and who holds them. Five queries, however many there are.

Work of a project that one may not see is "another team": its chips and times, no name and no link.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from uuid import UUID

from django.conf import settings
from django.utils.translation import gettext as _

from clusters import silence
from clusters.free import ClusterRoom
from clusters.models import Chip, Cluster, Host, Lease, Workload
from clusters.states import HostState
from projects.access import visible_projects
from projects.actors import Actor

COLOURS = 6  # --series-1 ... of tokens.css
DRAWN_CHIPS = 32  # more are a bar: single ones could not be told apart
CLOCK_BAD_MS = 2_000
MANY_HOSTS = 100
PAST_SHOWN = 10


@dataclass(frozen=True)
class Occupant:
    """Work on a host; `title` and `link` are "" when the looker may not see its project."""

    workload: UUID
    title: str
    link: str
    state: str
    chips: int
    since: datetime | None
    until: datetime | None = None
    letter: str = ""
    colour: int = 0  # 0: another team's


@dataclass
class HostView:
    """A host as pages show it."""

    host: Host
    silent_s: float
    occupants: list[Occupant] = field(default_factory=list)
    chips: list[tuple[int, Occupant | None]] = field(default_factory=list)  # local index, who holds it

    @property
    def is_silent(self) -> bool:
        return self.host.state != HostState.RETIRED and self.silent_s > settings.PLACE_SILENT_S

    @property
    def states(self) -> list[str]:
        """The first is the one that its glyph shows; what was cordoned may be silent besides."""
        if not self.is_silent:
            return [self.host.state]
        return ["silent"] if self.host.state == HostState.READY else [self.host.state, "silent"]

    @property
    def word(self) -> str:
        return _("silent") if self.states[0] == "silent" else str(HostState(self.host.state).label)

    @property
    def total(self) -> int:
        return len(self.chips)

    @property
    def held(self) -> int:
        return sum(occupant is not None for _number, occupant in self.chips)

    @property
    def free(self) -> int:
        return self.total - self.held

    @property
    def is_drawn(self) -> bool:
        return self.total <= DRAWN_CHIPS

    @property
    def takes_work(self) -> bool:
        return self.host.state == HostState.READY and not self.is_silent

    @property
    def clock(self) -> str:
        """How far the host's clock is from the panel's."""
        ms = self.host.clock_offset_ms
        if ms is None:
            return _("unknown")
        return _("%(seconds)+.1f s") % {"seconds": ms / 1000} if abs(ms) >= 1000 else _("%(ms)+d ms") % {"ms": ms}

    @property
    def is_clock_bad(self) -> bool:
        return abs(self.host.clock_offset_ms or 0) > CLOCK_BAD_MS


@dataclass(frozen=True)
class ClusterView:
    cluster: Cluster
    hosts: list[HostView]

    @property
    def room(self) -> ClusterRoom:
        usable = [view for view in self.hosts if view.takes_work]
        cordoned = [view for view in self.hosts if view.host.state == HostState.CORDONED]
        return ClusterRoom(
            cluster=self.cluster.name,
            accelerator=self.cluster.accelerator,
            free=sum(view.free for view in usable),
            total=sum(view.total for view in usable),
            hosts=len(self.hosts),
            cordoned=len(cordoned),
            silent=sum(view.is_silent for view in self.hosts if view.host.state != HostState.CORDONED),
        )


def clusters(by: Actor) -> list[ClusterView]:
    """Every cluster with its hosts in service, those without any too."""
    hosts = Host.objects.in_service().select_related("slice__cluster", "subject").order_by("name", "pk")
    views = _views(list(hosts), by)
    return [
        ClusterView(cluster, [view for view in views if view.host.slice.cluster_id == cluster.pk])
        for cluster in Cluster.objects.order_by("name")
    ]


def view(host: Host, by: Actor) -> HostView:
    return _views([host], by)[0]


def past(host: Host, by: Actor) -> list[Occupant]:
    """The last that have left it, newest first."""
    leases = Lease.objects.filter(host=host).exclude(to_ms=None).select_related("workload__subject").order_by("-to_ms", "-pk")
    seen = _visible(by)
    return [
        _occupant(lease.workload, lease.chips, seen, since=_moment(lease.from_ms), until=_moment(lease.to_ms))
        for lease in leases[:PAST_SHOWN]
    ]


def _views(hosts: list[Host], by: Actor) -> list[HostView]:
    heard_by, seen = silence.listening(), _visible(by)
    found = {host.pk: HostView(host, silence.silence_s(host, heard_by)) for host in hosts}
    chips = Chip.objects.select_related("workload__subject").order_by("host_id", "number")
    chips = chips.filter(host=hosts[0]) if len(hosts) == 1 else chips
    by_host: dict[UUID, list[Chip]] = {}
    for chip in chips:
        by_host.setdefault(chip.host_id, []).append(chip)
    for pk, view in found.items():
        _fill(view, by_host.get(pk, []), seen)
    return list(found.values())


def _fill(view: HostView, chips: list[Chip], seen: set[int]) -> None:
    """Occupants in the order of their first chip, each with a letter; those that may be seen have a colour."""
    counts: dict[UUID, int] = {}
    for chip in chips:
        if chip.workload_id:
            counts[chip.workload_id] = counts.get(chip.workload_id, 0) + 1
    occupants: dict[UUID, Occupant] = {}
    for chip in chips:
        if chip.workload and chip.workload.pk not in occupants:
            place = len(occupants)
            occupants[chip.workload.pk] = _occupant(
                chip.workload, counts[chip.workload.pk], seen, since=chip.workload.ordered_at, place=place
            )
    view.occupants = list(occupants.values())
    view.chips = [(chip.number, occupants.get(chip.workload_id) if chip.workload_id else None) for chip in chips]


def _occupant(
    workload: Workload, chips: int, seen: set[int], *, since: datetime | None, until: datetime | None = None, place: int = 0
) -> Occupant:
    is_seen = workload.project_id in seen
    return Occupant(
        workload=workload.pk,
        title=workload.subject.title if is_seen else "",
        link=workload.subject.link if is_seen else "",
        state=workload.state,
        chips=chips,
        since=since,
        until=until,
        letter=chr(ord("A") + place) if place < 26 else str(place + 1),
        colour=place % COLOURS + 1 if is_seen else 0,
    )


def _visible(by: Actor) -> set[int]:
    return set(visible_projects(by).values_list("pk", flat=True))


def _moment(ms: int | None) -> datetime | None:
    return None if ms is None else datetime.fromtimestamp(ms / 1000, UTC)


def refresh_every_s(views: Iterable[ClusterView]) -> int:
    """How often a list is drawn anew by itself: what has fallen silent tells nobody."""
    return 5 if sum(len(one.hosts) for one in views) <= MANY_HOSTS else 30
