"""Memory of long runs: live device bytes plus the host's input buffers, for 10 and for 1,000 steps per run.

    python -m benchmarks.memory [--model mlp]

The bytes are the highest that a thread saw while runs were under way: arrays of JAX, and numpy's memory beyond what was
there before the first run.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import threading
import tracemalloc
from collections.abc import Iterable

import jax
import numpy as np

from benchmarks.harness import Ours
from benchmarks.models import MODELS

FEW, MANY = 10, 1000


def _numpy_bytes() -> int:
    only = tracemalloc.DomainFilter(inclusive=True, domain=np.lib.tracemalloc_domain)
    return sum(trace.size for trace in tracemalloc.take_snapshot().filter_traces([only]).traces)


def measure(model: str, steps_per_run: int) -> int:
    """Bytes at their highest while at least 1,000 steps run, in this process."""
    tracemalloc.start(1)
    program = Ours(MODELS[model](), jax.devices()[:1], steps_per_run)
    program.initialize()
    before = _numpy_bytes()
    highest = 0
    done = threading.Event()

    def watch() -> None:
        nonlocal highest
        while not done.wait(0.05):
            device = sum(array.nbytes for array in jax.live_arrays())
            highest = max(highest, device + _numpy_bytes() - before)

    watcher = threading.Thread(target=watch)
    watcher.start()
    for _ in range(MANY // steps_per_run):
        program.run()
    done.set()
    watcher.join()
    return highest


def table(models: Iterable[str]) -> list[str]:
    """The two figures of each model, each from a process of its own."""
    rows = [f"| model | {FEW} steps per run | {MANY:,} steps per run | ratio |", "|---|---|---|---|"]
    for model in models:
        found = {}
        for steps in (FEW, MANY):
            command = [sys.executable, "-m", "benchmarks.memory", "--model", model, "--one", str(steps)]
            found[steps] = int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        few, many = found[FEW], found[MANY]
        rows.append(f"| {model} | {few / 1e6:.1f} MB | {many / 1e6:.1f} MB | {many / few:.2f} |")
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", default="mlp")
    parser.add_argument("--one", type=int, metavar="STEPS", help="one figure, in this process")
    args = parser.parse_args()
    print(measure(args.model, args.one) if args.one else "\n".join(table([args.model])))


if __name__ == "__main__":
    main()
