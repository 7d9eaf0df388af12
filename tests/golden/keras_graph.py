"""Writes keras_graph.json: programs of 1.x with ``tf.keras``, in graphs."""

import tensorflow.compat.v1 as tf
from goldens import make
from keras_graph_cases import CASES

RUNS = ["2.15"]


def run(case):
    tf.keras.backend.clear_session()
    return case(tf)


tf.disable_v2_behavior()
make("keras_graph", {name: lambda c=case: run(c) for name, case in CASES.items()})
