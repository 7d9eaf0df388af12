"""Memory of compiled programs: one training step fed with batches of ever new sizes.

    python -m benchmarks.program_cache [--shapes 1000]

The row without limits is what a process would keep if programs were never dropped. Each row is a process of its own.
"""

from __future__ import annotations

import argparse
import gc
import subprocess
import sys
import time

import numpy as np

import towerstrat.compat.v1 as tf
from benchmarks.input_budget import MEGA, resident
from towerstrat.graph.runtime.programs.limits import LIMITS
from towerstrat.graph.runtime.programs.program_cache import CACHE

LAYERS, WIDTH = 6, 32
WARM = 10
"""Sizes after which the memory is that of a process that has compiled."""


def row(shapes: int, limited: bool) -> str:
    """The row of one process: this one."""
    if not limited:
        LIMITS.programs_of_one = LIMITS.programs = LIMITS.program_bytes = 1 << 60
    rows = tf.placeholder(tf.float32, [None, WIDTH])
    weights = tf.Variable(np.full((WIDTH, WIDTH), 0.01, np.float32))
    hidden = rows
    for _ in range(LAYERS):
        hidden = tf.tanh(tf.matmul(hidden, weights))
    train = tf.train.AdamOptimizer(1e-3).minimize(tf.reduce_sum(hidden))
    session = tf.Session()
    session.run(tf.global_variables_initializer())
    quarters = []
    start = time.perf_counter()
    for i in range(WARM + shapes):
        session.run(train, {rows: np.ones((i + 1, WIDTH), np.float32)})
        if i == WARM - 1:
            gc.collect()
            before, start = resident(), time.perf_counter()
        elif i >= WARM and (i + 1 - WARM) % max(1, shapes // 4) == 0:
            gc.collect()
            quarters.append(f"{(resident() - before) / MEGA:.0f}")
    milliseconds = 1e3 * (time.perf_counter() - start) / shapes
    limit = f"{LIMITS.programs_of_one} of a graph part, {LIMITS.program_bytes / MEGA:,.0f} MB" if limited else "none"
    return f"| {limit} | {', '.join(quarters)} | {len(CACHE)} | {CACHE.size / MEGA:.0f} | {milliseconds:.0f} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--shapes", type=int, default=1000)
    parser.add_argument("--row", choices=["limited", "unlimited"], help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.row:
        print(row(arguments.shapes, arguments.row == "limited"))
        return
    quarters = f"MB more after each quarter of {arguments.shapes:,} shapes"
    print(f"| limit | {quarters} | programs kept | estimate, MB | ms a shape |")
    print("|---|---|---|---|---|")
    for kind in ("unlimited", "limited"):
        command = [sys.executable, "-m", "benchmarks.program_cache", "--row", kind, "--shapes", str(arguments.shapes)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        print(done.stdout.splitlines()[-1], flush=True)


if __name__ == "__main__":
    main()
