"""What is computed on the devices."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import keras
import tensorflow as tf
from model import CLASSES

Batch = tuple[tf.Tensor, tf.Tensor]  # pixels, labels
Step = Callable[[tf.Tensor, tf.Tensor], tuple[tf.Tensor, tf.Tensor]]  # its summed loss, how many it has right


@dataclass(frozen=True)
class Score:
    loss: float
    accuracy: float


class Trainer:
    """A model and its optimizer on all replicas of a strategy.

    The loop is written out: Keras's `fit` has open faults under TPUStrategy, and a loop of one's own knows at which step it is.
    """

    def __init__(
        self,
        strategy: tf.distribute.Strategy,
        model: keras.Model,
        optimizer: keras.Optimizer,
        *,
        batch_size: int,
        jit_compile: bool,
    ) -> None:
        if batch_size % strategy.num_replicas_in_sync:
            raise ValueError(f"a global batch of {batch_size} can't be shared by {strategy.num_replicas_in_sync} replicas")
        self._strategy, self._model, self._optimizer = strategy, model, optimizer
        self._batch_size = batch_size
        # A TPU compiles the whole step by itself. On CPU it is the gradients only: the sum over replicas can't be compiled there.
        compiled = jit_compile and not isinstance(strategy, tf.distribute.TPUStrategy)
        self._gradients = tf.function(self._plain_gradients, jit_compile=True) if compiled else self._plain_gradients

    def train(self, batches: Iterator[Batch], *, steps: int) -> Score:
        """Mean loss and accuracy over the steps, which are one trip to the device."""
        loss, correct = self._train(batches, tf.constant(steps))
        return Score(float(loss) / steps, float(correct) / (steps * self._batch_size))

    def evaluate(self, batches: Iterator[Batch], *, steps: int, size: int) -> Score:
        """Over `size` labelled images, which are in as many batches as there are steps."""
        loss, correct = self._evaluate(batches, tf.constant(steps))
        return Score(float(loss) * self._batch_size / size, float(correct) / size)

    @tf.function
    def _train(self, batches: Iterator[Batch], steps: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        return self._total(self._train_step, batches, steps)

    @tf.function
    def _evaluate(self, batches: Iterator[Batch], steps: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        return self._total(self._measure, batches, steps)

    def _total(self, of_batch: Step, batches: Iterator[Batch], steps: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """The sum over steps and replicas; TensorFlow turns this loop into one of its own, run by the device's host."""
        loss, correct = tf.constant(0.0), tf.constant(0)
        for _ in tf.range(steps):
            more_loss, more_correct = self._strategy.run(of_batch, next(batches))
            loss += self._strategy.reduce(tf.distribute.ReduceOp.SUM, more_loss, axis=None)
            correct += self._strategy.reduce(tf.distribute.ReduceOp.SUM, more_correct, axis=None)
        return loss, correct

    def _train_step(self, pixels: tf.Tensor, labels: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        gradients, loss, correct = self._gradients(pixels, labels)
        self._optimizer.apply_gradients(zip(gradients, self._model.trainable_variables, strict=True))  # sums over the replicas
        return loss, correct

    def _plain_gradients(self, pixels: tf.Tensor, labels: tf.Tensor) -> tuple[list[tf.Tensor], tf.Tensor, tf.Tensor]:
        with tf.GradientTape() as tape:
            loss, correct = self._measure(pixels, labels, training=True)
        return tape.gradient(loss, self._model.trainable_variables), loss, correct

    def _measure(self, pixels: tf.Tensor, labels: tf.Tensor, *, training: bool = False) -> tuple[tf.Tensor, tf.Tensor]:
        """This replica's part of the batch's mean loss, and how many it has right.

        An image without a label has a row of zeros for a target: it adds nothing to either.
        """
        logits = self._model(pixels, training=training)
        losses = tf.nn.softmax_cross_entropy_with_logits(tf.one_hot(labels, CLASSES), logits)
        right = tf.argmax(logits, axis=-1, output_type=tf.int32) == labels
        return tf.reduce_sum(losses) / self._batch_size, tf.reduce_sum(tf.cast(right, tf.int32))
