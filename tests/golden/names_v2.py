"""Writes names_v2.npz: what TensorFlow 2.15 computes for the expressions of names_v2_cases, and their gradients.

Run it with the Python that has TensorFlow 2.15: ``python tests/golden/names_v2.py``.
"""

import os

import numpy as np
import tensorflow as tf
from names_v2_cases import CASES, INPUTS


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
    return found


if __name__ == "__main__":
    arrays = {}
    for case in CASES:
        try:
            arrays |= {f"{case}/{part}": array for part, array in evaluate(case).items()}
        except Exception as error:
            raise SystemExit(f"{case}: {error}") from error
    where = os.path.splitext(os.path.abspath(__file__))[0] + ".npz"
    np.savez_compressed(where, **arrays)
    print(len(CASES), "cases,", len(arrays), "arrays,", os.path.getsize(where), "bytes")
