"""Run by a PyTorch runtime's Python: prints as JSON what a run has exported, and how its source shares digits among ranks."""

import json
import sys

import torch
from sklearn.datasets import load_digits

exported, source = sys.argv[1:]
sys.path.insert(0, source)
import data  # noqa: E402

RANKS = 4


def served() -> dict[str, object]:
    """What the exported model makes of all digits."""
    program = torch.export.load(exported)
    pixels, labels = load_digits(return_X_y=True)
    images = torch.from_numpy(pixels.reshape(-1, 8, 8)).float()
    with torch.no_grad():
        probabilities = program.module()(images)
        single = program.module()(images[:1])
    return {
        "inputs": program.graph_signature.user_inputs,
        "shape": list(probabilities.shape),
        "shape_of_one": list(single.shape),
        "sums_to_one": torch.allclose(probabilities.sum(dim=1), torch.ones(len(labels)), atol=1e-3),
        "accuracy": (probabilities.argmax(dim=1).numpy() == labels).mean().item(),
    }


def shares() -> dict[str, object]:
    """Of batches of 32, resumed after the third, and of the test."""
    alone = data.prepare(seed=0, batch_size=32, rank=0, ranks=1)
    ranks = [data.prepare(seed=0, batch_size=32, rank=rank, ranks=RANKS) for rank in range(RANKS)]
    of_ranks = list(zip(*(rank.epoch(5, skip=3) for rank in ranks), strict=True))
    of_one = list(alone.epoch(5))[3:]
    tests = [torch.cat([labels for _pixels, labels in rank.test_batches()]) for rank in ranks]
    return {
        "of_batch": [len(labels) for _pixels, labels in of_ranks[0]],
        "are_batches_of_one": [together(parts) for parts in of_ranks] == [together([batch]) for batch in of_one],
        "tested": sum(int((labels != data.NO_LABEL).sum()) for labels in tests),
        "of_test": [len(labels) for labels in tests],
    }


def together(parts: list[data.Batch]) -> list[list[float]]:
    """The images of a batch in an order of their own."""
    return sorted(torch.cat([pixels for pixels, _labels in parts]).flatten(1).tolist())


print(json.dumps({"served": served(), "shares": shares()}))
