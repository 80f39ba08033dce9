"""Learns handwritten digits: `python train.py --help`. The README tells what it leaves where."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import accelerator
import data
import export
import journal
import model
import settings
import stopping
import torch
import torch_xla
import torch_xla.runtime as xr
from checkpoints import Checkpoints, OtherRun
from journal import Journal
from settings import Settings
from trainer import Score, Trainer

# Here, as the processes that torch_xla.launch starts import this file in their main threads, and train in others.
STOP = stopping.StopRequest()


def main() -> None:
    """Ends with exit code 0 when it is trained, 143 when SIGTERM stopped it, 2 when it can't go on from the checkpoints."""
    accelerator.launch(train_rank, settings.read())


def train_rank(rank: int, given: Settings) -> None:
    """What runs on each device. Its SystemExit, if any, becomes the program's."""
    run = Run(given)
    try:
        run.resume()
    except OtherRun as error:
        run.journal.say(str(error))
        sys.exit(2)
    if not run.train(STOP):
        sys.exit(stopping.EXIT_CODE)
    run.finish()


class Run:
    """One training: made of its settings, brought on from its last checkpoint, stopped between any two readings of the device."""

    def __init__(self, given: Settings) -> None:
        torch.manual_seed(given.seed)  # all ranks begin with the same weights
        self.given = given
        self.step = 0  # optimizer steps that are done
        self.ranks = xr.world_size()
        self.digits = data.prepare(seed=given.seed, batch_size=given.batch_size, rank=xr.global_ordinal(), ranks=self.ranks)
        self.total_steps = given.epochs * self.digits.steps_per_epoch
        self.learning_rate = model.schedule(
            learning_rate=given.learning_rate,
            decay=given.learning_rate_decay,
            steps_per_epoch=self.digits.steps_per_epoch,
        )
        self.network = model.Network(hidden_units=given.hidden_units).to(torch_xla.device())
        self.optimizer = model.build_optimizer(self.network)
        self.trainer = Trainer(
            self.network,
            self.optimizer,
            learning_rate=self.learning_rate,
            precision=given.precision,
            compile=given.compile,
        )
        self.checkpoints = Checkpoints(given.checkpoints, self.network, self.optimizer, made_with=given.resumable())
        self.journal = Journal(given.metrics, total=self.total_steps, speaks=accelerator.is_first())

    def resume(self) -> None:
        """Go on from the last checkpoint, or start anew. Raises OtherRun."""
        found = self.checkpoints.restore(say=self.journal.say)
        self.journal.say(f"{self.digits.train_size} digits to learn, {self.digits.test_size} to test")
        self.journal.say(f"{self.ranks} ranks on {xr.device_type()}, batches of {self.given.batch_size}, {self.given.precision}")
        if found is None:
            self.journal.say("starts anew: there is no checkpoint")
        else:
            self.step = found
            epochs, steps = divmod(found, self.digits.steps_per_epoch)
            self.journal.say(f"resumes from ckpt-{found}: {epochs} epochs and {steps} steps are done")
        self.journal.progress(self.step)

    def train(self, stop: stopping.StopRequest) -> bool:
        """Whether it got to the end of the last epoch, and not only to where `stop` found it; either leaves a checkpoint."""
        for epoch in range(self.step // self.digits.steps_per_epoch, self.given.epochs):
            is_whole = self.train_epoch(epoch, stop)
            name = self.checkpoints.save(self.step)
            if not is_whole:
                self.journal.say(f"stopped at step {self.step} of {self.total_steps}; {name} is saved")
                return False
            self.test_epoch(epoch)
        return True

    def train_epoch(self, epoch: int, stop: stopping.StopRequest) -> bool:
        """What is left of it, a few steps between two readings. Whether it was not stopped before its end."""
        end = (epoch + 1) * self.digits.steps_per_epoch
        batches = self.digits.epoch(epoch, skip=self.step % self.digits.steps_per_epoch)
        while self.step < end:
            if accelerator.on_any(stop.came):
                return False
            steps = min(self.given.log_interval, end - self.step)
            began = time.perf_counter()
            score = self.trainer.train(batches, done=self.step, steps=steps, batch_size=self.given.batch_size)
            self.step += steps
            self.tell_steps(score, step_time_s=(time.perf_counter() - began) / steps)
        return True

    def tell_steps(self, score: Score, *, step_time_s: float) -> None:
        """The first steps of a process include the compiler's time."""
        examples_per_s = self.given.batch_size / step_time_s
        compile_count, compile_time_s = journal.compilations()
        self.journal.progress(self.step)
        self.journal.draw(
            self.step,
            loss=score.loss,
            accuracy=score.accuracy,
            learning_rate=self.learning_rate(self.step),
            step_time_s=step_time_s,
            examples_per_s=examples_per_s,
            compile_count=compile_count,
            compile_time_s=compile_time_s,
        )
        self.journal.say(f"step {self.step}  {_words(score)}  {examples_per_s:,.0f} examples/s")

    def test_epoch(self, epoch: int) -> None:
        score = self.test()
        self.journal.draw(self.step, val_loss=score.loss, val_accuracy=score.accuracy)
        self.journal.say(f"epoch {epoch + 1} of {self.given.epochs}  test {_words(score)}")

    def test(self) -> Score:
        return self.trainer.evaluate(self.digits.test_batches(), size=self.digits.test_size)

    def finish(self) -> None:
        """Leave the model and the result."""
        if accelerator.is_first():
            path = Path(self.given.output, "model", "digits.pt2")
            on_cpu = model.Network(hidden_units=self.given.hidden_units)
            on_cpu.load_state_dict(self.network.state_dict())
            export.save(on_cpu, path)
            self.journal.say(f"the model is in {path}")
        accuracy = self.test().accuracy
        self.journal.metric("test_accuracy", accuracy, step=self.step)
        self.journal.say(f"test accuracy {accuracy:.3f}")


def _words(score: Score) -> str:
    return f"loss {score.loss:.4f}  accuracy {score.accuracy:.3f}"


if __name__ == "__main__":
    main()
