"""Writes layers.json and layers.npz: what the original does in layer_cases.py.

Run it with the Python that has TensorFlow 1.12.3: ``python tests/golden/layers.py``.
"""

import json
import os

import layer_cases
import numpy as np
import tensorflow as tf

tf.logging.set_verbosity(tf.logging.ERROR)
facts, arrays = {}, {}
for group in ("LAYERS", "LOSSES", "METRICS"):
    for name, case in sorted(getattr(layer_cases, group).items()):
        key = group + "/" + name
        facts[key], found = layer_cases.run(tf, case)
        arrays.update({key + "/" + k: v for k, v in found.items()})
base = os.path.splitext(os.path.abspath(__file__))[0]
with open(base + ".json", "w") as file:
    json.dump(facts, file, indent=1, sort_keys=True)
np.savez_compressed(base + ".npz", **arrays)
print(len(facts), "cases")
