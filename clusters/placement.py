"""Where a request goes: pure functions over plain data. Nothing here reads or writes a database.

The scheduler's pass builds an `Inventory`, asks `plan` and applies what it answers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import UUID

from clusters.specs import Request


@dataclass(frozen=True)
class HostRoom:
    """What one host offers at this moment."""

    host: UUID
    name: str
    cluster: str
    accelerator: str
    free: tuple[int, ...]  # local indices of free chips, ascending
    total: int
    cordoned: bool = False
    silent: bool = False
    doubtful: bool = False  # it has let its last order pass: what fits elsewhere goes elsewhere


@dataclass(frozen=True)
class Inventory:
    """All hosts in service, in the order in which they are filled."""

    rooms: tuple[HostRoom, ...]

    def without(self, choice: Choice) -> Inventory:
        """What is left once `choice` has been taken."""
        taken = {place.host: set(place.chips) for place in choice.places}
        return Inventory(
            tuple(
                replace(room, free=tuple(chip for chip in room.free if chip not in taken[room.host]))
                if room.host in taken
                else room
                for room in self.rooms
            )
        )


@dataclass(frozen=True)
class Place:
    host: UUID
    chips: tuple[int, ...]


@dataclass(frozen=True)
class Choice:
    """Place i is for rank i."""

    places: tuple[Place, ...]


@dataclass(frozen=True)
class Refusal:
    """Why a request cannot start now: a code of clusters/reasons.py and what its sentence needs."""

    code: str
    data: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Waiting:
    workload: UUID
    request: Request


def place(request: Request, inventory: Inventory) -> Choice | Refusal:
    """The first chips that fit, on the first host that has enough, a doubtful one last; else what stands nearest to a start."""
    suited = [room for room in inventory.rooms if _suits(request, room)]
    for room in sorted(suited, key=lambda room: room.doubtful):
        if _is_usable(room) and len(room.free) >= request.chips:
            return Choice((Place(room.host, room.free[: request.chips]),))
    return _refusal(request, suited)


def plan(line: Sequence[Waiting], inventory: Inventory) -> Iterable[tuple[Waiting, Choice | Refusal]]:
    """Decide for each waiting workload, oldest first.

    A later one may start while an earlier one waits for more than is free. Chips only become fewer within a
    pass, so a request that was refused once is refused for all that ask the same: 10,000 waiting cost one look.
    """
    refused: dict[Request, Refusal] = {}
    for waiting in line:
        if waiting.request in refused:
            yield waiting, refused[waiting.request]
            continue
        decision = place(waiting.request, inventory)
        if isinstance(decision, Refusal):
            refused[waiting.request] = decision
        else:
            inventory = inventory.without(decision)
        yield waiting, decision


def _suits(request: Request, room: HostRoom) -> bool:
    return room.accelerator == request.accelerator and request.cluster in ("", room.cluster)


def _is_usable(room: HostRoom) -> bool:
    return not room.silent and not room.cordoned


def _refusal(request: Request, suited: list[HostRoom]) -> Refusal:
    """Told of the hosts that are large enough: a small one that is free lets nothing start."""
    about = {"accelerator": request.accelerator}
    if not suited:
        return Refusal("no-host", about)
    large_enough = [room for room in suited if room.total >= request.chips]
    if not large_enough:
        return Refusal("too-large", about | {"chips": request.chips, "largest": max(room.total for room in suited)})
    usable = [room for room in large_enough if _is_usable(room)]
    silent = [room for room in large_enough if room.silent]
    if not usable and silent:
        return Refusal("hosts-silent", about | {"host": silent[0].name})
    if not usable:
        return Refusal("hosts-cordoned", about)
    free, total = sum(len(room.free) for room in usable), sum(room.total for room in usable)
    return Refusal("chips-busy", about | {"chips": request.chips, "free": free, "total": total})
