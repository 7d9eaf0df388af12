"""Writes nodes.json: the attributes of operations in the graphs of nodes_cases.py, each list of them once.

Run it with the Python that has TensorFlow 1.12.3: ``python tests/golden/nodes.py``.
"""

import json
import os

import nodes_cases
import tensorflow as tf

tf.logging.set_verbosity(tf.logging.ERROR)
golden = {}
seen = set()
for name, build in nodes_cases.cases().items():
    with tf.Graph().as_default() as graph:
        try:
            build(tf)
        except Exception as error:
            print(name, type(error).__name__, str(error)[:200])
            continue
        for kind, values in nodes_cases.nodes(graph, lambda op: [a.name for a in op.op_def.attr]).items():
            key = json.dumps([kind, values], sort_keys=True)
            if key not in seen:
                seen.add(key)
                golden.setdefault(name, {})[kind] = values
with open(os.path.splitext(os.path.abspath(__file__))[0] + ".json", "w") as file:
    json.dump(golden, file, indent=0, sort_keys=True)
