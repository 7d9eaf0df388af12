"""Writes sparse.json: what the original makes of the programs of sparse_cases.py."""

import tensorflow as tf
from goldens import make
from sparse_cases import CASES

RUNS = ["1.12"]


def run(case):
    with tf.Graph().as_default(), tf.Session() as session:
        return case(tf, session)


tf.logging.set_verbosity(tf.logging.ERROR)
make("sparse", {case.__name__: lambda c=case: run(c) for case in CASES})
