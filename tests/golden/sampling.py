"""Writes sampling.json: what the original does in sampling_cases.py.

Run it with the Python that has TensorFlow 1.12.3: ``python tests/golden/sampling.py``.
"""

import json
import os

import sampling_cases
import tensorflow as tf

tf.logging.set_verbosity(tf.logging.ERROR)
found = {name: sampling_cases.run(tf, case) for name, case in sampling_cases.CASES.items()}
path = os.path.splitext(os.path.abspath(__file__))[0] + ".json"
with open(path, "w") as file:
    json.dump(found, file, indent=1, sort_keys=True)
print(len(found), "cases")
