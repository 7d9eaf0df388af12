"""Writes optimizers.npz and optimizers.json: what the original's optimizers do to a small model in 30 steps.

The model has dense variables and an embedding table whose gradients are sparse, with repeated ids. The arrays are the
data and initial values (``data/...``) and, per case and element type, a flat one, ``CASE/FLOAT``: the loss of each
step, then variables and slots after some of the steps, in the order that ``CASE`` in JSON gives as a list of [name,
shape]; the names are ``losses`` and ``STEP/VARIABLE``.
"""

import numpy as np
import tensorflow as tf
from goldens import LEFT_OUT, Both, make
from optimizer_cases import BATCH, CASES, DENSE_ONLY, FEATURES, FLOAT32_ONLY, KEPT, ROWS, STEP, STEPS, VARIABLES, WIDTH

RUNS = ["1.12"]


def data():
    random = np.random.RandomState(7)
    values = {
        "ids": random.randint(0, ROWS - 2, (STEPS, BATCH)).astype(np.int32),
        "x": random.randn(STEPS, BATCH, FEATURES),
        "y": random.randn(STEPS, BATCH, 1),
        "table": random.randn(ROWS, WIDTH) * 0.5,
        "w": random.randn(FEATURES, WIDTH) * 0.5,
        "b": random.randn(WIDTH) * 0.1,
        "v": random.randn(WIDTH, 1),
    }
    return {k: v if k == "ids" else np.round(v, 3) for k, v in values.items()}


def optimizer_of(name, step):
    kind, arguments = CASES[name]
    found = getattr(tf.train, kind, None) or getattr(tf.contrib.opt, kind)
    return found(**{k: step if v == STEP else v for k, v in arguments.items()})


def run(name, dtype):
    with tf.Graph().as_default(), tf.Session() as session:
        variables = {k: tf.Variable(GIVEN[k].astype(dtype), name=k, use_resource=True) for k in VARIABLES}
        step = tf.train.get_or_create_global_step()
        ids = tf.placeholder(tf.int32, [BATCH])
        x, y = tf.placeholder(dtype, [BATCH, FEATURES]), tf.placeholder(dtype, [BATCH, 1])
        if name in DENSE_ONLY:
            rows = tf.matmul(tf.one_hot(ids, ROWS, dtype=dtype), variables["table"])
        else:
            rows = tf.nn.embedding_lookup(variables["table"], ids)
        hidden = tf.tanh(tf.matmul(x, variables["w"]) + variables["b"] + rows)
        loss = tf.reduce_mean(tf.square(tf.matmul(hidden, variables["v"]) - y))
        optimizer = optimizer_of(name, step)
        pairs = optimizer.compute_gradients(loss)
        # Weight decay changes variables before their update; nothing else keeps it from running before the loss.
        with tf.control_dependencies([g.op for g, _ in pairs]):
            train_op = optimizer.apply_gradients(pairs, global_step=step)
        session.run(tf.global_variables_initializer())
        losses, kept = [], []
        for i in range(STEPS):
            feeds = {ids: GIVEN["ids"][i], x: GIVEN["x"][i], y: GIVEN["y"][i]}
            losses.append(session.run([loss, train_op], feeds)[0])
            if i + 1 in KEPT:
                stored = sorted((v for v in tf.global_variables() if v is not step), key=lambda v: v.name)
                kept += [(f"{i + 1}/{v.op.name}", session.run(v)) for v in stored]
        return [("losses", np.array(losses, dtype))] + kept


def described(name):
    values = {}
    for dtype in ["float32"] if name in FLOAT32_ONLY else ["float32", "float64"]:
        found = run(name, dtype)
        # Adam's powers of beta are float32 always; they are exact in float64.
        values[dtype] = np.concatenate([v.ravel().astype(dtype) for _, v in found])
    return Both([[k, list(v.shape)] for k, v in found], values)


GIVEN = data()
make("optimizers", dict({name: lambda n=name: described(n) for name in CASES}, data=Both(LEFT_OUT, GIVEN)))
