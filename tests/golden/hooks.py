"""Writes hooks.json: what the original does in hooks_cases.py.

Run it with the Python that has TensorFlow 1.12.3: ``python tests/golden/hooks.py``.
"""

import importlib
import json
import os
import tempfile

import hooks_cases
import tensorflow as tf


def inside(module, name):
    return getattr(importlib.import_module("tensorflow.python.training." + module), name)


found = {}
for case in hooks_cases.CASES:
    with tempfile.TemporaryDirectory() as folder:
        found[case.__name__] = hooks_cases.facts(tf, case, folder, inside)
    tf.summary.FileWriterCache.clear()
with open(os.path.splitext(os.path.abspath(__file__))[0] + ".json", "w") as file:
    json.dump(found, file, indent=1, sort_keys=True)
