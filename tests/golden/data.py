"""Writes data.json: what the original makes of the datasets in data_cases.py. Run with the original's Python."""

import json
import os

import tensorflow as tf
from data_cases import CASES, outcome

tf.logging.set_verbosity(tf.logging.ERROR)
found = {name: outcome(tf, make) for name, make in CASES.items()}
with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "data.json"), "w") as file:
    json.dump(found, file, indent=0, sort_keys=True)
    file.write("\n")
