"""Time to the first result: building, tracing, compiling and the first run, ours beside the twin's.

    python -m benchmarks.first_result [--repetitions 3] [--steps-per-run 10]

Every figure is from a process of its own; imports and the start of JAX are not counted.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time

import jax

from benchmarks.harness import Ours, Twin
from benchmarks.models import MODELS


def measure(side: str, model: str, steps_per_run: int) -> float:
    """Seconds from the first call to the first loss, in this process."""
    workload = MODELS[model]()
    devices = jax.devices()[:1]
    jax.block_until_ready(jax.jit(lambda x: x + 1)(1.0))
    start = time.perf_counter()
    if side == "ours":
        program = Ours(workload, devices, steps_per_run)
        program.initialize()
        program.run()
    else:
        twin = Twin(workload, devices, steps_per_run, side)
        twin.initialize()
        twin.run()
    return time.perf_counter() - start


def table(repetitions: int, steps_per_run: int) -> list[str]:
    """Rows of medians; the faster of the twin's two forms counts."""
    lines = ["| model | ours | twin | ratio |", "|---|---|---|---|"]
    for model in MODELS:
        found: dict[str, list[float]] = {"ours": [], "scan": [], "steps": []}
        for _ in range(repetitions):
            for side, seconds in found.items():
                command = [sys.executable, "-m", "benchmarks.first_result", "--one", side, model, str(steps_per_run)]
                seconds.append(float(subprocess.run(command, check=True, capture_output=True, text=True).stdout))
        medians = {side: statistics.median(seconds) for side, seconds in found.items()}
        ours = medians.pop("ours")
        best = min(medians, key=lambda form: medians[form])
        lines.append(f"| {model} | {ours:.2f} s | {medians[best]:.2f} s ({best}) | {ours / medians[best]:.2f} |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--steps-per-run", type=int, default=10)
    parser.add_argument("--one", nargs=3, metavar=("SIDE", "MODEL", "STEPS"), help="one figure, in this process")
    args = parser.parse_args()
    if args.one:
        side, model, steps = args.one
        print(measure(side, model, int(steps)))
        return
    print("\n".join(table(args.repetitions, args.steps_per_run)))


if __name__ == "__main__":
    main()
