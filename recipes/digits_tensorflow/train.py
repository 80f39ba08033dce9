"""Learns handwritten digits: `python train.py --help`. The README tells what it leaves where."""

from __future__ import annotations

import sys
import time

import accelerator
import data
import export
import keras
import model
import settings
import stopping
from checkpoints import Checkpoints, OtherRun
from journal import Journal
from settings import Settings
from trainer import Score, Trainer


def main() -> int:
    """Exit code: 0 when it is trained, 143 when SIGTERM stopped it, 2 when it can't go on from the checkpoints."""
    run = Run(settings.read())
    try:
        run.resume()
    except OtherRun as error:
        print(error, file=sys.stderr)
        return 2
    with stopping.StopRequest() as stop:
        run.train(stop)
    if stop.came:
        return stopping.EXIT_CODE
    run.finish()
    return 0


class Run:
    """One training: made of its settings, brought on from its last checkpoint, stopped between any two calls of the device."""

    def __init__(self, given: Settings) -> None:
        keras.utils.set_random_seed(given.seed)
        self.given = given
        self.strategy = accelerator.strategy(cpu_devices=given.cpu_devices)
        self.digits = data.prepare(f"{given.output}/data", seed=given.seed)
        self.steps_per_epoch = self.digits.train_size // given.batch_size
        self.total_steps = given.epochs * self.steps_per_epoch
        with self.strategy.scope():
            self.network = model.build_network(hidden_units=given.hidden_units, precision=given.precision)
            self.optimizer = model.build_optimizer(
                self.network,
                learning_rate=given.learning_rate,
                decay=given.learning_rate_decay,
                steps_per_epoch=self.steps_per_epoch,
            )
        self.trainer = Trainer(
            self.strategy, self.network, self.optimizer, batch_size=given.batch_size, jit_compile=given.jit_compile
        )
        self.checkpoints = Checkpoints(given.checkpoints, self.network, self.optimizer, made_with=given.resumable())
        self.journal = Journal(f"{given.output}/tensorboard", total=self.total_steps)

    @property
    def step(self) -> int:
        """Optimizer steps that are done."""
        return int(self.optimizer.iterations.numpy())

    def resume(self) -> None:
        """Go on from the last checkpoint, or start anew. Raises OtherRun."""
        found = self.checkpoints.restore()
        self.journal.say(f"{self.digits.train_size} digits to learn, {self.digits.test_size} to test")
        replicas = self.strategy.num_replicas_in_sync
        self.journal.say(f"{replicas} replicas, batches of {self.given.batch_size}, {self.given.precision}")
        if found is None:
            self.journal.say("starts anew: there is no checkpoint")
        else:
            epochs, steps = divmod(self.step, self.steps_per_epoch)
            self.journal.say(f"resumes from {found}: {epochs} epochs and {steps} steps are done")
        self.journal.progress(self.step)

    def train(self, stop: stopping.StopRequest) -> None:
        """To the end of the last epoch, or to where `stop` finds it; either leaves a checkpoint."""
        for epoch in range(self.step // self.steps_per_epoch, self.given.epochs):
            self.train_epoch(epoch, stop)
            name = self.checkpoints.save()
            if not stop.came:
                self.test_epoch(epoch)
            if stop.came:
                self.journal.say(f"stopped at step {self.step} of {self.total_steps}; {name} is saved")
                return

    def train_epoch(self, epoch: int, stop: stopping.StopRequest) -> None:
        """What is left of it, a few steps a call."""
        done, end = self.step, (epoch + 1) * self.steps_per_epoch
        rest = self.digits.epoch(epoch, batch_size=self.given.batch_size, skip=done % self.steps_per_epoch)
        batches = iter(self.strategy.experimental_distribute_dataset(rest))
        while done < end and not stop.came:
            steps = min(self.given.steps_per_execution, end - done)
            began = time.perf_counter()
            score = self.trainer.train(batches, steps=steps)
            done += steps
            self.tell_steps(done, score, step_time_s=(time.perf_counter() - began) / steps)

    def tell_steps(self, step: int, score: Score, *, step_time_s: float) -> None:
        """The first steps of a process include the compiler's time."""
        examples_per_s = self.given.batch_size / step_time_s
        self.journal.progress(step)
        self.journal.draw(
            step,
            loss=score.loss,
            accuracy=score.accuracy,
            learning_rate=float(self.optimizer.learning_rate.numpy()),
            step_time_s=step_time_s,
            examples_per_s=examples_per_s,
        )
        self.journal.say(f"step {step}  {_words(score)}  {examples_per_s:,.0f} examples/s")

    def test_epoch(self, epoch: int) -> None:
        score = self.test()
        self.journal.draw(self.step, val_loss=score.loss, val_accuracy=score.accuracy)
        self.journal.say(f"epoch {epoch + 1} of {self.given.epochs}  test {_words(score)}")

    def test(self) -> Score:
        size, batch_size = self.digits.test_size, self.given.batch_size
        batches = self.strategy.experimental_distribute_dataset(self.digits.test_batches(batch_size=batch_size))
        return self.trainer.evaluate(iter(batches), steps=-(-size // batch_size), size=size)

    def finish(self) -> None:
        """Leave the model and the result."""
        folder = f"{self.given.output}/model"
        export.save(self.network, folder)
        self.journal.say(f"the model is in {folder}")
        accuracy = self.test().accuracy
        self.journal.metric("test_accuracy", accuracy, step=self.step)
        self.journal.say(f"test accuracy {accuracy:.3f}")


def _words(score: Score) -> str:
    return f"loss {score.loss:.4f}  accuracy {score.accuracy:.3f}"


if __name__ == "__main__":
    sys.exit(main())
