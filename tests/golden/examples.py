"""Writes examples.json: what the original makes of the messages of examples_cases.py."""

import tensorflow as tf
from examples_cases import CASES, outcome
from goldens import make

RUNS = ["1.12"]


def evaluated(case):
    with tf.Graph().as_default(), tf.Session() as session:
        return session.run(case(tf))


tf.logging.set_verbosity(tf.logging.ERROR)
make("examples", {name: lambda c=case: outcome(tf, lambda: evaluated(c)) for name, case in CASES.items()})
