"""What the TPU compiler makes of ``tpu.shard(tpu.repeat(n, step))``, against the same loop written in JAX.

python -m benchmarks.tpu_shards
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec

from benchmarks.tpu_compile import devices, figures, report
from towerstrat.compat import v1 as tf
from towerstrat.graph.runtime.plans.plan import DeviceStage
from towerstrat.graph.runtime.programs.program_cache import ProgramInputs
from towerstrat.graph.runtime.sessions.stage_table import plan_of

WIDTH, LAYERS, ROWS, STEPS, RATE, MOMENTUM = 1024, 4, 512, 10, 0.01, 0.9


class Chips(NamedTuple):
    """A device assignment of described chips, one for each shard."""

    found: list[Any]

    def devices(self, present: Any) -> list[list[Any]]:
        return [[chip] for chip in self.found]


def ours(topology: str) -> jax.stages.Lowered:
    """The loop as a program of the time: layers, an optimizer that sums over shards, a repeated step."""
    chips = devices(topology)
    with tf.Graph().as_default() as graph:
        rows = tf.placeholder(tf.float32, [ROWS, WIDTH])
        optimizer = tf.contrib.tpu.CrossShardOptimizer(tf.train.MomentumOptimizer(RATE, MOMENTUM))

        def step(loss: Any, part: Any) -> Any:
            net = part
            for i in range(LAYERS):
                net = tf.layers.dense(net, WIDTH, tf.nn.relu, use_bias=False, name=f"layer_{i}")
            found = tf.reduce_mean(tf.square(net))
            return found, part, optimizer.minimize(found)

        (losses, _) = tf.contrib.tpu.shard(
            lambda part: tf.contrib.tpu.repeat(STEPS, step, [0.0, part]), [rows], len(chips),
            device_assignment=Chips(chips),
        )  # fmt: skip
        (stage,) = [s for s in plan_of(graph, [losses], [rows]).stages if isinstance(s, DeviceStage)]
        value = jax.ShapeDtypeStruct((ROWS, WIDTH), np.float32)
        with jax.enable_x64(True):
            program = stage.program(
                ProgramInputs({rows: value}, [rows], (), ()), dict.fromkeys(stage.compiled.cells), {}
            )
            state = [
                [jax.ShapeDtypeStruct(c.dims, c.dtype.np) for c in cells]
                for cells in (program.state.donated, program.state.undonated)
            ]
            return program.lowered(*state, [value])


def twin(topology: str) -> jax.stages.Lowered:
    mesh = Mesh(np.array(devices(topology)), ("shard",), axis_types=(AxisType.Auto,))
    split, whole = PartitionSpec("shard"), PartitionSpec()

    def loss_of(weights: Any, part: Any) -> Any:
        for weight in weights:
            part = jax.nn.relu(part @ weight)
        return jnp.mean(jnp.square(part))

    def step(carry: Any, part: Any) -> Any:
        weights, velocities, _ = carry
        own = lax.pcast(weights, "shard", to="varying")
        loss, gradients = jax.value_and_grad(lambda w: loss_of(w, part) / mesh.size)(own)
        gradients = lax.psum(gradients, "shard")
        velocities = [MOMENTUM * v + g for v, g in zip(velocities, gradients, strict=True)]
        weights = [w - RATE * v for w, v in zip(weights, velocities, strict=True)]
        return weights, velocities, loss * mesh.size

    def loop(weights: Any, velocities: Any, rows: Any) -> Any:
        start = (weights, velocities, lax.pcast(jnp.zeros(()), "shard", to="varying"))
        weights, velocities, loss = lax.scan(lambda c, _: (step(c, rows), None), start, None, length=STEPS)[0]
        return weights, velocities, loss[None]

    weights = [jax.ShapeDtypeStruct((WIDTH, WIDTH), np.float32)] * LAYERS
    mapped = jax.shard_map(loop, mesh=mesh, in_specs=(whole, whole, split), out_specs=(whole, whole, split))
    places = tuple(NamedSharding(mesh, spec) for spec in (whole, whole, split))
    jitted = jax.jit(mapped, donate_argnums=(0, 1), in_shardings=places, out_shardings=places)
    return jitted.lower(weights, weights, jax.ShapeDtypeStruct((ROWS, WIDTH), np.float32))


def compare(topology: str = "v5e:2x2") -> dict[str, dict[str, Any]]:
    return {"ours": figures(lambda: ours(topology)), "twin": figures(lambda: twin(topology))}


if __name__ == "__main__":
    report(compare, __doc__.split("\n")[0])
