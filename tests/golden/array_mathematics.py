# ruff: noqa: B905
"""Writes array_mathematics.json: values, gradients, static shapes, names. For Python 3.6."""

import base64

import numpy as np
import tensorflow as tf
from array_mathematics_cases import CASES, DYNAMIC, INPUTS, SHAPES, static_shape, used
from goldens import LEFT_OUT, make

RUNS = ["1.12"]


def packed(array):
    array = np.asarray(array)
    return {"dtype": array.dtype.str, "shape": list(array.shape), "data": base64.b64encode(array.tobytes()).decode()}


def dims(tensor):
    return None if tensor.shape.ndims is None else tensor.shape.as_list()


def evaluated(case):
    names = used(case)
    result = {"static": {}}
    for how in SHAPES:
        with tf.Graph().as_default():
            inputs = {n: tf.placeholder(INPUTS[n].dtype, static_shape(INPUTS[n], how), name="in_" + n) for n in names}
            try:
                y = eval(case, {"tf": tf, "np": np}, inputs)
            except Exception as error:
                result["static"][how] = type(error).__name__
                continue
            result["static"][how] = dims(y)
            if how != "full":
                continue
            result["name"], result["dtype"] = y.name, y.dtype.base_dtype.name
            floats = [n for n in names if INPUTS[n].dtype in (np.float32, np.complex64)]
            gradients = []
            if y.dtype.is_floating and floats:
                try:
                    gradients = tf.gradients(y, [inputs[n] for n in floats])
                except LookupError:
                    floats = []
            gradients = [None if g is None else tf.convert_to_tensor(g) for g in gradients]
            with tf.Session() as session:
                feed = {inputs[n]: INPUTS[n] for n in names}
                result["value"] = packed(session.run(y, feed))
                result["gradients"] = {
                    n: None if g is None else packed(session.run(g, feed)) for n, g in zip(floats, gradients)
                }
    return result


def outcome(case):
    try:
        return evaluated(case)
    except Exception:
        return LEFT_OUT


make("array_mathematics", {case: lambda c=case: outcome(c) for case in CASES + DYNAMIC})
