"""What is computed on the devices."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import accelerator
import torch
import torch_xla
import torch_xla.core.xla_model as xm
from data import NO_LABEL, Batch
from model import computing_in
from torch import nn
from torch.nn.functional import cross_entropy


@dataclass(frozen=True)
class Score:
    loss: float
    accuracy: float


class Trainer:
    """A network and its optimizer on this rank's device.

    torch_xla only notes what is to be computed; `torch_xla.sync` sends it to the device as one graph, which is compiled when it
    is new, and doesn't wait. What makes graphs differ, such as another shape or a number that is built in, costs a compilation.
    """

    def __init__(
        self,
        network: nn.Module,
        optimizer: torch.optim.Optimizer,
        *,
        learning_rate: Callable[[int], float],
        precision: str,
        compile: bool,
    ) -> None:
        self._network, self._optimizer = network, optimizer
        self._call = torch.compile(network, backend="openxla") if compile else network
        self._learning_rate, self._precision = learning_rate, precision
        self._device = torch_xla.device()

    def train(self, batches: Iterator[Batch], *, done: int, steps: int, batch_size: int) -> Score:
        """Mean loss and accuracy of the next `steps` steps after `done`, over all ranks. The device is waited for at the end."""
        self._network.train()
        totals = self._zeros()
        for step in range(done, done + steps):
            for group in self._optimizer.param_groups:
                group["lr"] = self._learning_rate(step)
            self._optimizer.zero_grad()
            loss, correct = self._measure(next(batches))
            loss.mean().backward()
            xm.optimizer_step(self._optimizer)  # with the mean of all ranks' gradients
            totals += torch.stack([loss.detach().sum(), correct])
            torch_xla.sync()
        return _mean(totals, size=steps * batch_size)

    @torch.no_grad()
    def evaluate(self, batches: Iterator[Batch], *, size: int) -> Score:
        """Over `size` labelled images, which are in as many batches as there are."""
        self._network.eval()
        totals = self._zeros()
        for batch in batches:
            loss, correct = self._measure(batch)
            totals += torch.stack([loss.sum(), correct])
            torch_xla.sync()
        return _mean(totals, size=size)

    def _measure(self, batch: Batch) -> tuple[torch.Tensor, torch.Tensor]:
        """Each image's loss, and how many are right. One without a label adds nothing to either.

        The logits are taken to float32, or their softmax would round.
        """
        pixels, labels = (part.to(self._device) for part in batch)
        with computing_in(self._precision):
            logits = self._call(pixels)
        losses = cross_entropy(logits.float(), labels, reduction="none", ignore_index=NO_LABEL)
        return losses, (logits.argmax(dim=1) == labels).sum().float()

    def _zeros(self) -> torch.Tensor:
        """Summed loss and right answers. Sent to the device, as zeros that are made there would be built into the first graph."""
        return torch.zeros(2).to(self._device)


def _mean(totals: torch.Tensor, *, size: int) -> Score:
    loss, correct = accelerator.summed(totals)
    return Score(loss / size, correct / size)
