"""Writes examples.json: what the original makes of the messages of examples_cases.py. Run with 1.12's Python."""

import json
import os

import tensorflow as tf
from examples_cases import CASES, outcome

tf.logging.set_verbosity(tf.logging.ERROR)


def evaluated(case):
    with tf.Graph().as_default(), tf.Session() as session:
        return session.run(case(tf))


found = {name: outcome(tf, lambda c=case: evaluated(c)) for name, case in CASES.items()}
with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "examples.json"), "w") as file:
    json.dump(found, file, indent=0, sort_keys=True)
    file.write("\n")
