"""The devices that a run trains on, as TensorFlow's strategy."""

from __future__ import annotations

import os

import tensorflow as tf


def strategy(*, cpu_devices: int) -> tf.distribute.Strategy:
    """All chips that this process may open on a TPU (PJRT_DEVICE=TPU); else one replica for each of `cpu_devices`.

    A TPU that can't be opened is an error. Nobody wants to hold chips and train on the CPU.
    """
    if os.environ.get("PJRT_DEVICE", "").upper() == "TPU":
        # "local" asks no metadata server; `connect` also initialises the chips.
        return tf.distribute.TPUStrategy(tf.distribute.cluster_resolver.TPUClusterResolver.connect("local"))
    if cpu_devices == 1:
        return tf.distribute.OneDeviceStrategy("/cpu:0")
    return tf.distribute.MirroredStrategy(_split_cpu(cpu_devices))


def _split_cpu(parts: int) -> list[str]:
    """The CPU as several logical devices, to try on a laptop what several chips do. Must come before any computation."""
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * parts)
    return [f"/cpu:{part}" for part in range(parts)]
