"""Writes keras_tf_layers.json: layers of ``tf.layers`` in models of Keras."""

import tensorflow as tf
from goldens import make
from keras_tf_layers_cases import CASES

RUNS = ["1.12"]


def run(case):
    tf.keras.backend.clear_session()
    return case(tf)


make("keras_tf_layers", {name: lambda c=case: run(c) for name, case in CASES.items()})
