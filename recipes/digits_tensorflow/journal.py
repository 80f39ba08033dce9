"""How a run gets on: lines for people, `::` lines for the panel, scalars for TensorBoard."""

from __future__ import annotations

import tensorflow as tf


class Journal:
    """`total` is the number of optimizer steps that the run is to reach."""

    def __init__(self, folder: str, *, total: int) -> None:
        self._total = total
        self._writer = tf.summary.create_file_writer(folder)

    def say(self, sentence: str) -> None:
        print(sentence, flush=True)

    def progress(self, step: int) -> None:
        print(f"::progress step={step} total={self._total}", flush=True)

    def metric(self, name: str, value: float, *, step: int) -> None:
        print(f"::metric name={name} step={step}::{value:.6g}", flush=True)

    def draw(self, step: int, **values: float) -> None:
        """Points of the charts, named as they are; on disk when this returns, for whoever watches."""
        with self._writer.as_default(step):
            for name, value in values.items():
                tf.summary.scalar(name, value)
        self._writer.flush()
