"""Writes servers.json: what the original does in servers_cases.py."""

import tensorflow as tf
from goldens import make
from servers_cases import CASES, run

RUNS = ["1.12"]

tf.logging.set_verbosity(tf.logging.FATAL)
make("servers", {name: lambda n=name: run(tf, n) for name in CASES})
