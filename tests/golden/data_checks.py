"""Writes data_checks.json: the errors of TensorFlow 1.12 for the cases. Run by its Python 3.6."""

import json
import os
import re
import sys

import numpy as np
import tensorflow as tf

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from data_checks_cases import CASES


def run(function, inputs):
    with tf.Graph().as_default(), tf.Session() as session:
        places = [tf.placeholder(dtype, np.shape(value)) for value, dtype in inputs]
        result = function(tf, *places)
        session.run(tf.global_variables_initializer())
        try:
            session.run(result, {places[i]: np.asarray(v, d) for i, (v, d) in enumerate(inputs)})
        except tf.errors.OpError as error:
            return type(error).__name__, error.message
    raise AssertionError("the original takes it")


if __name__ == "__main__":
    found = {}
    for name, function, inputs, pattern in CASES:
        kind, message = run(function, inputs)
        assert pattern is None or re.search(pattern, message), (name, message)
        found[name] = kind
    where = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data_checks.json")
    with open(where, "w") as stream:
        json.dump(found, stream, indent=0, sort_keys=True)
        stream.write("\n")
