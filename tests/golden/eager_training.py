"""Writes eager_training.json: what the original does in eager_training_cases.py.

Run it with the Python that has TensorFlow 1.12.3: ``python tests/golden/eager_training.py``.
"""

import json
import os

import eager_training_cases
import tensorflow as tf

tf.logging.set_verbosity(tf.logging.ERROR)
tf.enable_eager_execution()
found = {}
for case in eager_training_cases.CASES:
    tf.reset_default_graph()
    found[case.__name__] = case(tf)
with open(os.path.splitext(os.path.abspath(__file__))[0] + ".json", "w") as file:
    json.dump(found, file, sort_keys=True)
