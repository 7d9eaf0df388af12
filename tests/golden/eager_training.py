"""Writes eager_training.json: what the original does in eager_training_cases.py."""

import tensorflow as tf
from eager_training_cases import CASES
from goldens import make

RUNS = ["1.12"]


def run(case):
    tf.reset_default_graph()
    return case(tf)


tf.logging.set_verbosity(tf.logging.ERROR)
tf.enable_eager_execution()
make("eager_training", {case.__name__: lambda c=case: run(c) for case in CASES})
