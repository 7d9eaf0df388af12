"""Writes keras_parts.json: what keras 2.15 makes of the cases of keras_parts_cases.py.

Run it with the Python that has TensorFlow 2.15: ``python tests/golden/keras_parts.py``.
"""

import json
import os

import tensorflow as tf
from keras_parts_cases import GROUPS, run

found = {}
for group, cases in GROUPS.items():
    for name in cases:
        facts, values = run(tf, group, name)
        found[f"{group}/{name}"] = [facts, [[str(v.dtype), v.tolist()] for v in values]]
with open(os.path.splitext(os.path.abspath(__file__))[0] + ".json", "w") as file:
    json.dump(found, file, sort_keys=True, separators=(",", ":"))
    file.write("\n")
print(len(found), "cases")
