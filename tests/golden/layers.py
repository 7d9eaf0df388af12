"""Writes layers.json and layers.npz: what the original does in layer_cases.py."""

import layer_cases
import tensorflow as tf
from goldens import Both, make

RUNS = ["1.12"]

tf.logging.set_verbosity(tf.logging.ERROR)
cases = {}
for group in ("LAYERS", "LOSSES", "METRICS"):
    for name, case in getattr(layer_cases, group).items():
        cases[group + "/" + name] = lambda c=case: Both(*layer_cases.run(tf, c))
make("layers", cases)
