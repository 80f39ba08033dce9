"""Scikit-learn's handwritten digits: 1,797 images of 8 x 8 pixels from 0 to 16, as datasets that ranks read their share of."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch.utils.data import BatchSampler, DataLoader, DistributedSampler, TensorDataset

TEST_SHARE = 0.2
NO_LABEL = -1  # of an image that only fills up the last batch

Batch = tuple[torch.Tensor, torch.Tensor]  # pixels float32 [batch, 8, 8], labels int64 [batch]


@dataclass(frozen=True)
class Digits:
    """Both parts, and how ranks share them. `batch_size` is global."""

    train: TensorDataset
    test: TensorDataset
    train_size: int
    test_size: int  # without those that fill up
    batch_size: int
    seed: int
    rank: int
    ranks: int

    @property
    def steps_per_epoch(self) -> int:
        return self.train_size // self.batch_size

    def epoch(self, number: int, *, skip: int = 0) -> Iterator[Batch]:
        """This rank's part of the batches of an epoch but for the first `skip`.

        Their order follows from the seed and the epoch's number alone, so that a resumed run sees what it would have seen.
        An incomplete last batch is left out: XLA compiles for one shape.
        """
        sampler = DistributedSampler(self.train, self.ranks, self.rank, shuffle=True, seed=self.seed, drop_last=True)
        sampler.set_epoch(number)
        return self._batches(self.train, sampler, skip=skip)

    def test_batches(self) -> Iterator[Batch]:
        """This rank's part of every test image once; the last batch is filled up with images that have NO_LABEL."""
        return self._batches(self.test, DistributedSampler(self.test, self.ranks, self.rank, shuffle=False))

    def _batches(self, part: TensorDataset, sampler: DistributedSampler, *, skip: int = 0) -> Iterator[Batch]:
        """Those that are skipped are not even read."""
        indices = list(BatchSampler(sampler, self.batch_size // self.ranks, drop_last=True))
        return iter(DataLoader(part, batch_sampler=indices[skip:]))


def prepare(*, seed: int, batch_size: int, rank: int, ranks: int) -> Digits:
    """The digits, split by the seed. Raises ValueError for a batch that ranks can't share."""
    if batch_size % ranks:
        raise ValueError(f"a global batch of {batch_size} can't be shared by {ranks} ranks")
    images, labels = load_digits(return_X_y=True)
    images = images.reshape(-1, 8, 8).astype(np.float32)
    parts = train_test_split(images, labels, test_size=TEST_SHARE, stratify=labels, random_state=seed)
    train_images, test_images, train_labels, test_labels = map(torch.from_numpy, parts)
    missing = -len(test_labels) % batch_size
    return Digits(
        train=TensorDataset(train_images, train_labels),
        test=TensorDataset(
            torch.cat([test_images, torch.zeros(missing, 8, 8)]),
            torch.cat([test_labels, torch.full([missing], NO_LABEL)]),
        ),
        train_size=len(train_labels),
        test_size=len(test_labels),
        batch_size=batch_size,
        seed=seed,
        rank=rank,
        ranks=ranks,
    )
