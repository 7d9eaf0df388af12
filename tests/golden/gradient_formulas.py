"""Writes its half of gradient_formulas.json: run under TensorFlow 1.12 (Python 3.6), then under 2.15 (Python 3.11)."""

import base64
import json
import os
import sys

import numpy as np
import tensorflow as tf

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from gradient_formulas_cases import FED, INPUTS, PLAIN, SEEDED, SEEDS, derived, fed_value, floating, used

VERSION = "1.12" if tf.__version__.startswith("1.12") else "2.15"
if VERSION == "2.15":
    tf = tf.compat.v1
    tf.disable_v2_behavior()


def packed(array):
    array = np.asarray(array)
    return {"dtype": array.dtype.str, "shape": list(array.shape), "data": base64.b64encode(array.tobytes()).decode()}


def evaluate(case, seed=None, fed=False):
    with tf.Graph().as_default(), tf.Session() as session:
        inputs = {n: tf.placeholder(INPUTS[n].dtype, INPUTS[n].shape, name="in_" + n) for n in used(case)}
        y = eval(case, {"tf": tf, "np": np}, inputs)
        if not y.dtype.is_floating:
            return None
        found = derived(tf, y, [inputs[n] for n in floating(case)], seed)
        feed = {inputs[n]: INPUTS[n] for n in inputs}
        if fed:
            feed[y] = fed_value(session.run(y, feed).shape)
        return [None if g is None else packed(session.run(g, feed)) for g in found]


results = {}
jobs = [(case, case, {}) for case in PLAIN]
jobs += [(case + " from " + word, case, {"seed": SEEDS[word]}) for case in SEEDED for word in SEEDS]
jobs += [(case + " fed", case, {"fed": True}) for case in FED]
for name, case, how in jobs:
    try:
        found = evaluate(case, **how)
        if found is not None:
            results[name] = found
    except Exception as error:
        print(name, type(error).__name__, str(error)[:150])
path = os.path.splitext(os.path.abspath(__file__))[0] + ".json"
whole = {}
if os.path.exists(path):
    with open(path) as file:
        whole = json.load(file)
whole[VERSION] = results
with open(path, "w") as file:
    json.dump(whole, file, indent=0, sort_keys=True)
print(VERSION, len(results))
