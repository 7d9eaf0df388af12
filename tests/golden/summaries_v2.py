"""Writes summaries_v2.json: what 2.15 writes in the cases of summaries_v2_cases.

Run it with the Python of 2.15: ``python tests/golden/summaries_v2.py``.
"""

import json
import os
import tempfile

import tensorflow as tf
from summaries_v2_cases import CASES, outcome

found = {}
for name in CASES:
    with tempfile.TemporaryDirectory() as folder:
        found[name] = outcome(tf, name, folder, lambda png: tf.image.decode_png(png).numpy())
with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "summaries_v2.json"), "w") as file:
    json.dump(found, file, indent=0, sort_keys=True)
    file.write("\n")
