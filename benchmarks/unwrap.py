"""What ``unwrap`` costs by the number of towers, for chips that are described and not there.

    python -m benchmarks.unwrap [--towers 64,256,1024,4096]

CPU milliseconds: building ``unwrap`` of a per-device value, planning the run that fetches all parts, building
``sum(distribution.unwrap(value))`` in a ``merge_call`` of a training step, and tracing and lowering that step.
"""

from __future__ import annotations

import argparse
import gc
import time
from itertools import pairwise
from typing import Any

from benchmarks.tpu_compile import devices  # first: the compiler's environment

import numpy as np  # isort: skip

import towerstrat.compat.v1 as tf
from benchmarks.harness import Devices
from towerstrat.graph.runtime.loops.step_loop_stage import lower_loop
from towerstrat.graph.runtime.sessions.stage_table import plan_of


def measure(towers: int, chips: list[Any]) -> list[float]:
    """CPU seconds of the four parts."""
    gc.collect()
    seconds = [time.process_time()]
    with tf.Graph().as_default() as graph:
        strategy = tf.contrib.distribute.TPUStrategy(Devices(chips[:towers]), steps_per_run=1)
        with strategy.scope():
            value = strategy.call_for_each_tower(
                lambda: tf.to_float(tf.contrib.distribute.get_tower_context().tower_id)
            )
            seconds.append(time.process_time())
            parts = strategy.unwrap(value)
        seconds.append(time.process_time())
        plan_of(graph, parts, ())
        seconds.append(time.process_time())
        with strategy.scope():
            dataset = strategy.distribute_dataset(lambda: tf.data.Dataset.from_tensors(np.float32(1)).repeat())

            def tower_fn(x: Any) -> Any:
                together = lambda distribution, value: sum(distribution.unwrap(value))  # noqa: E731
                return tf.contrib.distribute.get_tower_context().merge_call(together, x)

            def step_fn(ctx: Any, x: Any) -> Any:
                total = strategy.call_for_each_tower(tower_fn, x)
                ctx.set_last_step_output("total", total, tf.VariableAggregation.MEAN)
                return tf.no_op()

            ctx = strategy.run_steps_on_dataset(step_fn, dataset.make_one_shot_iterator(), iterations=1)
        seconds.append(time.process_time())
        lower_loop(ctx.last_step_outputs["total"].op, 1)
        seconds.append(time.process_time())
    return [after - before for before, after in pairwise(seconds[1:])]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--towers", default="64,256,1024,4096")
    parser.add_argument("--repetitions", type=int, default=3)
    args = parser.parse_args()
    chips = devices("v4:8x16x16")
    for towers in map(int, args.towers.split(",")):
        best = [
            min(times) * 1e3 for times in zip(*(measure(towers, chips) for _ in range(args.repetitions)), strict=True)
        ]
        print(
            f"| {towers:,} | " + " | ".join(f"{t:.1f}" for t in best) + f" | {1e3 * sum(best) / towers:.0f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
