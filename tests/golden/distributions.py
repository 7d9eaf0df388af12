"""Writes distributions.json: what the distributions of TensorFlow 1.12.3 compute.

$(scripts/oracle) tests/golden/distributions.py
"""

import json
import os
import sys

import tensorflow as tf

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))

from tests.golden import distributions_cases as cases


def run(make, *arguments):
    with tf.Graph().as_default(), tf.Session() as session:
        return {name: value.tolist() for name, value in session.run(make(tf, *arguments)).items()}


if __name__ == "__main__":
    kept = {}
    for case in cases.CASES:
        for kind in ("float32", "float64"):
            kept[case + " " + kind] = run(cases.values, case, kind)
        if case != "uniform":
            kept[case + " gradients"] = run(cases.gradients, case, "float64")
        with tf.Graph().as_default():
            kept[case + " described"] = cases.described(tf, case)
    with open(os.path.splitext(os.path.abspath(__file__))[0] + ".json", "w") as file:
        json.dump(kept, file, indent=0, sort_keys=True)
        file.write("\n")
