"""Writes gradient_formulas.json: gradients by TensorFlow 1.12 and by 2.15."""

import base64

import numpy as np
import tensorflow as tf
from goldens import LEFT_OUT, make
from gradient_formulas_cases import FED, INPUTS, PLAIN, SEEDED, SEEDS, derived, fed_value, floating, used

RUNS = ["1.12", "2.15"]
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
            return LEFT_OUT
        found = derived(tf, y, [inputs[n] for n in floating(case)], seed)
        feed = {inputs[n]: INPUTS[n] for n in inputs}
        if fed:
            feed[y] = fed_value(session.run(y, feed).shape)
        return [None if g is None else packed(session.run(g, feed)) for g in found]


def outcome(case, how):
    try:
        return evaluate(case, **how)
    except Exception:
        return LEFT_OUT


jobs = [(case, case, {}) for case in PLAIN]
jobs += [(case + " from " + word, case, {"seed": SEEDS[word]}) for case in SEEDED for word in SEEDS]
jobs += [(case + " fed", case, {"fed": True}) for case in FED]
make("gradient_formulas", {VERSION: {name: lambda c=case, h=how: outcome(c, h) for name, case, how in jobs}})
