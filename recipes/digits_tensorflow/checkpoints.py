"""Checkpoints: a run that was stopped goes on from its last one."""

from __future__ import annotations

import json

import keras
import tensorflow as tf

KEPT = 3


class OtherRun(Exception):
    """The folder holds checkpoints of a run that this one can't go on from."""


class Checkpoints:
    """Weights and optimizer of a run in `<folder>/ckpt-<step>.*`; the file `checkpoint` names the last whole one.

    TensorFlow writes a checkpoint under a temporary name, renames it, and then replaces `checkpoint`: whoever is killed in
    between leaves the one before.
    """

    def __init__(self, folder: str, model: keras.Model, optimizer: keras.Optimizer, *, made_with: dict[str, int]) -> None:
        tf.io.gfile.makedirs(folder)
        self._made_with = made_with
        self._note = f"{folder}/made_with.json"
        self._step = optimizer.iterations
        self._folder = folder
        self._manager = tf.train.CheckpointManager(
            tf.train.Checkpoint(model=model, optimizer=optimizer), folder, max_to_keep=KEPT
        )

    def restore(self) -> str | None:
        """The name of the last checkpoint, now in model and optimizer; None when there is none. Raises OtherRun."""
        last = self._manager.latest_checkpoint
        if last is None:
            self._write_note()
            return None
        self._check_note()
        self._manager.checkpoint.restore(last).assert_consumed()
        return self._name()

    def save(self) -> str:
        """The name of the checkpoint of the present step."""
        self._manager.save(checkpoint_number=int(self._step.numpy()))
        return self._name()

    def _name(self) -> str:
        return f"ckpt-{int(self._step.numpy())}"

    def _write_note(self) -> None:
        with tf.io.gfile.GFile(self._note, "w") as file:
            file.write(json.dumps(self._made_with))

    def _check_note(self) -> None:
        with tf.io.gfile.GFile(self._note) as file:
            before = json.loads(file.read())
        changed = {name: value for name, value in self._made_with.items() if before.get(name) != value}
        if changed:
            wrong = ", ".join(f"{name} {before.get(name)}, not {value}" for name, value in changed.items())
            raise OtherRun(f"the checkpoints in {self._folder} were made with {wrong}")
