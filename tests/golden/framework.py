"""Writes framework.json: what the original does in framework_cases.py.

Run it with the Python that has TensorFlow 1.12.3: ``python tests/golden/framework.py``.
"""

import json
import os

import framework_cases
import tensorflow as tf

tf.logging.set_verbosity(tf.logging.ERROR)
found = {name: framework_cases.run(tf, name) for name in framework_cases.CASES}
path = os.path.splitext(os.path.abspath(__file__))[0] + ".json"
with open(path, "w") as file:
    json.dump(found, file, indent=1, sort_keys=True)
print(len(found), "cases")
