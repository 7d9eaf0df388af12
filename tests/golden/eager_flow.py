"""Adds to eager_flow.json what one of the originals makes of the cases: run by each of their Pythons in turn."""

import json
import os
import sys

import numpy as np
import tensorflow as tf

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from eager_flow_cases import BOTH, LATER


def plain(value):
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, dict):
        return {k: plain(v) for k, v in sorted(value.items())}
    if value is None:
        return None
    array = np.asarray(value)
    if array.dtype.kind == "O":
        return {"dtype": "string", "value": [v.decode() for v in array.ravel()]}
    return {"dtype": array.dtype.name, "value": array.tolist()}


def run(case):
    try:
        return {"value": plain(case(tf))}
    except Exception as error:
        return {"error": type(error).__name__, "said": str(error)[:200]}


if __name__ == "__main__":
    later = tf.__version__.startswith("2")
    if not later:
        tf.enable_eager_execution()
    where = os.path.join(os.path.dirname(os.path.abspath(__file__)), "eager_flow.json")
    found = {}
    if os.path.exists(where):
        with open(where) as stream:
            found = json.load(stream)
    found["2.15" if later else "1.12"] = {case.__name__: run(case) for case in BOTH + (LATER if later else [])}
    with open(where, "w") as stream:
        json.dump(found, stream, indent=0, sort_keys=True)
        stream.write("\n")
