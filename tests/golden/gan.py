"""Writes gan.json and gan.npz: what the original does in gan_cases.py.

Run it with the Python that has TensorFlow 1.12.3: ``python tests/golden/gan.py``.
"""

import json
import os

import gan_cases
import numpy as np
import tensorflow as tf

tf.logging.set_verbosity(tf.logging.ERROR)
facts, arrays = {}, {}
for name in sorted(gan_cases.CASES):
    facts[name], found = gan_cases.run(tf, name)
    arrays.update({name + "/" + k: v for k, v in found.items()})
arrays.update({"train/" + k: v for k, v in gan_cases.train(tf).items()})
base = os.path.splitext(os.path.abspath(__file__))[0]
with open(base + ".json", "w") as file:
    json.dump(facts, file, indent=1, sort_keys=True)
np.savez_compressed(base + ".npz", **arrays)
print(len(facts), "cases")
