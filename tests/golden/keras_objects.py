"""Writes keras_objects.json: what losses, metrics, optimizers and schedules of keras 2.15 do under TensorFlow.

Run it with the Python that has TensorFlow 2.15: ``python tests/golden/keras_objects.py``.
"""

import json
import os

import tensorflow as tf
from keras_objects_cases import CASES, RUN


def rounded(value):
    """A value whose floats have nine digits, which are all of a float32."""
    if isinstance(value, dict):
        return {key: rounded(each) for key, each in value.items()}
    if isinstance(value, list):
        return [rounded(each) for each in value]
    return float(f"{value:.9g}") if isinstance(value, float) else value


def outcome(case, wrap=lambda f: f):
    table, name = case
    tf.keras.backend.clear_session()
    try:
        return rounded(RUN[table](tf, name, wrap))
    except Exception as error:
        return "raises " + type(error).__name__ + " " + str(error)[:200]


found = {".".join(case): outcome(case) for case in CASES}
# This optimizer counts in Python how often its rule was traced, and does something else in functions.
found["optimizer.new.nadam.function"] = outcome(("optimizer", "new.nadam"), tf.function)
with open(os.path.splitext(os.path.abspath(__file__))[0] + ".json", "w") as file:
    for key, value in found.items():
        if isinstance(value, str):
            print(key, value)
    json.dump(found, file, sort_keys=True, separators=(",", ":"))
    file.write("\n")
