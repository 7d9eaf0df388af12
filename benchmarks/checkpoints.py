"""Checkpoints of 1 GB: seconds to save and restore beside the originals, memory while saving, how long training stops.

    python -m benchmarks.checkpoints [--original PYTHON36] [--later PYTHON] [--megabytes 1024] [--rounds 3]
    python -m benchmarks.checkpoints --stop [--megabytes 1024]     # how long training stops; on an accelerator too

All sides save the same variables in turns, each time in a new process; the folder is on the disk that TMPDIR names. The
originals leave the data to the system, which writes them later; ours is measured with waiting for the disk and without.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from towerstrat.checkpoints.bundle_writer import Saved
from towerstrat.training.saving.async_writer import copies

PROGRAM = str(Path(__file__).parent / "checkpoint_program.py")


def sides(original: str | None, later: str | None) -> dict[str, list[str]]:
    """What is measured -> the command and its flags."""
    ours = [sys.executable, "-m", "towerstrat", "run", PROGRAM]
    found = {"ours": ours, "ours, without waiting for the disk": [*ours, "--no-sync"]}
    if original:
        found["TensorFlow 1.12.3"] = [original, PROGRAM]
    if later:
        found["TensorFlow 2.15.1"] = [later, PROGRAM]
    return found


def files_table(original: str | None, later: str | None, megabytes: int, rounds: int) -> Iterator[str]:
    found: dict[str, dict[str, list[Any]]] = {}
    for _ in range(rounds):
        for name, command in sides(original, later).items():
            with tempfile.TemporaryDirectory() as folder:
                arguments = [f"{folder}/checkpoints", str(megabytes), "2"]
                done = subprocess.run([*command, *arguments], check=True, capture_output=True, text=True)
            for key, values in json.loads(done.stdout.splitlines()[-1]).items():
                found.setdefault(name, {}).setdefault(key, []).extend(values)
    yield (f"| {megabytes:,} MB in 16 variables | save, s (fastest) | of processors | restore, s (fastest) | "
           "of processors | memory while saving |")  # fmt: skip
    yield "|---|---|---|---|---|---|"
    for name, of in found.items():
        (save, saving), (restore, restoring) = (zip(*of[key], strict=True) for key in ("save", "restore"))
        yield (
            f"| {name} | {statistics.median(save):.2f} ({min(save):.2f}) | {min(saving):.2f} | "
            f"{statistics.median(restore):.2f} ({min(restore):.2f}) | {min(restoring):.2f} | "
            f"{max(of['bytes']) / 1e6:+.0f} MB |"
        )


def stop_table(megabytes: int) -> Iterator[str]:
    """How long training stops for a save in the background, beside copying the same arrays off the device."""
    size = megabytes * (1 << 20) // 4 // 16

    def fresh() -> list[jax.Array]:
        arrays = [jnp.full([size], i, jnp.float32) for i in range(16)]
        return jax.block_until_ready(arrays)

    def seconds(call: Callable[[list[jax.Array]], object]) -> tuple[float, float]:
        """On the clock and of processors, the fastest of some; arrays keep copies, so each time has new ones."""
        found = []
        for _ in range(5):
            arrays = fresh()
            start, worked = time.perf_counter(), time.process_time()
            kept = call(arrays)
            found.append((time.perf_counter() - start, time.process_time() - worked))
            del kept
        clock, processors = zip(*found, strict=True)
        return min(clock), min(processors)

    copy = seconds(lambda arrays: [np.array(a) if a.device.platform == "cpu" else np.asarray(a) for a in arrays])
    stop = seconds(lambda arrays: copies([Saved(str(i), lambda a=a: a) for i, a in enumerate(arrays)]))
    device = jax.devices()[0]
    yield f"| {megabytes:,} MB on | | copy off the device, s | training stops, s | ratio |"
    yield "|---|---|---|---|---|"
    for name, one, other in zip(("on the clock", "of processors"), copy, stop, strict=True):
        yield f"| {device.device_kind} ({device.platform}) | {name} | {one:.3f} | {other:.3f} | {other / one:.2f} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--original", help="a Python 3.6 with TensorFlow 1.12")
    parser.add_argument("--later", help="a Python with TensorFlow 2.15")
    parser.add_argument("--megabytes", type=int, default=1024)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--stop", action="store_true", help="how long training stops instead")
    args = parser.parse_args()
    if args.stop:
        lines = stop_table(args.megabytes)
    else:
        lines = files_table(args.original, args.later, args.megabytes, args.rounds)
    for line in lines:
        print(line, flush=True)


if __name__ == "__main__":
    main()
