"""Writes data_checks.json: the errors of TensorFlow 1.12 for the cases."""

import re

import numpy as np
import tensorflow as tf
from data_checks_cases import CASES
from goldens import make

RUNS = ["1.12"]


def run(function, inputs, pattern):
    with tf.Graph().as_default(), tf.Session() as session:
        places = [tf.placeholder(dtype, np.shape(value)) for value, dtype in inputs]
        result = function(tf, *places)
        session.run(tf.global_variables_initializer())
        try:
            session.run(result, {places[i]: np.asarray(v, d) for i, (v, d) in enumerate(inputs)})
        except tf.errors.OpError as error:
            found = error
        else:
            raise AssertionError("the original takes it")
    assert pattern is None or re.search(pattern, found.message), (pattern, found.message)
    return type(found).__name__


make("data_checks", {name: lambda c=case: run(*c) for name, *case in CASES})
