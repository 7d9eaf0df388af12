"""Writes nodes.json: the attributes of operations in the graphs of nodes_cases.py, each list of them once."""

import json

import tensorflow as tf
from goldens import make
from nodes_cases import cases, nodes

RUNS = ["1.12"]

tf.logging.set_verbosity(tf.logging.ERROR)
golden = {}
seen = set()
for name, build in cases().items():
    with tf.Graph().as_default() as graph:
        try:
            build(tf)
        except Exception as error:
            print(name, type(error).__name__, str(error)[:200])
            continue
        for kind, values in nodes(graph, lambda op: [a.name for a in op.op_def.attr]).items():
            key = json.dumps([kind, values], sort_keys=True)
            if key not in seen:
                seen.add(key)
                golden.setdefault(name, {})[kind] = values
make("nodes", golden)
