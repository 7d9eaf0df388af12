"""Writes framework.json: what the original does in framework_cases.py."""

import tensorflow as tf
from framework_cases import CASES, run
from goldens import make

RUNS = ["1.12"]

tf.logging.set_verbosity(tf.logging.ERROR)
make("framework", {name: lambda n=name: run(tf, n) for name in CASES})
