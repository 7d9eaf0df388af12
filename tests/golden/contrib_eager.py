"""Writes contrib_eager.json: what TensorFlow 1.12 makes of contrib_eager_cases."""

import contrib_eager_cases as cases
import numpy as np
import tensorflow as tf
from goldens import make

RUNS = ["1.12"]


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


tf.enable_eager_execution()
make("contrib_eager", {case: lambda c=case: found(c) for case in cases.CASES})
