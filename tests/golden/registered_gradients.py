"""Writes what the original says of the gradient of each operation type into registered_gradients.json.

Run it with 1.12.3 and with 2.15.1: each writes its own version's lists, of the types that have a gradient function, and
of the others: those that are declared to have none, and those of which nothing is said.
"""

import json
import os

import tensorflow as tf
from tensorflow.python.framework import op_def_registry, ops

PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "registered_gradients.json")


def gradients():
    if tf.__version__.startswith("1."):
        import tensorflow.contrib  # noqa: F401  (its types are registered with it)

        types, registry = set(op_def_registry.get_registered_ops()), ops._gradient_registry
    else:
        types, registry = {name for name in dir(tf.raw_ops) if name[0] != "_"}, ops.gradient_registry
    functions = {name for name, entry in registry._registry.items() if entry["type"] is not None}
    return {"function": sorted(functions), "none": sorted((types | set(registry._registry)) - functions)}


def main():
    kept = {}
    if os.path.exists(PATH):
        with open(PATH) as file:
            kept = json.load(file)
    kept[".".join(tf.__version__.split(".")[:2])] = gradients()
    with open(PATH, "w") as file:
        json.dump(kept, file, indent=0, sort_keys=True)
        file.write("\n")


if __name__ == "__main__":
    main()
