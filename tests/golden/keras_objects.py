"""Writes keras_objects.json, keras_callbacks.json and keras_mixed.json: what keras 2.15 does under TensorFlow."""

import importlib
import warnings

import tensorflow as tf
from goldens import make_all

RUNS = ["2.15"]


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
    return rounded(cases.RUN[table](tf, name, wrap))


warnings.simplefilter("ignore")
tf.get_logger().setLevel("ERROR")
[cpu] = tf.config.list_physical_devices("CPU")
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
modules = {
    name: importlib.import_module(name + "_cases") for name in ("keras_objects", "keras_callbacks", "keras_mixed")
}
goldens = {name: {".".join(c): lambda m=m, c=c: outcome(m, c) for c in m.CASES} for name, m in modules.items()}
# This optimizer counts in Python how often its rule was traced, and does something else in functions.
goldens["keras_objects"]["optimizer.new.nadam.function"] = lambda: outcome(
    modules["keras_objects"], ("optimizer", "new.nadam"), tf.function
)
make_all(goldens)
