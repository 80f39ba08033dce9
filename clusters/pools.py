"""All chips of one accelerator as a bar, and the hosts that are in trouble. Made of what occupancy.py has read."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from clusters import catalogue
from clusters.occupancy import ClusterView, HostView
from clusters.states import HostState


@dataclass(frozen=True)
class Part:
    """A piece of the bar, in percent of its width."""

    kind: str  # ours, others, out
    x: float
    width: float


@dataclass(frozen=True)
class Pool:
    """`ours`: held by work that the looker may see; `out`: free chips of hosts that take no work now."""

    accelerator: str
    ours: int = 0
    others: int = 0
    out: int = 0
    free: int = 0
    hosts: int = 0
    out_hosts: int = 0

    @property
    def total(self) -> int:
        return self.ours + self.others + self.out + self.free

    @property
    def free_words(self) -> str:
        if not self.hosts:
            return _("no host yet")
        return _("%(free)s of %(total)s free") % {"free": self.free, "total": catalogue.amount(self.total, self.accelerator)}

    @property
    def host_words(self) -> str:
        words = ngettext("%(count)d host", "%(count)d hosts", self.hosts) % {"count": self.hosts}
        if not self.out_hosts:
            return words
        return _("%(hosts)s, %(out)d of them out of service") % {"hosts": words, "out": self.out_hosts}

    @property
    def parts(self) -> list[Part]:
        """From the left what is held, at the right end what is out; what is free is the bar's own ground."""
        if not self.total:
            return []
        ours, others, out = (100 * count / self.total for count in (self.ours, self.others, self.out))
        drawn = [Part("ours", 0, ours), Part("others", ours, others), Part("out", 100 - out, out)]
        return [part for part in drawn if part.width]


@dataclass(frozen=True)
class Trouble:
    """A host that cannot do what it is there for, and why."""

    view: HostView
    cluster: str
    sentence: str


def pools(clusters: Iterable[ClusterView]) -> list[Pool]:
    """One for each accelerator, by name; of clusters without hosts too."""
    counts: dict[str, dict[str, int]] = {}
    for one in clusters:
        count = counts.setdefault(
            one.cluster.accelerator, dict.fromkeys(("ours", "others", "out", "free", "hosts", "out_hosts"), 0)
        )
        for view in one.hosts:
            held = sum(bool(occupant and occupant.colour) for _number, occupant in view.chips)
            count["ours"] += held
            count["others"] += view.held - held
            count["free" if view.takes_work else "out"] += view.free
            count["hosts"] += 1
            count["out_hosts"] += not view.takes_work
    return [Pool(accelerator, **count) for accelerator, count in sorted(counts.items())]


def troubles(clusters: Iterable[ClusterView]) -> list[Trouble]:
    """The worst first: silent, then taking no orders, then a clock that is off, then cordoned."""
    found = []
    for one in clusters:
        for view in one.hosts:
            if told := _trouble(view):
                rank, sentence = told
                found.append((rank, Trouble(view, one.cluster.name, sentence)))
    return [trouble for _rank, trouble in sorted(found, key=lambda pair: (pair[0], pair[1].view.host.name))]


def _trouble(view: HostView) -> tuple[int, str] | None:
    host = view.host
    if view.is_silent and host.heard_at is None:
        return 0, _("Its agent has never been heard.")
    if view.is_silent:
        return 0, _("Its agent is not heard. What runs there goes on, as far as anyone knows.")
    if host.unclaimed_at is not None:
        return 1, _("It is heard but takes no orders.")
    if view.is_clock_bad:
        return 2, _("Its clock is off by %(offset)s: times in its logs are, too.") % {"offset": view.clock}
    if host.state == HostState.CORDONED:
        return 3, host.cordon_reason
    return None
