"""Run by a TensorFlow runtime's Python: prints as JSON what a run has left in its output folder."""

import json
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf
from sklearn.datasets import load_digits


def scalars(folder: Path) -> dict[str, list[list[float]]]:
    """Tag -> [step, value] of each point, in the order written."""
    found: dict[str, list[list[float]]] = {}
    for path in sorted(folder.glob("events.out.tfevents.*")):
        for record in tf.data.TFRecordDataset(str(path)).as_numpy_iterator():
            event = tf.compat.v1.Event.FromString(record)
            for value in event.summary.value:
                found.setdefault(value.tag, []).append([event.step, float(tf.make_ndarray(value.tensor))])
    return found


def served(folder: Path) -> dict[str, object]:
    """What the exported model makes of all digits."""
    signature = tf.saved_model.load(str(folder)).signatures["serving_default"]
    pixels, labels = load_digits(return_X_y=True)
    ((name, spec),) = signature.structured_input_signature[1].items()
    probabilities = signature(**{name: tf.constant(pixels.reshape(-1, 8, 8), tf.float32)})["probabilities"].numpy()
    return {
        "input": [name, spec.dtype.name, spec.shape.as_list()],
        "shape": list(probabilities.shape),
        "sums_to_one": bool(np.allclose(probabilities.sum(axis=1), 1, atol=1e-3)),
        "accuracy": float((probabilities.argmax(axis=1) == labels).mean()),
    }


def examples(folder: Path, part: str) -> int:
    return sum(1 for path in folder.glob(f"{part}-*.tfrecord") for _record in tf.data.TFRecordDataset(str(path)))


output = Path(sys.argv[1])
print(
    json.dumps(
        {
            "scalars": scalars(output / "tensorboard"),
            "served": served(output / "model"),
            "examples": {part: examples(output / "data", part) for part in ("train", "test")},
        }
    )
)
