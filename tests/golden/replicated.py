"""Writes replicated.json: what the original does in replicated_cases.py.

Run it with the Python that has TensorFlow 1.12.3: ``python tests/golden/replicated.py``.
"""

import json
import os
import tempfile

import replicated_cases as cases
import tensorflow as tf

tf.logging.set_verbosity(tf.logging.ERROR)
found = {name: cases.run(tf, name, tempfile.mkdtemp()) for name in cases.CASES}
path = os.path.splitext(os.path.abspath(__file__))[0] + ".json"
with open(path, "w") as file:
    json.dump(found, file, indent=1, sort_keys=True)
print(len(found), "cases")
