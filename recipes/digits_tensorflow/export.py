"""The finished model as a SavedModel, which TensorFlow Serving or anything else that loads one can serve."""

from __future__ import annotations

import keras
import tensorflow as tf


class Classifier(tf.Module):
    """What is served: raw pixels in, probabilities out."""

    def __init__(self, model: keras.Model) -> None:
        super().__init__()
        self.model = model

    @tf.function(input_signature=[tf.TensorSpec([None, 8, 8], tf.float32, name="pixels")])
    def classify(self, pixels: tf.Tensor) -> dict[str, tf.Tensor]:
        return {"probabilities": tf.nn.softmax(self.model(pixels, training=False))}


def save(model: keras.Model, folder: str) -> None:
    """Written beside its place and moved there when whole, so that nobody loads half a model."""
    classifier, part = Classifier(model), f"{folder}.part"
    tf.saved_model.save(classifier, part, signatures={"serving_default": classifier.classify})
    if tf.io.gfile.exists(folder):
        tf.io.gfile.rmtree(folder)
    tf.io.gfile.rename(part, folder)
