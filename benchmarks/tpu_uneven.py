"""What the TPU compiler makes of a training step whose last batch leaves towers with fewer rows, or with none.

python -m benchmarks.tpu_uneven
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from benchmarks.harness import Devices
from benchmarks.tpu_compile import devices, figures, report
from towerstrat.compat import v1 as tf
from towerstrat.graph.ir.uneven_shards import UnevenShards
from towerstrat.graph.ops.collectives import all_reduce
from towerstrat.graph.runtime.plans.plan import DeviceStage
from towerstrat.graph.runtime.programs.program_cache import ProgramInputs
from towerstrat.graph.runtime.sessions.stage_table import plan_of

WIDTH = 1024
LAYERS = 4


def lowered(sizes: Sequence[int], topology: str) -> jax.stages.Lowered:
    """One step of training dense layers, each tower with a batch of its size."""
    count = math.prod(int(n) for n in topology.partition(":")[2].split("x"))
    with tf.Graph().as_default() as graph:
        strategy = tf.contrib.distribute.TPUStrategy(Devices(devices(topology)[:count]), steps_per_run=1)
        rows = all_reduce.position_input(strategy.engine.axis, tf.float32, [None, WIDTH], "rows")

        def tower() -> Any:
            net = rows
            for _ in range(LAYERS):
                net = tf.layers.dense(net, WIDTH, activation=tf.nn.relu)
            return tf.train.GradientDescentOptimizer(0.01).minimize(tf.reduce_sum(tf.square(net)) / sum(sizes))

        with strategy.scope():
            train = strategy.group(strategy.call_for_each_tower(tower))
        (stage,) = [s for s in plan_of(graph, [train], [rows]).stages if isinstance(s, DeviceStage)]
        padded = jax.ShapeDtypeStruct((len(sizes), max(sizes), WIDTH), np.float32)
        value = UnevenShards(padded, [(n, WIDTH) for n in sizes]) if len(set(sizes)) > 1 else padded
        with jax.enable_x64(True):
            given = ProgramInputs({rows: value}, [rows], (), ())
            program = stage.program(given, dict.fromkeys(stage.compiled.cells), {})
            state = [
                [jax.ShapeDtypeStruct(c.dims, c.dtype.np) for c in cells]
                for cells in (program.state.donated, program.state.undonated)
            ]
            return program.lowered(*state, [padded])


def compare(topology: str = "v5e:2x2") -> dict[str, dict[str, Any]]:
    """The program of full batches, and of (128, 128, 80, 0) rows."""
    return {
        "even": figures(lambda: lowered((128,) * 4, topology)),
        "uneven": figures(lambda: lowered((128, 128, 80, 0), topology)),
    }


if __name__ == "__main__":
    report(compare, __doc__.split("\n")[0])
