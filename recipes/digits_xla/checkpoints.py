"""Checkpoints: a run that was stopped goes on from its last one."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import accelerator
import torch
import torch_xla.core.xla_model as xm
from torch import nn

KEPT = 3
UNREADABLE = (RuntimeError, EOFError, OSError, KeyError, pickle.UnpicklingError)  # what torch.load makes of half a file


class OtherRun(Exception):
    """The folder holds checkpoints of a run that this one can't go on from."""


class Checkpoints:
    """Weights and optimizer of a run in `<folder>/ckpt-<step>.pt`, with what they were made with.

    A checkpoint is written beside its place, and renamed when the disk has it: whoever is killed in between leaves those before.
    """

    def __init__(self, folder: str, network: nn.Module, optimizer: torch.optim.Optimizer, *, made_with: dict[str, int]) -> None:
        self._folder = Path(folder)
        self._folder.mkdir(parents=True, exist_ok=True)
        self._network, self._optimizer = network, optimizer
        self._made_with = made_with

    def restore(self, *, say: Callable[[str], None]) -> int | None:
        """The step of the last checkpoint that can be read, now in network and optimizer; None without any. Raises OtherRun."""
        for path in reversed(self._paths()):
            with path.open("rb") as file:  # a file that may not be opened is an error, not half a checkpoint
                try:
                    found = torch.load(file, map_location="cpu", weights_only=True)
                except UNREADABLE as error:
                    say(f"{path.stem} is passed over, it can't be read: {str(error).partition(chr(10))[0]}")
                    continue
            self._check(found["made_with"])
            self._network.load_state_dict(found["network"])
            self._optimizer.load_state_dict(found["optimizer"])
            return found["step"]
        return None

    def save(self, step: int) -> str:
        """The name of this step's checkpoint. Every rank has to take part; the first writes."""
        path = self._folder / f"ckpt-{step}.pt"
        part = path.with_suffix(".part")
        xm.save(self._state(step), part, global_master=True)
        if accelerator.is_first():
            _flush(part)
            part.replace(path)
            _flush(self._folder)
            for old in [*self._paths()[:-KEPT], *self._folder.glob("ckpt-*.part")]:
                old.unlink()
        return path.stem

    def _state(self, step: int) -> dict[str, Any]:
        return {
            "step": step,
            "made_with": self._made_with,
            "network": self._network.state_dict(),
            "optimizer": self._optimizer.state_dict(),
        }

    def _paths(self) -> list[Path]:
        """In the order of their steps."""
        return sorted(self._folder.glob("ckpt-*.pt"), key=lambda path: int(path.stem.removeprefix("ckpt-")))

    def _check(self, before: dict[str, int]) -> None:
        changed = {name: value for name, value in self._made_with.items() if before.get(name) != value}
        if changed:
            wrong = ", ".join(f"{name} {before.get(name)}, not {value}" for name, value in changed.items())
            raise OtherRun(f"the checkpoints in {self._folder} were made with {wrong}")


def _flush(path: Path) -> None:
    """Wait until the disk has the file, or the folder's names."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
