"""Writes autograph.json: what TensorFlow 2.15 makes of the cases under tf.function. Run by its Python."""

import json
import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np
import tensorflow as tf

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from autograph_cases import CASES


def plain(value):
    array = np.asarray(value)
    return {"dtype": array.dtype.name, "value": array.tolist()}


def run(case):
    program, runs = case(tf)
    function = tf.function(program)
    found = []
    for args in runs:
        try:
            result = function(*(tf.constant(a) for a in args))
            found.append([plain(v) for v in tf.nest.flatten(result)])
        except Exception as error:
            found.append(type(error).__name__)
    return found


if __name__ == "__main__":
    tf.autograph.set_verbosity(0)
    found = {case.__name__: run(case) for case in CASES}
    where = os.path.join(os.path.dirname(os.path.abspath(__file__)), "autograph.json")
    with open(where, "w") as stream:
        json.dump(found, stream, indent=0, sort_keys=True)
        stream.write("\n")
