"""Writes rnn.json and rnn.npz: what the original does in rnn_cases.py."""

import tensorflow as tf
from goldens import Both, make
from rnn_cases import CASES, run

RUNS = ["1.12"]

tf.logging.set_verbosity(tf.logging.ERROR)
make("rnn", {name: lambda c=case: Both(*run(tf, c)) for name, case in CASES.items()})
