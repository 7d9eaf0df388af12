"""Writes queues.json: what the original does in queue_cases.py."""

import tensorflow as tf
from goldens import make
from queue_cases import CASES

RUNS = ["1.12"]


def run(case):
    with tf.Graph().as_default(), tf.Session() as session:
        return case(tf, session)


tf.logging.set_verbosity(tf.logging.ERROR)
make("queues", {case.__name__: lambda c=case: run(c) for case in CASES})
