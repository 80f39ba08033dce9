"""What a run is told: by its command line what to train, by the environment where to put it."""

from __future__ import annotations

import os
from argparse import ArgumentDefaultsHelpFormatter, ArgumentParser
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Settings:
    """Of these only `epochs`, the learning rate and how it is computed may change when a run is resumed: see `resumable`."""

    epochs: int
    batch_size: int  # global: shared by all ranks
    learning_rate: float
    learning_rate_decay: float  # factor an epoch
    hidden_units: int
    precision: str
    seed: int
    log_interval: int  # steps
    compile: bool
    output: str
    checkpoints: str
    metrics: str

    def resumable(self) -> dict[str, int]:
        """What a checkpoint relies on: the shape of the weights, the split of the digits and the order of batches."""
        return {"hidden_units": self.hidden_units, "batch_size": self.batch_size, "seed": self.seed}


def read(arguments: Sequence[str] | None = None) -> Settings:
    parser = ArgumentParser(description="Learns handwritten digits.", formatter_class=ArgumentDefaultsHelpFormatter)
    add = parser.add_argument
    add("--epochs", type=int, default=10, help="times that each digit is seen")
    add("--batch-size", type=int, default=32, help="global batch size")
    add("--learning-rate", type=float, default=0.005, help="Adam's, in the first epoch")
    add("--learning-rate-decay", type=float, default=0.85, help="what the learning rate is multiplied with, an epoch")
    add("--hidden-units", type=int, default=128, help="width of the dense layer")
    add("--precision", choices=["float32", "mixed_bfloat16"], default="float32", help="what the layers compute in")
    add("--seed", type=int, default=0, help="of the split, the order and the first weights")
    add("--log-interval", type=int, default=10, help="steps between two readings of the device")
    add("--compile", choices=["true", "false"], default="false", help="trace the network by torch.compile, not at each step")
    given = vars(parser.parse_args(arguments))
    output = os.environ.get("PANEL_OUTPUT", "output")
    return Settings(
        **given | {"compile": given["compile"] == "true"},
        output=output,
        checkpoints=os.environ.get("PANEL_CHECKPOINTS", "checkpoints"),
        metrics=os.environ.get("PANEL_METRICS", f"{output}/metrics.jsonl"),
    )
