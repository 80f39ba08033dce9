"""The network and its optimizer."""

from __future__ import annotations

import keras

CLASSES = 10


def build_network(*, hidden_units: int, precision: str) -> keras.Model:
    """From pixels (float32 [batch, 8, 8], 0 to 16) to logits (float32 [batch, 10]).

    `mixed_bfloat16` computes in bfloat16 and keeps its weights in float32; bfloat16 reaches as far as float32, so that no loss
    has to be scaled. The logits stay float32, or their softmax would round.
    """
    keras.config.set_dtype_policy(precision)
    layers = keras.layers
    return keras.Sequential(
        [
            keras.Input([8, 8], name="pixels"),
            layers.Rescaling(1 / 16),
            layers.Reshape([8, 8, 1]),
            layers.Conv2D(16, 3, padding="same", activation="relu"),
            layers.Conv2D(32, 3, strides=2, padding="same", activation="relu"),
            layers.Flatten(),
            layers.Dense(hidden_units, activation="relu"),
            layers.Dense(CLASSES, dtype="float32", name="logits"),
        ],
        name="digits",
    )


def build_optimizer(model: keras.Model, *, learning_rate: float, decay: float, steps_per_epoch: int) -> keras.Optimizer:
    """Adam, whose learning rate is a function of the step alone: more epochs prolong the curve and don't bend it."""
    schedule = keras.optimizers.schedules.ExponentialDecay(learning_rate, decay_steps=steps_per_epoch, decay_rate=decay)
    optimizer = keras.optimizers.Adam(schedule)
    optimizer.build(model.trainable_variables)  # now, so that a checkpoint finds its places
    return optimizer
