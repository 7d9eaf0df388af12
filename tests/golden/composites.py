"""Writes composites.json: what the original makes of the programs of composites_cases.py.

Run it with the Python that has TensorFlow 2.15: ``$(scripts/oracle --later) tests/golden/composites.py``.
"""

import json
import os

import composites_cases
import tensorflow as tf

found = {case.__name__: case(tf) for case in composites_cases.CASES}
with open(os.path.splitext(os.path.abspath(__file__))[0] + ".json", "w") as file:
    json.dump(found, file, separators=(",", ":"), sort_keys=True)
    file.write("\n")
