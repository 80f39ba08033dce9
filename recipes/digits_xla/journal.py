"""How a run gets on: lines for people, `::` lines and points of the charts for the panel."""

from __future__ import annotations

import json
import time
from pathlib import Path

import torch_xla.debug.metrics as met


class Journal:
    """`total` is the number of optimizer steps that the run is to reach. Only the first rank `speaks`."""

    def __init__(self, file: str, *, total: int, speaks: bool) -> None:
        self._total, self._speaks = total, speaks
        self._file = Path(file)
        if speaks:
            self._file.parent.mkdir(parents=True, exist_ok=True)

    def say(self, sentence: str) -> None:
        if self._speaks:
            print(sentence, flush=True)

    def progress(self, step: int) -> None:
        self.say(f"::progress step={step} total={self._total}")

    def metric(self, name: str, value: float, *, step: int) -> None:
        self.say(f"::metric name={name} step={step}::{value:.6g}")

    def draw(self, step: int, **values: float) -> None:
        """Points of the charts, named as they are; in the file when this returns, for whoever watches."""
        if self._speaks:
            with self._file.open("a") as file:
                file.write(json.dumps({"step": step, "time": time.time()} | values) + "\n")


def compilations() -> tuple[int, float]:
    """How many graphs XLA has compiled for this process, and how many seconds that took in all."""
    count, nanoseconds, _samples = met.metric_data("CompileTime") or (0, 0.0, [])
    return count, nanoseconds / 1e9
