"""Writes control_flow.json: what TensorFlow 1.12 makes of the cases. Run by its Python 3.6."""

import json
import os
import sys

import numpy as np
import tensorflow as tf

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from control_flow_cases import CASES


def plain(value):
    array = np.asarray(value)
    return {"dtype": array.dtype.name, "value": array.tolist()}


def run(case):
    with tf.Graph().as_default(), tf.Session() as session:
        try:
            fetches, feeds = case(tf)
            init = tf.global_variables_initializer()
        except Exception as error:
            return {"error": type(error).__name__}
        session.run(init)
        runs = []
        for feed in feeds:
            try:
                runs.append([plain(v) for v in session.run(fetches, feed)])
            except Exception as error:
                runs.append(type(error).__name__)
        return {"runs": runs}


if __name__ == "__main__":
    found = {case.__name__: run(case) for case in CASES}
    where = os.path.join(os.path.dirname(os.path.abspath(__file__)), "control_flow.json")
    with open(where, "w") as stream:
        json.dump(found, stream, indent=0, sort_keys=True)
        stream.write("\n")
