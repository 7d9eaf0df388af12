"""Training steps of an embedding by each optimizer, beside the same step written by hand in JAX.

    python -m benchmarks.sparse_updates [--optimizers sgd,adam] [--vocabularies 4000,64000,1000000]

A step looks up 512 x 20 rows of width 64, averages them, and trains the table (by rows) and a dense layer above it.
Both sides get the same arrays and donate their state. Losses are compared first; CPU time is measured in turns, the
least of the samples counts.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

import towerstrat.compat.v1 as tf

Array = Any
BATCH, WORDS, WIDTH, CLASSES = 512, 20, 64, 10
PAST_THE_END = 2**31 - 1


def momentum(rows: Rows, g: Array) -> None:
    m = rows.write(1, 0.9 * rows.read(1) + g)
    rows.subtract(0.05 * m)


def adagrad(rows: Rows, g: Array) -> None:
    rows.add(1, g * g)
    rows.subtract(0.05 * g * lax.rsqrt(rows.read(1)))


def adadelta(rows: Rows, g: Array) -> None:
    squares, steps = rows.read(1) * 0.9 + g * g * 0.1, rows.read(2)
    step = jnp.sqrt(steps + 1e-4) * lax.rsqrt(squares + 1e-4) * g
    rows.write(1, squares)
    rows.write(2, steps * 0.9 + step * step * 0.1)
    rows.subtract(step)


def rms_prop(rows: Rows, g: Array) -> None:
    squares = rows.write(1, rows.read(1) * 0.9 + g * g * 0.1)
    rows.subtract(rows.write(2, rows.read(2) * 0.5 + 0.05 * g * lax.rsqrt(squares + 1e-3)))


def ftrl(rows: Rows, g: Array) -> None:
    squares, linear, weights = rows.read(1), rows.read(2), rows.read(0)
    grown = squares + g * g
    linear = linear + g - (jnp.sqrt(grown) - jnp.sqrt(squares)) / 0.05 * weights
    weights = jnp.where(jnp.abs(linear) > 1e-3, (1e-3 * jnp.sign(linear) - linear) / (jnp.sqrt(grown) / 0.05), 0.0)
    rows.write(0, weights)
    rows.write(1, grown)
    rows.write(2, linear)


def lazy_adam(rows: Rows, g: Array) -> None:
    m = rows.write(1, 0.9 * rows.read(1) + 0.1 * g)
    v = rows.write(2, 0.999 * rows.read(2) + 0.001 * g * g)
    rows.subtract(rows.adam_rate() * m / (jnp.sqrt(v) + 1e-3))


def ada_max(rows: Rows, g: Array) -> None:
    m = rows.write(1, 0.9 * rows.read(1) + 0.1 * g)
    v = rows.write(2, jnp.maximum(0.999 * rows.read(2), jnp.abs(g)))
    rows.subtract(0.05 / (1 - rows.powers[0]) * m / (v + 1e-3))


def proximal(rows: Rows, g: Array) -> None:
    moved = rows.read(0) - 0.05 * g
    rows.write(0, jnp.sign(moved) * jnp.maximum(jnp.abs(moved) - 0.05 * 1e-3, 0))


def proximal_adagrad(rows: Rows, g: Array) -> None:
    rows.add(1, g * g)
    rate = 0.05 * lax.rsqrt(rows.read(1))
    moved = rows.read(0) - rate * g
    rows.write(0, jnp.sign(moved) * jnp.maximum(jnp.abs(moved) - rate * 1e-3, 0))


OPTIMIZERS: dict[str, tuple[Callable[[], Any], list[float], Callable[..., None] | None]] = {
    "sgd": (lambda: tf.train.GradientDescentOptimizer(0.05), [], None),
    "momentum": (lambda: tf.train.MomentumOptimizer(0.05, 0.9), [0.0], momentum),
    "adagrad": (lambda: tf.train.AdagradOptimizer(0.05), [0.1], adagrad),
    "adadelta": (lambda: tf.train.AdadeltaOptimizer(1.0, 0.9, 1e-4), [0.0, 0.0], adadelta),
    "rmsprop": (lambda: tf.train.RMSPropOptimizer(0.05, 0.9, 0.5, 1e-3), [1.0, 0.0], rms_prop),
    "ftrl": (lambda: tf.train.FtrlOptimizer(0.05, l1_regularization_strength=1e-3), [0.1, 0.0], ftrl),
    "lazy adam": (lambda: tf.contrib.opt.LazyAdamOptimizer(0.05, epsilon=1e-3), [0.0, 0.0], lazy_adam),
    "adamax": (lambda: tf.contrib.opt.AdaMaxOptimizer(0.05, epsilon=1e-3), [0.0, 0.0], ada_max),
    "proximal": (lambda: tf.train.ProximalGradientDescentOptimizer(0.05, 1e-3), [], proximal),
    "proximal adagrad": (
        lambda: tf.train.ProximalAdagradOptimizer(0.05, l1_regularization_strength=1e-3), [0.1], proximal_adagrad
    ),
    "adam": (lambda: tf.train.AdamOptimizer(0.05, epsilon=1e-3), [0.0, 0.0], None),
    "nadam": (lambda: tf.contrib.opt.NadamOptimizer(0.05, epsilon=1e-3), [0.0, 0.0], None),
}  # fmt: skip
"""Our optimizer, what its slots start from, and the twin's rule for rows; None: it has a branch of its own."""


class Rows:
    """The rows of the twin's table and slots that a step changes."""

    def __init__(self, tables: list[Array], rows: Array | None, powers: Array):
        self.tables, self.rows, self.powers = tables, rows, powers

    def read(self, i: int) -> Array:
        return self.tables[i] if self.rows is None else self.tables[i].at[self.rows].get(mode="clip")

    def write(self, i: int, value: Array) -> Array:
        if self.rows is None:
            self.tables[i] = value
        else:
            self.tables[i] = self.tables[i].at[self.rows].set(value, mode="drop", unique_indices=True)
        return value

    def add(self, i: int, change: Array) -> None:
        if self.rows is None:
            self.tables[i] += change
        else:
            self.tables[i] = self.tables[i].at[self.rows].add(change, mode="drop", unique_indices=True)

    def subtract(self, change: Array) -> None:
        self.add(0, -change)

    def adam_rate(self) -> Array:
        return 0.05 * jnp.sqrt(1 - self.powers[1]) / (1 - self.powers[0])


def summed_by_row(ids: Array, g: Array) -> tuple[Array, Array]:
    order = jnp.argsort(ids)
    ordered = ids[order]
    first = jnp.concatenate([jnp.ones(1, bool), ordered[1:] != ordered[:-1]])
    place = jnp.cumsum(first) - 1
    rows = jnp.full(ids.shape, PAST_THE_END, ids.dtype).at[place].set(ordered)
    return rows, jnp.zeros_like(g).at[place].add(g[order])


def adam(tables: list[Array], ids: Array | None, g: Array, powers: Array, nesterov: bool) -> list[Array]:
    """All rows move. ``ids`` None: a dense gradient."""
    weights, m, v = tables
    rate = 0.05 * jnp.sqrt(1 - powers[1]) / (1 - powers[0])
    if ids is None:
        total: Array = lambda table, change: table + change  # noqa: E731
    elif weights.shape[0] < 16 * ids.shape[0]:
        g, total = jnp.zeros_like(weights).at[ids].add(g), lambda table, change: table + change
    else:
        rows, g = summed_by_row(ids, g)
        total = lambda table, change: table.at[rows].add(change, mode="drop", unique_indices=True)  # noqa: E731
    m, v = total(0.9 * m, 0.1 * g), total(0.999 * v, 0.001 * g * g)
    direction = total(0.9 * m, 0.1 * g) if nesterov else m
    return [weights - rate * direction / (jnp.sqrt(v) + 1e-3), m, v]


def twin_step(name: str, state: Any, ids: Array, labels: Array) -> tuple[Any, Array]:
    table, dense, powers = state

    def loss_of(rows: Array, output: Array) -> Array:
        logits = rows.mean(1) @ output
        return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], -1))

    loss, (g, of_dense) = jax.value_and_grad(loss_of, (0, 1))(table[0][ids], dense[0])
    flat, g = ids.reshape(-1), g.reshape(-1, WIDTH)
    rule = OPTIMIZERS[name][2]
    if name == "sgd":
        table, dense = [table[0].at[flat].add(-0.05 * g)], [dense[0] - 0.05 * of_dense]
    elif rule is None:
        nesterov = name == "nadam"
        table, dense = adam(table, flat, g, powers, nesterov), adam(dense, None, of_dense, powers, nesterov)
    else:
        rows, g = summed_by_row(flat, g)
        by_row, whole = Rows(list(table), rows, powers), Rows(list(dense), None, powers)
        rule(by_row, g)
        rule(whole, of_dense)
        table, dense = by_row.tables, whole.tables
    return (table, dense, powers * jnp.array([0.9, 0.999], jnp.float32)), loss


class Twin:
    def __init__(self, name: str, table: Array, output: Array):
        slots = OPTIMIZERS[name][1]
        state = [[value, *(np.full_like(value, s) for s in slots)] for value in (table, output)]
        self.state = jax.tree.map(jnp.array, (*state, np.array([0.9, 0.999], np.float32)))
        self.step = jax.jit(lambda *args: twin_step(name, *args), donate_argnums=0)

    def run(self, ids: Array, labels: Array) -> Array:
        self.state, loss = self.step(self.state, ids, labels)
        return np.asarray(loss)


class Ours:
    def __init__(self, name: str, table: Array, output: Array):
        with tf.Graph().as_default():
            self.ids = tf.placeholder(tf.int32, [BATCH, WORDS])
            self.labels = tf.placeholder(tf.int32, [BATCH])
            variables = [tf.get_variable(n, v.shape) for n, v in (("table", table), ("output", output))]
            hidden = tf.reduce_mean(tf.nn.embedding_lookup(variables[0], self.ids), 1)
            self.loss = tf.losses.sparse_softmax_cross_entropy(self.labels, tf.matmul(hidden, variables[1]))
            self.train = OPTIMIZERS[name][0]().minimize(self.loss)
            self.session = tf.Session()
            self.session.run(tf.global_variables_initializer())
            for variable, value in zip(variables, (table, output), strict=True):
                variable.load(value, self.session)

    def run(self, ids: Array, labels: Array) -> Array:
        return self.session.run([self.loss, self.train], {self.ids: ids, self.labels: labels})[0]


def compare(name: str, vocabulary: int, repetitions: int) -> tuple[float, float]:
    """CPU milliseconds a step, ours and the twin's."""
    random = np.random.RandomState(0)
    table = (random.standard_normal((vocabulary, WIDTH)) * 0.05).astype(np.float32)
    output = (random.standard_normal((WIDTH, CLASSES)) * 0.1).astype(np.float32)
    batches = [
        (random.randint(0, vocabulary, (BATCH, WORDS)).astype(np.int32), random.randint(0, CLASSES, BATCH).astype("i4"))
        for _ in range(10)
    ]
    sides = [Ours(name, table, output), Twin(name, table, output)]
    losses = [[side.run(*batch) for batch in batches] for side in sides]
    np.testing.assert_allclose(*losses, rtol=1e-4, err_msg=name)
    start = time.process_time()
    sides[0].run(*batches[0])
    count = max(2, int(0.1 / (time.process_time() - start)))
    best = [float("inf")] * 2
    for _ in range(repetitions):
        for i, side in enumerate(sides):
            start = time.process_time()
            for n in range(count):
                side.run(*batches[n % len(batches)])
            best[i] = min(best[i], (time.process_time() - start) / count * 1e3)
    return best[0], best[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--optimizers", default=",".join(OPTIMIZERS))
    parser.add_argument("--vocabularies", default="4000,64000,1000000")
    parser.add_argument("--repetitions", type=int, default=9)
    args = parser.parse_args()
    for name in args.optimizers.split(","):
        for vocabulary in map(int, args.vocabularies.split(",")):
            ours, twin = compare(name, vocabulary, args.repetitions)
            print(f"| {name} | {vocabulary:,} | {ours:.2f} | {twin:.2f} | {ours / twin:.2f} |", flush=True)


if __name__ == "__main__":
    main()
