"""Writes contrib_eager.json: what TensorFlow 1.12 makes of contrib_eager_cases. Run it with the Python that has it."""

import json
import os
import sys

import numpy as np
import tensorflow as tf

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import contrib_eager_cases as cases


def plain(value):
    """A result as JSON has it."""
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if value is None or isinstance(value, (bool, str)):
        return value
    array = np.asarray(value.numpy() if hasattr(value, "numpy") else value)
    return {"dtype": array.dtype.name, "value": array.tolist()}


def found(case):
    names = {"tf": tf, "tfe": tf.contrib.eager, "m": tf.contrib.eager.metrics, "v": tf.contrib.eager.Variable(3.0)}
    try:
        return plain(eval(case, dict(vars(cases), **names)))
    except Exception as error:
        return "raises " + type(error).__name__


if __name__ == "__main__":
    tf.enable_eager_execution()
    where = os.path.join(os.path.dirname(os.path.abspath(__file__)), "contrib_eager.json")
    with open(where, "w") as stream:
        json.dump({case: found(case) for case in cases.CASES}, stream, indent=0, sort_keys=True)
        stream.write("\n")
