"""Writes distributions.json: what the distributions of TensorFlow 1.12.3 compute."""

import distributions_cases as cases
import tensorflow as tf
from goldens import make

RUNS = ["1.12"]


def run(make, *arguments):
    with tf.Graph().as_default(), tf.Session() as session:
        return {name: value.tolist() for name, value in session.run(make(tf, *arguments)).items()}


def described(case):
    with tf.Graph().as_default():
        return cases.described(tf, case)


found = {}
for case in cases.CASES:
    for kind in ("float32", "float64"):
        found[case + " " + kind] = lambda c=case, k=kind: run(cases.values, c, k)
    if case != "uniform":
        found[case + " gradients"] = lambda c=case: run(cases.gradients, c, "float64")
    found[case + " described"] = lambda c=case: described(c)
make("distributions", found)
