"""Writes registered_gradients.json: what each of the originals says of the gradient of each operation type.

By version, the types that have a gradient function, and the others: those that are declared to have none, and those of
which nothing is said.
"""

import tensorflow as tf
from goldens import make
from tensorflow.python.framework import op_def_registry, ops

RUNS = ["1.12", "2.15"]


def gradients():
    if tf.__version__.startswith("1."):
        import tensorflow.contrib  # noqa: F401  (its types are registered with it)

        types, registry = set(op_def_registry.get_registered_ops()), ops._gradient_registry
    else:
        types, registry = {name for name in dir(tf.raw_ops) if name[0] != "_"}, ops.gradient_registry
    functions = {name for name, entry in registry._registry.items() if entry["type"] is not None}
    return {"function": sorted(functions), "none": sorted((types | set(registry._registry)) - functions)}


make("registered_gradients", {".".join(tf.__version__.split(".")[:2]): gradients()})
