"""Writes ``keras_graph.json``: programs of 1.x with ``tf.keras``, in graphs. Wants TensorFlow 2.15."""

import json
import os

import keras_graph_cases as cases
import tensorflow.compat.v1 as tf

FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "keras_graph.json")

if __name__ == "__main__":
    tf.disable_v2_behavior()
    found = {}
    for name, case in cases.CASES.items():
        tf.keras.backend.clear_session()
        found[name] = case(tf)
    with open(FILE, "w") as file:
        json.dump(found, file, sort_keys=True)
        file.write("\n")
