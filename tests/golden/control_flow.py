"""Writes control_flow.json: what TensorFlow 1.12 makes of the cases."""

import numpy as np
import tensorflow as tf
from control_flow_cases import CASES
from goldens import make

RUNS = ["1.12"]


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


make("control_flow", {name: lambda c=case: run(c) for name, case in CASES.items()})
