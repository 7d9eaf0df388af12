"""Writes sampling.json: what the original does in sampling_cases.py."""

import tensorflow as tf
from goldens import make
from sampling_cases import CASES, run

RUNS = ["1.12"]

tf.logging.set_verbosity(tf.logging.ERROR)
make("sampling", {name: lambda c=case: run(tf, c) for name, case in CASES.items()})
