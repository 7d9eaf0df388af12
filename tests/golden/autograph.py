"""Writes autograph.json: what is made of the cases under tf.function."""

import numpy as np
import tensorflow as tf
from autograph_cases import CASES
from goldens import make

RUNS = ["2.15"]


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


tf.autograph.set_verbosity(0)
make("autograph", {case.__name__: lambda c=case: run(c) for case in CASES})
