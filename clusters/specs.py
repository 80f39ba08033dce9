"""What is started, and what it asks for: the two dataclasses that whoever wants work done fills."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True)
class Request:
    """What placement has to find: chips of an accelerator on one host, in a named cluster or in any."""

    accelerator: str
    chips: int
    cluster: str = ""

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Request:
        return cls(accelerator=str(data["accelerator"]), chips=int(data["chips"]), cluster=str(data.get("cluster") or ""))

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class Spec:
    """What a rank runs. `secrets` are names of the project's secrets, each also the variable it is set as.

    `source` and `runtime` are pinned: digests of an archive and of a list of packages. `output` and `checkpoints` are
    folders below the cluster's `files_root`, or below the agent's own.
    """

    command: list[str]
    environment: dict[str, str] = field(default_factory=dict)
    secrets: list[str] = field(default_factory=list)
    source: dict[str, Any] = field(default_factory=lambda: {"kind": "none"})
    runtime: dict[str, str] | None = None  # {"name", "digest"}
    output: str = ""
    checkpoints: str = ""
    stop_grace_s: int = 30  # seconds from TERM to KILL
    timeout_s: int | None = None  # seconds of running; None: for ever

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Spec:
        return cls(**{name: data[name] for name in cls.__dataclass_fields__ if name in data})

    def to_json(self) -> dict[str, Any]:
        return asdict(self)
