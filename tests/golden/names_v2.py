"""Writes names_v2.npz: what TensorFlow 2.15 computes for the expressions of names_v2_cases, and their gradients."""

import sys

from goldens import LEFT_OUT, Both, make, use_onednn

RUNS = ["2.15", "2.15 dilated"]
if sys.argv[1:]:
    use_onednn()

import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402
from names_v2_cases import CASES, INPUTS  # noqa: E402

DILATED = ["tf.nn.conv1d(seq, w1, 1, 'VALID', dilations=2)", "tf.nn.conv2d(img, w2, 1, 'SAME', dilations=[2, 2])"]


def flat(value):
    return [np.asarray(v) for v in tf.nest.flatten(value)]


def evaluate(case):
    inputs = {name: tf.constant(value) for name, value in INPUTS.items()}
    watched = {name: value for name, value in inputs.items() if value.dtype == tf.float32}
    with tf.GradientTape() as tape:
        tape.watch(list(watched.values()))
        results = eval(case, {"tf": tf, "np": np, **inputs})
        first = tf.nest.flatten(results)[0]
    found = {f"value/{i}": value for i, value in enumerate(flat(results))}
    if first.dtype == tf.float32:
        gradients = tape.gradient(first, watched)
        found |= {f"gradient/{k}": tf.convert_to_tensor(g).numpy() for k, g in gradients.items() if g is not None}
    return Both(LEFT_OUT, found)


make("names_v2", {c: lambda c=c: evaluate(c) for c in CASES if (c in DILATED) == bool(sys.argv[1:])})
