"""Writes ``keras_tf_layers.json``: layers of ``tf.layers`` in models of Keras. Wants TensorFlow 1.12.3."""

import json
import os

import keras_tf_layers_cases as cases
import tensorflow as tf

FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "keras_tf_layers.json")

if __name__ == "__main__":
    found = {}
    for name, case in cases.CASES.items():
        tf.keras.backend.clear_session()
        found[name] = case(tf)
    with open(FILE, "w") as file:
        json.dump(found, file, sort_keys=True)
        file.write("\n")
