"""Writes summaries_contrib.json: what 1.12 writes in the cases of summaries_contrib_cases.

Run it with the Python of 1.12: ``python tests/golden/summaries_contrib.py``.
"""

import json
import os
import tempfile

import tensorflow as tf
from summaries_contrib_cases import CASES, events, suffixes

tf.enable_eager_execution()
found = {}
for name in CASES:
    folder = tempfile.mkdtemp()
    returned = CASES[name](tf, folder)
    found[name] = [returned, events(tf, folder), suffixes(folder)]
with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "summaries_contrib.json"), "w") as file:
    json.dump(found, file, indent=0, sort_keys=True)
    file.write("\n")
