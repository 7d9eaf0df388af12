"""Writes summaries.json: the summaries that 1.12 makes of summaries_cases.

Run it with the Python of 1.12: ``python tests/golden/summaries.py``.
"""

import json
import os

import tensorflow as tf
from summaries_cases import CASES, outcome


def pixels(png):
    with tf.Graph().as_default(), tf.Session() as session:
        return session.run(tf.image.decode_png(png))


found = {case: outcome(tf, case, pixels) for case in CASES}
with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "summaries.json"), "w") as file:
    json.dump(found, file, indent=0, sort_keys=True)
    file.write("\n")
