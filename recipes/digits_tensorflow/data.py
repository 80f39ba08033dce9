"""Scikit-learn's handwritten digits: 1,797 images of 8 x 8 pixels from 0 to 16, written as TFRecords and read with tf.data."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import tensorflow as tf
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

SHARDS = 4  # files a part: what several readers can share
TEST_SHARE = 0.2
NO_LABEL = -1  # of an image that only fills up the last batch

AUTOTUNE = tf.data.AUTOTUNE


@dataclass(frozen=True)
class Digits:
    """Both parts as single examples (pixels float32 [8, 8], label int32), read once and then kept in memory."""

    train: tf.data.Dataset
    test: tf.data.Dataset
    train_size: int
    test_size: int

    def epoch(self, number: int, *, batch_size: int, skip: int = 0) -> tf.data.Dataset:
        """The batches of an epoch but for the first `skip`.

        Their order follows from the run's seed and the epoch's number alone, so that a resumed run sees what it would have seen.
        An incomplete last batch is left out: a TPU compiles for one shape.
        """
        order = self.train.shuffle(self.train_size, seed=number, reshuffle_each_iteration=False)
        return order.batch(batch_size, drop_remainder=True).skip(skip).prefetch(AUTOTUNE)

    def test_batches(self, *, batch_size: int) -> tf.data.Dataset:
        """Every test image once; the last batch is filled up with images that have NO_LABEL."""
        missing = -self.test_size % batch_size
        filling = tf.data.Dataset.from_tensors((tf.zeros([8, 8]), tf.constant(NO_LABEL))).repeat(missing)
        return self.test.concatenate(filling).batch(batch_size, drop_remainder=True).prefetch(AUTOTUNE)


def prepare(folder: str, *, seed: int) -> Digits:
    """Write the digits to a folder, split by the seed, and open what was written."""
    images, labels = load_digits(return_X_y=True)
    parts = train_test_split(images.astype(np.uint8), labels, test_size=TEST_SHARE, stratify=labels, random_state=seed)
    train_images, test_images, train_labels, test_labels = parts
    tf.io.gfile.makedirs(folder)
    return Digits(
        train=_read(_write(folder, "train", train_images, train_labels)),
        test=_read(_write(folder, "test", test_images, test_labels)),
        train_size=len(train_labels),
        test_size=len(test_labels),
    )


def _write(folder: str, part: str, images: np.ndarray, labels: np.ndarray) -> list[str]:
    """The paths of the shards, each with its share of the examples."""
    paths = [f"{folder}/{part}-{shard:05d}-of-{SHARDS:05d}.tfrecord" for shard in range(SHARDS)]
    for path, indices in zip(paths, np.array_split(np.arange(len(labels)), SHARDS), strict=True):
        with tf.io.TFRecordWriter(path) as writer:
            for index in indices:
                writer.write(_example(images[index], labels[index]).SerializeToString())
    return paths


def _example(image: np.ndarray, label: int) -> tf.train.Example:
    feature = {
        "image": tf.train.Feature(bytes_list=tf.train.BytesList(value=[image.tobytes()])),
        "label": tf.train.Feature(int64_list=tf.train.Int64List(value=[label])),
    }
    return tf.train.Example(features=tf.train.Features(feature=feature))


def _read(paths: list[str]) -> tf.data.Dataset:
    """Shards are read and parsed in parallel, yet in one order: `deterministic` costs little and makes runs comparable."""
    examples = tf.data.Dataset.from_tensor_slices(paths).interleave(
        tf.data.TFRecordDataset, cycle_length=SHARDS, num_parallel_calls=AUTOTUNE, deterministic=True
    )
    return examples.map(_parse, num_parallel_calls=AUTOTUNE, deterministic=True).cache()


def _parse(record: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    found = tf.io.parse_single_example(
        record, {"image": tf.io.FixedLenFeature([], tf.string), "label": tf.io.FixedLenFeature([], tf.int64)}
    )
    pixels = tf.reshape(tf.io.decode_raw(found["image"], tf.uint8), [8, 8])
    return tf.cast(pixels, tf.float32), tf.cast(found["label"], tf.int32)
