"""Writes gan.json and gan.npz: what the original does in gan_cases.py."""

import tensorflow as tf
from gan_cases import CASES, run, train
from goldens import LEFT_OUT, Both, make

RUNS = ["1.12"]

tf.logging.set_verbosity(tf.logging.ERROR)
cases = {name: lambda n=name: Both(*run(tf, n)) for name in CASES}
make("gan", dict(cases, train=lambda: Both(LEFT_OUT, train(tf))))
