"""Writes monitored.json: what the original does in monitored_cases.py.

Run it with the Python that has TensorFlow 1.12.3: ``python tests/golden/monitored.py``.
"""

import json
import logging
import os
import tempfile

import monitored_cases
import tensorflow as tf

logging.getLogger("tensorflow").propagate = False
found = {}
for case in monitored_cases.CASES:
    with tempfile.TemporaryDirectory() as folder:
        found[case.__name__] = monitored_cases.run(tf, case, folder)
with open(os.path.splitext(os.path.abspath(__file__))[0] + ".json", "w") as file:
    file.write("{\n")
    cases = []
    for name, entries in sorted(found.items()):
        lines = ",\n".join("  " + json.dumps(entry, sort_keys=True) for entry in entries)
        cases.append(f' "{name}": [\n{lines}\n ]')
    file.write(",\n".join(cases) + "\n}\n")
