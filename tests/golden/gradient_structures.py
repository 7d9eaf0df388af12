"""Writes gradient_structures.json: nests of two structures in graphs of 1.12, eagerly and in functions of 2.15.

Of each nest and each way it is ``[value, gradient by x, by w (, by s), writes]``, vectors summed up; what the original
refuses is left out.
"""

import numpy as np
import tensorflow as tf
from goldens import LEFT_OUT, make
from gradient_structures_cases import STRUCTURES, Kit, function_of, reads_back

RUNS = ["1.12", "2.15"]
LATER = tf.__version__.startswith("2")
X = [0.3, -0.7]
VARIABLES = {"w": 0.9, "s": [0.4, 0.2], "count": 0.0}
OUTER = [name for name in STRUCTURES if LATER or STRUCTURES[name].needs == "1.12"]
INNER = [
    name for name in (
        "plain", "while_initial", "while_arrays", "cond", "vectorized_map", "jacobian", "custom_gradient",
        "function_once", "read_after_write",
    ) if name in OUTER
]  # fmt: skip


def in_graph(nest):
    with tf.Graph().as_default(), tf.Session() as session:
        made = {n: tf.Variable(np.float64(v), name=n, use_resource=True) for n, v in VARIABLES.items()}
        x, flag = tf.placeholder(tf.float64, [2]), tf.placeholder(tf.bool, [])
        k = Kit(tf, tf, tf.contrib.eager.defun, made["w"], made["s"], made["count"], flag)
        y = function_of(k, nest, "build")(x)
        found = [y] + tf.gradients(y, [x, k.w, k.s][: 3 if reads_back(nest) else 2])
        session.run(tf.global_variables_initializer())
        return session.run(found, {x: X, flag: True}) + [session.run(k.count)]


def eagerly(nest, function=lambda f: f):
    made = {n: tf.Variable(np.float64(v)) for n, v in VARIABLES.items()}

    def step(x, flag):
        k = Kit(tf, tf.compat.v1, as_function, made["w"], made["s"], made["count"], flag)
        sources = [x, k.w, k.s][: 3 if reads_back(nest) else 2]
        with tf.GradientTape() as tape:
            tape.watch(sources)
            y = function_of(k, nest, "build")(x)
        return [y] + tape.gradient(y, sources)

    found = function(step)(tf.constant(X, tf.float64), tf.constant(True))
    return [v.numpy() for v in found] + [made["count"].numpy()]


def as_function(f):
    return tf.function(f, autograph=False)


def in_function(nest):
    return eagerly(nest, as_function)


def run(way, nest):
    try:
        return [round(float(np.sum(v)), 12) for v in way(nest)]
    except Exception:
        return LEFT_OUT


ways = {"function": in_function, "eager": eagerly} if LATER else {"graph": in_graph}
areas = {
    name: {f"{outer}-{inner}": lambda n=(outer, (inner,)), w=way: run(w, n) for outer in OUTER for inner in INNER}
    for name, way in ways.items()
}
make("gradient_structures", areas)
