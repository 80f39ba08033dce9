"""The devices that a run trains on: each is a rank, which runs the whole program on its share of every batch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch_xla
import torch_xla.core.xla_model as xm
import torch_xla.runtime as xr


def launch(work: Callable[..., None], *args: Any) -> None:
    """Run `work(rank, *args)` on each chip that may be opened (PJRT_DEVICE=TPU), a process each; on CPU here, as the only rank.

    A TPU that can't be opened is an error: nobody wants to hold chips and train on the CPU. Without PJRT_DEVICE torch_xla takes
    a TPU if it finds one, else the CPU.
    """
    torch_xla.launch(work, args=args, debug_single_process=xr.device_type() == "CPU")


def is_first() -> bool:
    """Whether this rank is the one that writes files and speaks."""
    return xr.global_ordinal() == 0


def summed(values: torch.Tensor) -> list[float]:
    """Over all ranks, once the device has computed them. Every rank has to ask."""
    if xr.world_size() > 1:
        values = xm.all_reduce(xm.REDUCE_SUM, values)
    return values.tolist()


def on_any(fact: bool) -> bool:
    """Whether it is so on any rank. Every rank has to ask, and all get the same answer."""
    if xr.world_size() == 1:
        return fact
    return summed(torch.tensor([float(fact)], device=torch_xla.device()))[0] > 0
