"""What checks cost: a step that looks up rows, without checks, with those of its operations, with a further one.

    python -m benchmarks.checks [--rows 200000] [--compiled]

A step gathers 256 rows of ``[rows, 64]`` and trains them and a small matrix. "none": no checks; "data": those of the
operations (ids and labels in range); "numerics": and ``tf.check_numerics`` of the loss. The three take turns; the
fastest run of each counts. ``--compiled`` needs ``jax[tpu]``: what its compiler makes of the loop for four chips.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.harness import Devices
from benchmarks.tpu_compile import devices
from towerstrat import set_data_checks
from towerstrat.compat import v1 as tf
from towerstrat.graph.runtime.loops.step_loop_stage import lower_loop

WIDTH, BATCH, CLASSES = 64, 256, 10
KINDS = ("none", "data", "numerics")
OPTIMIZERS: dict[str, Callable[[], Any]] = {
    "SGD": lambda: tf.train.GradientDescentOptimizer(0.1),
    "Adagrad": lambda: tf.train.AdagradOptimizer(0.1),
    "Momentum": lambda: tf.train.MomentumOptimizer(0.1, 0.9),
    "Adam": lambda: tf.train.AdamOptimizer(0.1),
}


def train(optimizer: str, kind: str, rows: int, ids: Any, labels: Any) -> tuple[Any, Any]:
    """The training operation and the loss."""
    table = tf.get_variable("table", [rows, WIDTH], use_resource=True)
    weights = tf.get_variable("weights", [WIDTH, CLASSES], use_resource=True)
    logits = tf.matmul(tf.nn.embedding_lookup(table, ids), weights)
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
    if kind == "numerics":
        loss = tf.check_numerics(loss, "the loss")
    return OPTIMIZERS[optimizer]().minimize(loss), loss


def sessions(optimizer: str, rows: int) -> dict[str, Callable[[], Any]]:
    """For each kind a function that runs one step and fetches the loss."""
    runs: dict[str, Callable[[], Any]] = {}
    random = np.random.RandomState(0)
    given = random.randint(0, rows, BATCH).astype(np.int32), random.randint(0, CLASSES, BATCH).astype(np.int32)
    for kind in KINDS:
        set_data_checks(kind != "none")
        with tf.Graph().as_default():
            places = [tf.placeholder(tf.int32, [BATCH]) for _ in range(2)]
            fetches = train(optimizer, kind, rows, *places)
            session = tf.Session()
            session.run(tf.global_variables_initializer())
            feeds = dict(zip(places, given, strict=True))
            runs[kind] = lambda s=session, f=fetches, d=feeds: s.run(f, d)
    set_data_checks(True)
    return runs


def loops(optimizer: str, rows: int, steps: int) -> dict[str, Callable[[], Any]]:
    """For each kind a function that runs a step loop on one tower and fetches the last loss."""
    runs: dict[str, Callable[[], Any]] = {}
    for kind in KINDS:
        set_data_checks(kind != "none")
        session, fetches, _ = loop(optimizer, kind, rows, steps, None)
        runs[kind] = lambda s=session, f=fetches: s.run(f)
    set_data_checks(True)
    return runs


def loop(optimizer: str, kind: str, rows: int, steps: int, chips: Any) -> tuple[Any, Any, Any]:
    """(session, fetches, the loop's operation) of a step loop; for described chips no session."""
    with tf.Graph().as_default():
        resolver = tf.contrib.cluster_resolver.TPUClusterResolver("") if chips is None else Devices(chips)
        cores = None if chips is not None else 1
        strategy = tf.contrib.distribute.TPUStrategy(resolver, steps_per_run=steps, num_cores=cores)
        random = np.random.RandomState(0)
        data = random.randint(0, rows, 64 * BATCH).astype(np.int32), random.randint(0, CLASSES, 64 * BATCH)

        def dataset() -> Any:
            given = tf.data.Dataset.from_tensor_slices((data[0], data[1].astype(np.int32)))
            return given.repeat().batch(BATCH, drop_remainder=True)

        def step(context: Any, ids: Any, labels: Any) -> Any:
            made = strategy.call_for_each_tower(lambda i, y: train(optimizer, kind, rows, i, y), ids, labels)
            context.set_last_step_output("loss", made[1], tf.VariableAggregation.MEAN)
            return strategy.group(made[0])

        with strategy.scope():
            iterator = strategy.distribute_dataset(dataset).make_one_shot_iterator()
            context = strategy.run_steps_on_dataset(step, iterator, iterations=steps)
        loss = context.last_step_outputs["loss"]
        if chips is not None:
            return None, None, loss.op
        session = tf.Session()
        session.run(tf.global_variables_initializer())
        return session, [context.run_op, loss], loss.op


def compiled(optimizer: str, kind: str, rows: int, chips: Any) -> dict[str, float]:
    """Bytes that the loop of ten steps accesses, and those of its temporaries."""
    set_data_checks(kind != "none")
    found = lower_loop(loop(optimizer, kind, rows, 10, chips)[2], 10).compile()
    set_data_checks(True)
    cost = found.cost_analysis()
    cost = cost[0] if isinstance(cost, list) else cost
    return {"bytes": cost["bytes accessed"], "temporaries": found.memory_analysis().temp_size_in_bytes}


def fastest(runs: dict[str, Callable[[], Any]], rounds: int, each: int) -> dict[str, float]:
    """Seconds of one run of each kind: the fastest of several, in turn."""
    best = dict.fromkeys(runs, float("inf"))
    for run in runs.values():
        for _ in range(3):
            run()
    for _ in range(rounds):
        for kind, run in runs.items():
            start = time.perf_counter()
            for _ in range(each):
                run()
            best[kind] = min(best[kind], (time.perf_counter() - start) / each)
    return best


def row(name: str, found: dict[str, float], scale: float, digits: int) -> str:
    cells = [f"{found['none'] * scale:.{digits}f}"]
    for kind in KINDS[1:]:
        ratio = f" ({found[kind] / found['none']:.3f})" if found["none"] else ""
        cells.append(f"{found[kind] * scale:.{digits}f}{ratio}")
    return f"| {name} | " + " | ".join(cells) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--compiled", action="store_true")
    arguments = parser.parse_args()
    if arguments.compiled:
        chips = devices("v5e:2x2")
        print("| optimizer, figure | none | data (ratio) | numerics (ratio) |\n|---|---|---|---|")
        for optimizer in OPTIMIZERS:
            found = {kind: compiled(optimizer, kind, arguments.rows, chips) for kind in KINDS}
            for figure in ("bytes", "temporaries"):
                print(
                    row(f"{optimizer}, MB of {figure}", {k: v[figure] for k, v in found.items()}, 1e-6, 2), flush=True
                )
        return
    print("| step | none, us | data (ratio) | numerics (ratio) |\n|---|---|---|---|")
    for optimizer in OPTIMIZERS:
        print(
            row(f"{optimizer}, one per run", fastest(sessions(optimizer, arguments.rows), arguments.rounds, 5), 1e6, 0)
        )
        seconds = fastest(loops(optimizer, arguments.rows, 50), arguments.rounds // 4, 1)
        print(row(f"{optimizer}, 50 per run", {k: s / 50 for k, s in seconds.items()}, 1e6, 0), flush=True)


if __name__ == "__main__":
    main()
