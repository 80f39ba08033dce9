"""The finished model as an exported program, which torch.export.load reads with none of this source."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import nn


class Classifier(nn.Module):
    """What is served: raw pixels in, probabilities out."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, pixels: torch.Tensor) -> torch.Tensor:
        return self.network(pixels).softmax(dim=1)


def save(network: nn.Module, path: Path) -> None:
    """`network` is on the CPU, and so is the program. It gets its name when it is whole, so that nobody loads half a model."""
    example = torch.zeros(2, 8, 8)  # 2, as a size of 1 would be taken for the only one
    program = torch.export.export(
        Classifier(network).eval(), (example,), dynamic_shapes={"pixels": {0: torch.export.Dim("images")}}
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"part-{path.name}")  # torch.export.save wants a name that ends in .pt2
    torch.export.save(program, part)
    part.replace(path)
