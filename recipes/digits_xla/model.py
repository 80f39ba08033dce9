"""The network, what it computes in, and its optimizer."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import nn

CLASSES = 10


class Network(nn.Module):
    """From pixels (float32 [batch, 8, 8], 0 to 16) to logits ([batch, 10])."""

    def __init__(self, *, hidden_units: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(16, 32, 3, stride=2, padding=1),
            nn.ReLU(),
            nn.Flatten(),
            nn.Linear(32 * 4 * 4, hidden_units),
            nn.ReLU(),
            nn.Linear(hidden_units, CLASSES),
        )

    def forward(self, pixels: torch.Tensor) -> torch.Tensor:
        return self.layers(pixels.unsqueeze(1) / 16)


def computing_in(precision: str) -> torch.autocast:
    """`mixed_bfloat16` computes in bfloat16 and keeps its weights in float32, as a context around the network's call.

    bfloat16 reaches as far as float32, so that no loss has to be scaled.
    """
    return torch.autocast("xla", dtype=torch.bfloat16, enabled=precision == "mixed_bfloat16")


def build_optimizer(network: nn.Module) -> torch.optim.Optimizer:
    """Adam, whose learning rate is set at each step: see `schedule`."""
    return torch.optim.Adam(network.parameters())


def schedule(*, learning_rate: float, decay: float, steps_per_epoch: int) -> Callable[[int], float]:
    """The learning rate as a function of the step alone: more epochs prolong the curve and don't bend it."""
    return lambda step: learning_rate * decay ** (step / steps_per_epoch)
