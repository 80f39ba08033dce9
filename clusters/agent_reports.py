"""What a host's agent last said of itself, for people: the runtimes that stand there and, for operators, its log."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from clusters import hosts
from clusters.models import AgentReport, Host, Runtime
from projects.actors import Actor


@dataclass(frozen=True)
class StandingRuntime:
    """A runtime that is built on a host."""

    name: str  # "": the panel does not know this digest
    digest: str
    size_bytes: int
    used_at: datetime  # by the host's clock


@dataclass(frozen=True)
class Account:
    at: datetime | None  # None: it has said nothing yet
    log: str | None  # None: not for this reader; a log may tell of any team's work
    runtimes: list[StandingRuntime]

    @property
    def size_bytes(self) -> int:
        """Of all runtimes."""
        return sum(runtime.size_bytes for runtime in self.runtimes)


def of(host: Host, by: Actor) -> Account:
    may_read = hosts.is_operator(by)
    report = AgentReport.objects.filter(host=host).first()
    if report is None:
        return Account(None, "" if may_read else None, [])
    names = dict(Runtime.objects.filter(pk__in=[one["digest"] for one in report.runtimes]).values_list("digest", "name"))
    standing = [
        StandingRuntime(
            names.get(one["digest"], ""),
            one["digest"],
            one["size_bytes"],
            datetime.fromtimestamp(one["used_ms"] / 1000, UTC),
        )
        for one in report.runtimes
    ]
    return Account(report.at, report.log if may_read else None, standing)
