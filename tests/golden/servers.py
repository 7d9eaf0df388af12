"""Writes servers.json: what the original does in servers_cases.py.

Run it with the Python that has TensorFlow 1.12.3: ``python tests/golden/servers.py``.
"""

import json
import os

import servers_cases
import tensorflow as tf

tf.logging.set_verbosity(tf.logging.FATAL)
found = {name: servers_cases.run(tf, name) for name in servers_cases.CASES}
path = os.path.splitext(os.path.abspath(__file__))[0] + ".json"
with open(path, "w") as file:
    lines = [f" {json.dumps(name)}: {json.dumps(value)}" for name, value in sorted(found.items())]
    file.write("{\n" + ",\n".join(lines) + "\n}\n")
print(len(found), "cases")
