"""Writes own_gradients.json: what each of the originals makes of the cases; what it refuses is left out."""

import tensorflow as tf
from goldens import LEFT_OUT, make
from own_gradients_cases import CASES, WRITES, derived, slopes

RUNS = ["1.12", "2.15"]
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
    except Exception:
        return LEFT_OUT


cases = [(case, derived) for case in CASES] + [(case, slopes) for case in WRITES]
make("own_gradients", {"2.15" if LATER else "1.12": {c.__name__: lambda c=c, w=way: run(c, w) for c, way in cases}})
