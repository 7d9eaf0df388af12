"""Writes rnn.json and rnn.npz: what the original does in rnn_cases.py.

Run it with the Python that has TensorFlow 1.12.3: ``python tests/golden/rnn.py``.
"""

import json
import os

import numpy as np
import rnn_cases
import tensorflow as tf

tf.logging.set_verbosity(tf.logging.ERROR)
facts, arrays = {}, {}
for name, case in sorted(rnn_cases.CASES.items()):
    facts[name], found = rnn_cases.run(tf, case)
    arrays.update({name + "/" + k: v for k, v in found.items()})
base = os.path.splitext(os.path.abspath(__file__))[0]
with open(base + ".json", "w") as file:
    json.dump(facts, file, indent=1, sort_keys=True)
np.savez_compressed(base + ".npz", **arrays)
print(len(facts), "cases")
