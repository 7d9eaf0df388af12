"""Writes utilities.json: what the original does in utilities_cases.py.

Run it with the Python that has TensorFlow 1.12.3: ``python tests/golden/utilities.py``.
"""

import json
import os

import utilities_cases

found = {case.__name__: case() for case in utilities_cases.CASES}
with open(os.path.splitext(os.path.abspath(__file__))[0] + ".json", "w") as file:
    json.dump(found, file, indent=1, sort_keys=True)
