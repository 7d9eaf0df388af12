"""Training steps of an embedding on several replicas, beside the same step written by hand in JAX.

    python -m benchmarks.replica_rows [--optimizers sgd,adagrad,adam] [--vocabularies 4000,64000] [--replicas 2,4]

On each replica a step looks up 256 x 20 rows of width 64, averages them, and trains the table (by rows) and a dense
layer above it. The twin is written twice: ids and rows of all replicas are gathered, and each adds them to its copy; or
each makes a gradient of the table's shape, and these are summed. The faster one counts. Losses are compared first; CPU
time of all threads is measured in turns, the least of the rounds counts.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec

import towerstrat.compat.v1 as tf
from benchmarks.mirrored import strategy_of
from benchmarks.sparse_updates import CLASSES, OPTIMIZERS, WIDTH, WORDS, Rows, adam, summed_by_row

Array = Any
BATCH, BATCHES = 256, 12
FORMS = ("gathered", "summed")


def updated(name: str, value: Sequence[Array], ids: Array | None, g: Array, powers: Array) -> list[Array]:
    """A table and its slots after a step by rows, or by a gradient of the table's shape where ``ids`` are None."""
    if name == "adam":
        return adam(list(value), ids, g, powers, nesterov=False)
    if name == "sgd":
        return [value[0].at[ids].add(-0.05 * g) if ids is not None else value[0] - 0.05 * g]
    rule = OPTIMIZERS[name][2]
    assert rule is not None
    rows, g = (None, g) if ids is None else summed_by_row(ids, g)
    found = Rows(list(value), rows, powers)
    rule(found, g)
    return found.tables


def twin_step(name: str, form: str, replicas: int, state: Any, ids: Array, labels: Array) -> tuple[Any, Array]:
    table, dense, powers = state
    ids, labels = ids[0], labels[0]

    def loss_of(rows: Array, output: Array) -> Array:
        logits = rows.mean(1) @ output
        picked = jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], -1)
        return -jnp.mean(picked) / replicas

    loss, (g, of_dense) = jax.value_and_grad(loss_of, (0, 1))(table[0][ids], dense[0])
    flat, g = ids.reshape(-1), g.reshape(-1, WIDTH)
    loss, of_dense = lax.psum((loss, of_dense), "replica")
    if form == "gathered":
        flat, g = (lax.all_gather(x, "replica", tiled=True) for x in (flat, g))
        table = updated(name, table, flat, g, powers)
    else:
        table = updated(name, table, None, lax.psum(jnp.zeros_like(table[0]).at[flat].add(g), "replica"), powers)
    dense = updated(name, dense, None, of_dense, powers)
    return (table, dense, powers * jnp.array([0.9, 0.999], jnp.float32)), loss


class Twin:
    """The step by hand.

    Args:
      form: of ``FORMS``.
    """

    def __init__(self, name: str, form: str, replicas: int, start: Sequence[Array], examples: Sequence[Array]):
        mesh = Mesh(np.array(jax.devices()[:replicas]), ("replica",), axis_types=(AxisType.Auto,))
        one, split = PartitionSpec(), PartitionSpec("replica")
        function = jax.shard_map(
            partial(twin_step, name, form, replicas), mesh=mesh, in_specs=(one, split, split), out_specs=(one, one),
            check_vma=False,
        )  # fmt: skip
        placed = [NamedSharding(mesh, spec) for spec in (one, split, split)]
        self.step = jax.jit(function, donate_argnums=0, in_shardings=placed)
        state = [[value, *(np.full_like(value, s) for s in OPTIMIZERS[name][1])] for value in start]
        self.state = jax.device_put((*state, np.array([0.9, 0.999], np.float32)), placed[0])
        self.examples, self.replicas, self.position = examples, replicas, 0

    def run(self) -> float:
        rows = (self.position + np.arange(self.replicas)) % BATCHES
        self.position += self.replicas
        self.state, loss = self.step(self.state, *(a.take(rows, axis=0) for a in self.examples))
        return float(loss)


class Ours:
    """The step as a program with ``MirroredStrategy``."""

    def __init__(self, name: str, replicas: int, start: Sequence[Array], examples: Sequence[Array]):
        with tf.Graph().as_default():
            strategy = strategy_of("mirrored", replicas)

            def tower(ids: Any, labels: Any) -> Any:
                table, output = (
                    tf.get_variable(n, initializer=tf.constant_initializer(v), shape=v.shape)
                    for n, v in zip(("table", "output"), start, strict=True)
                )
                hidden = tf.reduce_mean(tf.nn.embedding_lookup(table, ids), 1)
                loss = tf.losses.sparse_softmax_cross_entropy(labels, tf.matmul(hidden, output))
                return OPTIMIZERS[name][0]().minimize(loss), loss

            with strategy.scope():
                data = strategy.distribute_dataset(lambda: tf.data.Dataset.from_tensor_slices(tuple(examples)).repeat())
                train, loss = strategy.call_for_each_tower(tower, *data.make_one_shot_iterator().get_next())
                mean = strategy.reduce(tf.VariableAggregation.MEAN, loss, "/cpu:0")
                self.fetches = [strategy.unwrap(mean)[0], strategy.group(train)]
            self.session = tf.Session()
            self.session.run(tf.global_variables_initializer())

    def run(self) -> float:
        return float(self.session.run(self.fetches)[0])


def compare(name: str, vocabulary: int, replicas: int, rounds: int) -> dict[str, float]:
    """CPU milliseconds a step of our program and of each form of the twin."""
    random = np.random.RandomState(0)
    table = (random.standard_normal((vocabulary, WIDTH)) * 0.05).astype(np.float32)
    output = (random.standard_normal((WIDTH, CLASSES)) * 0.1).astype(np.float32)
    ids = random.randint(0, vocabulary, (BATCHES, BATCH, WORDS)).astype(np.int32)
    labels = random.randint(0, CLASSES, (BATCHES, BATCH)).astype(np.int32)
    given = (replicas, (table, output), (ids, labels))
    sides: dict[str, Any] = {"ours": Ours(name, *given)} | {form: Twin(name, form, *given) for form in FORMS}
    losses = {side: [made.run() for _ in range(6)] for side, made in sides.items()}
    for form in FORMS:
        np.testing.assert_allclose(losses["ours"], losses[form], rtol=1e-4, err_msg=f"{name}: ours and {form}")
    least = dict.fromkeys(sides, float("inf"))
    for _ in range(rounds):
        for side, made in sides.items():
            start = time.process_time()
            for _ in range(3):
                made.run()
            least[side] = min(least[side], (time.process_time() - start) / 3 * 1e3)
    return least


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--optimizers", default="sgd,adagrad,adam")
    parser.add_argument("--vocabularies", default="4000,64000")
    parser.add_argument("--replicas", default="2,4")
    parser.add_argument("--rounds", type=int, default=40)
    args = parser.parse_args()
    counts = [int(n) for n in args.replicas.split(",")]
    jax.config.update("jax_num_cpu_devices", max(counts))
    print("| optimizer | vocabulary | replicas | ours, ms | gathered, ms | summed, ms | ours / the faster |")
    print("|---|---|---|---|---|---|---|")
    for name in args.optimizers.split(","):
        for vocabulary in map(int, args.vocabularies.split(",")):
            for replicas in counts:
                found = compare(name, vocabulary, replicas, args.rounds)
                ours, gathered, summed = (found[side] for side in ("ours", *FORMS))
                print(
                    f"| {name} | {vocabulary:,} | {replicas} | {ours:.2f} | {gathered:.2f} | {summed:.2f} | "
                    f"{ours / min(gathered, summed):.2f} |", flush=True,
                )  # fmt: skip


if __name__ == "__main__":
    main()
