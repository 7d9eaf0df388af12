"""Writes scopes.json: what the original does in scope_cases.py."""

import tensorflow as tf
from goldens import make
from scope_cases import CASES

RUNS = ["1.12"]


def run(case):
    with tf.Graph().as_default():
        return case(tf)


tf.logging.set_verbosity(tf.logging.ERROR)
make("scopes", {case.__name__: lambda c=case: run(c) for case in CASES})
