"""Checkpoints of several processes: one file that process 0 writes beside shards that all write at the same time.

    python -m benchmarks.host_checkpoints --processes 4 [--megabytes 1 16 64 256 1024] [--rounds 5] [--folder FOLDER]

The two are written in turns by the same processes. For each it prints the seconds until ``save`` returns, those of a
processor that the busiest process and all of them take for it, and where it writes in the background, the seconds until
training can go on and until the checkpoint is there: the median of the rounds, and the least.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import jax
import numpy as np

import towerstrat.compat.v2 as tf
from tests.hosts import several
from towerstrat.graph.eager import mode
from towerstrat.hosts.collectives import COLLECTIVES
from towerstrat.hosts.process_index import PROCESSES
from towerstrat.training.saving.collective_save import FOLDERS

MODULE = "benchmarks.host_checkpoints"
VARIABLES = 16
SIDES = {"one file": 1 << 60, "shards": 0}
"""What is written -> from how many bytes on there are shards."""


def variables(megabytes: int) -> list[tf.Variable]:
    """Variables on the devices of all processes: one of half of the bytes, as a table has, and others of one size."""
    strategy = tf.distribute.TPUStrategy(tf.distribute.cluster_resolver.TPUClusterResolver(tpu=""))
    rows = megabytes * (1 << 20) // 2 // 4 // 64
    with strategy.scope():
        found = [tf.Variable(np.zeros([rows, 64], np.float32))]
        found += [tf.Variable(np.zeros([rows // (VARIABLES - 1), 64], np.float32)) for _ in range(VARIABLES - 1)]

    @tf.function
    def step() -> None:
        strategy.run(lambda: [v.assign_add(tf.ones_like(v)) for v in found])

    step()
    return found


def measured(folder: str, megabytes: int, rounds: int) -> dict[str, list[list[float]]]:
    """Side -> for each round the numbers of a row."""
    checkpoint = tf.train.Checkpoint(variables=variables(megabytes))
    beside = tf.train.CheckpointOptions(enable_async=True)
    found: dict[str, list[list[float]]] = {side: [] for side in SIDES}

    def save(options: tf.train.CheckpointOptions | None) -> list[float]:
        """Seconds until training goes on, and until the checkpoint is there; those of processors."""
        if PROCESSES.index == 0:
            shutil.rmtree(folder, ignore_errors=True)
        COLLECTIVES.gather("", str)
        start, worked = time.perf_counter(), time.process_time()
        checkpoint.write(f"{folder}/model", options=options)
        goes_on = time.perf_counter() - start
        checkpoint.sync()
        there = time.perf_counter() - start
        each = COLLECTIVES.gather(time.process_time() - worked, float)
        return [goes_on, there, max(each), sum(each)]

    for number in range(rounds + 1):
        for side, FOLDERS.smallest in SIDES.items():
            _, there, busiest, total = save(None)
            goes_on, background, *_ = save(beside)
            if number:
                found[side].append([there, busiest, total, goes_on, background])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--megabytes", type=int, nargs="+", default=[1, 16, 64, 256, 1024])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--folder", default=tempfile.gettempdir())
    given = parser.parse_args()
    if PROCESSES.count == 1:
        command = ["-m", "tests.hosts.several", str(given.processes), "1", MODULE, *sys.argv[1:]]
        done = subprocess.run(
            [sys.executable, *command], env=several.environment(), check=True, capture_output=True, text=True
        )
        print("\n".join(line for line in done.stdout.partition("--- process 1")[0].splitlines() if "|" in line))
        return
    print(
        f"| {jax.device_count()} processes: MB | side | save | beside: goes on | beside: there |\n|---|---|---|---|---|"
    )
    folder = COLLECTIVES.broadcast(tempfile.mkdtemp(dir=given.folder))
    with mode.eager_mode():
        for megabytes in given.megabytes:
            for side, rounds in measured(f"{folder}/saved", megabytes, given.rounds).items():
                middle = " | ".join(
                    f"{statistics.median(column):.3f} ({min(column):.3f})" for column in zip(*rounds, strict=True)
                )
                print(f"| {megabytes} | {side} | {middle} |", flush=True)
    if PROCESSES.index == 0:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
