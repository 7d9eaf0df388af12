"""Writes data.json: what the original makes of the datasets in data_cases.py."""

import tensorflow as tf
from data_cases import CASES, outcome
from goldens import make

RUNS = ["1.12"]

tf.logging.set_verbosity(tf.logging.ERROR)
make("data", {name: lambda m=case: outcome(tf, m) for name, case in CASES.items()})
