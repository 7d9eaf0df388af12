"""Writes its half of own_gradients.json: run under TensorFlow 1.12 (Python 3.6), then under 2.15 (Python 3.11)."""

import json
import os
import sys

import tensorflow as tf

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from own_gradients_cases import CASES, WRITES, derived, slopes

LATER = tf.__version__.startswith("2")


def in_graph(build):
    with tf.Graph().as_default(), tf.Session() as session:
        x, w = tf.constant(0.3), tf.get_variable("w", initializer=0.9, use_resource=True)
        found = build(tf, x, w)
        session.run(tf.global_variables_initializer())
        values = iter(session.run([v for v in found if v is not None]))
        return [None if v is None else float(next(values)) for v in found] + [float(session.run(w))]


def in_function(build):
    w, there = tf.Variable(0.9), []

    @tf.function(autograph=False)
    def step(x):
        found = build(tf, x, w)
        there[:] = [v is not None for v in found]
        return [v for v in found if v is not None]

    values = iter(step(tf.constant(0.3)))
    return [float(next(values)) if t else None for t in there] + [float(w.numpy())]


def run(case, way):
    try:
        return (in_function if LATER else in_graph)(lambda tf, x, w: way(tf, case(tf, x, w), x, w))
    except Exception as error:
        print(case.__name__, type(error).__name__, str(error)[:150])
        return None


if __name__ == "__main__":
    path = os.path.splitext(os.path.abspath(__file__))[0] + ".json"
    whole = {}
    if os.path.exists(path):
        with open(path) as file:
            whole = json.load(file)
    found = {c.__name__: run(c, way) for cases, way in ((CASES, derived), (WRITES, slopes)) for c in cases}
    whole["2.15" if LATER else "1.12"] = {name: value for name, value in found.items() if value is not None}
    with open(path, "w") as file:
        json.dump(whole, file, indent=0, sort_keys=True)
        file.write("\n")
