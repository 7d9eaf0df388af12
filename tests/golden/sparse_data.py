"""Writes sparse_data.json: what the original makes of the programs of sparse_data_cases.py.

Run it with the Python that has TensorFlow 1.12.3: ``python tests/golden/sparse_data.py``.
"""

import json
import os

import sparse_data_cases
import tensorflow as tf

tf.logging.set_verbosity(tf.logging.ERROR)
found = {}
for case in sparse_data_cases.CASES:
    with tf.Graph().as_default(), tf.Session() as session:
        found[case.__name__] = case(tf, session)
with open(os.path.splitext(os.path.abspath(__file__))[0] + ".json", "w") as file:
    json.dump(found, file, indent=1, sort_keys=True)
