"""What is free at this moment, and whether a request would start: told before it is sent. Placement decides, as it does later."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from clusters import catalogue, reasons
from clusters.models import Cluster
from clusters.placement import Choice, Inventory, place
from clusters.specs import Request


@dataclass(frozen=True)
class ClusterRoom:
    """A cluster's chips. Those of hosts that are cordoned or silent are neither free nor in the total."""

    cluster: str
    accelerator: str
    free: int
    total: int
    hosts: int  # in service
    cordoned: int  # of these hosts
    silent: int  # of these, and not cordoned

    @property
    def free_words(self) -> str:
        if not self.hosts:
            return _("no host yet")
        if not self.total:
            return _("no host can take work")
        return _("%(free)s of %(total)s free") % {"free": self.free, "total": catalogue.amount(self.total, self.accelerator)}

    @property
    def kind_words(self) -> str:
        """What its hosts are: "cpu, 3 hosts", "v5e, 4 hosts, 16 GiB HBM a chip"."""
        found = catalogue.find(self.accelerator)
        parts = [self.accelerator]
        if self.hosts:
            parts.append(ngettext("%(count)d host", "%(count)d hosts", self.hosts) % {"count": self.hosts})
        if found and found.hbm_gib_per_chip:
            parts.append(_("%(gib)g GiB HBM a chip") % {"gib": found.hbm_gib_per_chip})
        return ", ".join(parts)

    @property
    def apart_words(self) -> str:
        """Of the hosts that take nothing now; "" when there are none."""
        parts = [ngettext("%(count)d host cordoned", "%(count)d hosts cordoned", self.cordoned) % {"count": self.cordoned}]
        parts = parts if self.cordoned else []
        if self.silent:
            parts.append(ngettext("%(count)d host silent", "%(count)d hosts silent", self.silent) % {"count": self.silent})
        return ", ".join(parts)


@dataclass(frozen=True)
class Outlook:
    """What would happen to a request now: `state` is "now", "waits" or "never" (as the hosts are)."""

    state: str
    sentence: str
    hosts: tuple[str, ...] = ()  # names of those on which it would start now
    code: str = ""  # of clusters/reasons.py, of what it would wait for


def rooms(clusters: Iterable[Cluster], inventory: Inventory) -> list[ClusterRoom]:
    """Of each cluster, those without hosts too, in the order of their names."""
    found = []
    for cluster in sorted(clusters, key=lambda cluster: (cluster.accelerator, cluster.name)):
        hosts = [room for room in inventory.rooms if room.cluster == cluster.name]
        usable = [room for room in hosts if not room.cordoned and not room.silent]
        found.append(
            ClusterRoom(
                cluster=cluster.name,
                accelerator=cluster.accelerator,
                free=sum(len(room.free) for room in usable),
                total=sum(room.total for room in usable),
                hosts=len(hosts),
                cordoned=sum(room.cordoned for room in hosts),
                silent=sum(room.silent and not room.cordoned for room in hosts),
            )
        )
    return found


def outlook(request: Request, inventory: Inventory) -> Outlook:
    decision = place(request, inventory)
    if isinstance(decision, Choice):
        names = {room.host: room.name for room in inventory.rooms}
        hosts = tuple(names[place.host] for place in decision.places)
        return Outlook("now", _("Starts now on %(hosts)s.") % {"hosts": ", ".join(hosts)}, hosts=hosts)
    if decision.code == "too-large":
        asked = {"amount": catalogue.amount(request.chips, request.accelerator), "accelerator": request.accelerator}
        sentence = _("It would wait: no host has %(amount)s of %(accelerator)s; the largest has %(largest)s.")
        return Outlook("never", sentence % (asked | decision.data), code=decision.code)
    return Outlook("waits", reasons.sentence(decision.code, decision.data), code=decision.code)
