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
    batch_size: int  # global: shared by all replicas
    learning_rate: float
    learning_rate_decay: float  # factor an epoch
    hidden_units: int
    precision: str  # Keras's dtype policy
    seed: int
    steps_per_execution: int
    jit_compile: bool
    cpu_devices: int
    output: str  # a path, or gs://...
    checkpoints: str

    def resumable(self) -> dict[str, int]:
        """What a checkpoint relies on: the shape of the weights, the split of the digits and the order of batches."""
        return {"hidden_units": self.hidden_units, "batch_size": self.batch_size, "seed": self.seed}


def read(arguments: Sequence[str] | None = None) -> Settings:
    parser = ArgumentParser(description="Learns handwritten digits.", formatter_class=ArgumentDefaultsHelpFormatter)
    add = parser.add_argument
    add("--epochs", type=int, default=10, help="times that each digit is seen")
    add("--batch-size", type=int, default=32, help="global batch size")
    add("--learning-rate", type=float, default=0.003, help="Adam's, in the first epoch")
    add("--learning-rate-decay", type=float, default=0.85, help="what the learning rate is multiplied with, an epoch")
    add("--hidden-units", type=int, default=128, help="width of the dense layer")
    add("--precision", choices=["float32", "mixed_bfloat16"], default="float32", help="what the layers compute in")
    add("--seed", type=int, default=0, help="of the split, the order and the first weights")
    add("--steps-per-execution", type=int, default=10, help="steps that one call runs on the device")
    add("--jit-compile", choices=["true", "false"], default="true", help="compile by XLA on CPU too, as a TPU always does")
    add("--cpu-devices", type=int, default=1, help="replicas on CPU; a TPU trains on all its chips")
    given = vars(parser.parse_args(arguments))
    return Settings(
        **given | {"jit_compile": given["jit_compile"] == "true"},
        output=os.environ.get("PANEL_OUTPUT", "output"),
        checkpoints=os.environ.get("PANEL_CHECKPOINTS", "checkpoints"),
    )
