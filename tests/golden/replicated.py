"""Writes replicated.json: what the original does in replicated_cases.py."""

import tempfile

import tensorflow as tf
from goldens import make
from replicated_cases import CASES, run

RUNS = ["1.12"]

tf.logging.set_verbosity(tf.logging.ERROR)
make("replicated", {name: lambda n=name: run(tf, n, tempfile.mkdtemp()) for name in CASES})
