"""What the real TPU compiler makes of a matrix product that is split over logical devices, without a TPU.

    python -m benchmarks.tpu_logical [--json]

A step loop trains a product ``x @ w`` by gradient descent on one or two towers, each of one, two or four logical
devices over which the columns of ``w`` are split. The twin is written by hand in JAX with ``NamedSharding``. All
figures are for one device, and exact: flops, bytes, the bytes of its arguments (what it holds), and the collectives.
"""

from __future__ import annotations

import argparse
import json
from typing import Any

from benchmarks.tpu_compile import collectives, described, devices  # isort: skip  (sets the environment)

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec

import towerstrat.compat.v1 as tf
from benchmarks.harness import Devices
from towerstrat.graph.ir.mesh import Axis
from towerstrat.graph.ops.collectives import sharding
from towerstrat.graph.runtime.loops.step_loop_stage import lower_loop
from towerstrat.towers.contrib.contrib_api import CONTRIB
from towerstrat.towers.engine.spmd_engine import SpmdEngine

LAYOUTS = ((2, 1), (2, 2), (1, 2), (1, 4))
"""Towers, and logical devices of each."""
STEPS, BATCH, ROWS, COLUMNS, RATE = 10, 256, 1024, 2048, 0.1


def ours(towers: int, each: int) -> jax.stages.Lowered:
    """The step loop of the tower surface."""
    with tf.Graph().as_default():
        strategy = tf.contrib.distribute.TPUStrategy(Devices(devices("v5e:2x2")[: towers * each]))
        strategy._stand_on(SpmdEngine(Axis("tower", devices("v5e:2x2")[: towers * each], each), CONTRIB))

        def tower_fn(x: Any) -> Any:
            y = tf.matmul(x, sharding.split_over(w, strategy.engine.axis, [1, each]))
            loss = tf.reduce_mean(tf.square(y))
            return tf.train.GradientDescentOptimizer(RATE).minimize(loss), loss

        def step_fn(context: Any, x: Any) -> Any:
            train, loss = strategy.call_for_each_tower(tower_fn, x)
            context.set_last_step_output("loss", loss, tf.VariableAggregation.MEAN)
            return strategy.group(train)

        def dataset_fn() -> Any:
            data = tf.data.Dataset.from_tensors(np.zeros((BATCH, ROWS), np.float32))
            return data.repeat()

        with strategy.scope():
            w = tf.get_variable("w", [ROWS, COLUMNS])
            iterator = strategy.distribute_dataset(dataset_fn).make_one_shot_iterator()
            context = strategy.run_steps_on_dataset(step_fn, iterator, iterations=STEPS)
        return lower_loop(context.last_step_outputs["loss"].op, STEPS)


def twin(towers: int, each: int) -> jax.stages.Lowered:
    """The same by hand: one program of global arrays, and where they are."""
    chips = np.array(devices("v5e:2x2")[: towers * each]).reshape(towers, each)
    mesh = Mesh(chips, ("tower", "logical"), axis_types=(AxisType.Auto,) * 2)
    columns = NamedSharding(mesh, PartitionSpec(None, "logical"))
    batches = NamedSharding(mesh, PartitionSpec(None, "tower"))
    whole = NamedSharding(mesh, PartitionSpec())

    def step(carry: Any, x: Any) -> Any:
        def loss_of(w: Any) -> Any:
            return jnp.mean(jnp.square(x @ w))

        loss, gradient = jax.value_and_grad(loss_of)(carry[0])
        return (carry[0] - RATE * gradient, loss), None

    def loop(w: Any, xs: Any) -> Any:
        return lax.scan(step, (w, jnp.zeros((), jnp.float32)), xs)[0]

    jitted = jax.jit(loop, donate_argnums=0, in_shardings=(columns, batches), out_shardings=(columns, whole))
    return jitted.lower(
        jax.ShapeDtypeStruct((ROWS, COLUMNS), jnp.float32),
        jax.ShapeDtypeStruct((STEPS, towers * BATCH, ROWS), jnp.float32),
    )


def figures(lowered: jax.stages.Lowered) -> dict[str, Any]:
    """What one device does and holds."""
    compiled = lowered.compile()
    cost = compiled.cost_analysis()
    memory = compiled.memory_analysis()
    return {
        "flops": cost["flops"],
        "bytes": cost["bytes accessed"],
        "arguments": memory.argument_size_in_bytes,
        "temporary": memory.temp_size_in_bytes,
        "collectives": collectives(compiled.as_text()),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", action="store_true", help="figures as JSON, for the test")
    args = parser.parse_args()
    result = {
        f"{towers}x{each}": {"ours": figures(ours(towers, each)), "twin": figures(twin(towers, each))}
        for towers, each in LAYOUTS
    }
    if args.json:
        print(json.dumps(result))
        return
    for layout, sides in result.items():
        for side, found in sides.items():
            print(f"| {layout} | {side} | {found['flops']:.4g} | {found['bytes']:.4g} | {found['arguments']:,} | "
                  f"{found['temporary']:,} | {described(found['collectives'])} |")  # fmt: skip


if __name__ == "__main__":
    main()
