"""Writes keras_objects.json, keras_callbacks.json and keras_mixed.json: what keras 2.15 does under TensorFlow.

Run it with the Python that has TensorFlow 2.15: ``python tests/golden/keras_objects.py [objects] [callbacks] [mixed]``.
"""

import importlib
import json
import os
import sys
import warnings

import tensorflow as tf

warnings.simplefilter("ignore")
tf.get_logger().setLevel("ERROR")
[cpu] = tf.config.list_physical_devices("CPU")
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)


def rounded(value):
    """A value whose floats have nine digits, which are all of a float32."""
    if isinstance(value, dict):
        return {key: rounded(each) for key, each in value.items()}
    if isinstance(value, list):
        return [rounded(each) for each in value]
    return float(f"{value:.9g}") if isinstance(value, float) else value


def outcome(cases, case, wrap=lambda f: f):
    table, name = case
    tf.keras.backend.clear_session()
    try:
        return rounded(cases.RUN[table](tf, name, wrap))
    except Exception as error:
        print(case, type(error).__name__, str(error)[:300])
        raise


for part in sys.argv[1:] or ("objects", "callbacks", "mixed"):
    cases = importlib.import_module(f"keras_{part}_cases")
    found = {".".join(case): outcome(cases, case) for case in cases.CASES}
    if part == "objects":
        # This optimizer counts in Python how often its rule was traced, and does something else in functions.
        found["optimizer.new.nadam.function"] = outcome(cases, ("optimizer", "new.nadam"), tf.function)
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), f"keras_{part}.json"), "w") as file:
        json.dump(found, file, sort_keys=True, separators=(",", ":"))
        file.write("\n")
