"""The tables of docs/performance.md.

    python -m benchmarks.run                            # steps on one tower: ours beside the twin
    python -m benchmarks.run --towers 1,4,8             # on several, virtual CPU devices where there are no others
    python -m benchmarks.run --quick                    # fewer and shorter samples
    python -m benchmarks.run --first --memory           # time to the first result, memory of long runs
    python -m benchmarks.run --building --original PYTHON36     # graph building beside TensorFlow 1.12
    python -m benchmarks.run --gpu --out FILE           # sizes for a GPU, everything but graph building

Every number of towers is measured in a process of its own, ours and the twin's loops in turns in the same process.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

# Processes that measure share a GPU with this one.
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import numpy as np

import towerstrat
from benchmarks import convnet, first_result, memory, mlp, transformer
from benchmarks.harness import Workload, compare

STEPS = (1, 10, 100)
MEASURED = ("mlp", "convnet", "transformer")
"""The models whose memory is measured."""
GPU_SECONDS = 270


def workloads(gpu: bool, names: str) -> list[Workload]:
    return [w for w in _all(gpu) if not names or w.name in names.split(",")]


def _all(gpu: bool) -> list[Workload]:
    if gpu:
        return [
            mlp.workload(batch=8192, features=256, hidden=(4096, 4096, 4096)),
            convnet.workload(batch=1024, filters=(64, 128)),
            transformer.workload(batch=64, length=256, width=512, heads=8, layers=4),
            mlp.tiny(),
        ]
    return [mlp.workload(), convnet.workload(), transformer.workload(), mlp.tiny()]


def steps_table(towers: int, gpu: bool, quick: bool, names: str) -> Iterator[str]:
    """Rows for one number of towers, as they are measured; on a GPU none after ``GPU_SECONDS``."""
    start = time.perf_counter()
    devices = jax.devices()[:towers]
    assert len(devices) == towers, f"{towers} towers need as many devices, there are {len(devices)}"
    yield ("| model | towers | steps per run | ours, ms a run | twin, ms a run | the twin's loop | ours, ms a step "
           "| ours / twin | of the fastest samples | of processor time | ours - twin, us a run |")  # fmt: skip
    yield "|---|---|---|---|---|---|---|---|---|---|---|"
    repetitions, sample = (5, 0.05) if quick else (7, 0.1) if gpu else (15, 0.2)
    for workload in workloads(gpu, names):
        for steps in STEPS[:2] if quick else STEPS:
            if gpu and time.perf_counter() - start > GPU_SECONDS:
                yield f"({workload.name} with {steps} steps per run was left out: the time for this table is over)"
                continue
            try:
                found = compare(workload, devices, steps, repetitions, sample)
            except AssertionError as error:
                yield f"({workload.name} with {steps} steps per run: {' '.join(str(error).split())})"
                continue
            cells = [
                workload.name, towers, steps, f"{1e3 * found.ours:.3f}", f"{1e3 * found.twin:.3f}", found.best,
                f"{1e3 * found.ours / steps:.3f}", f"{found.ratio:.3f}", f"{found.fastest:.3f}",
                f"{found.processor:.3f}", f"{1e6 * (found.ours - found.twin):+.0f}",
            ]  # fmt: skip
            yield f"| {' | '.join(map(str, cells))} |"


def building_table(original: str) -> Iterator[str]:
    """Microseconds of each call that builds graph, beside the original's."""
    script = str(Path(__file__).parent / "graph_building.py")
    sides = []
    for command in ([original, script], [sys.executable, "-m", "towerstrat", "run", script]):
        lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
        sides.append({line[:45].strip(): float(line[45:]) for line in lines})
    yield "| call | TensorFlow 1.12.3, us | ours, us | ours / original |"
    yield "|---|---|---|---|"
    theirs, ours = sides
    for name, microseconds in theirs.items():
        yield f"| `{name}` | {microseconds:.0f} | {ours[name]:.0f} | {ours[name] / microseconds:.3f} |"


def machine() -> str:
    device = jax.devices()[0]
    versions = f"Python {platform.python_version()}, JAX {jax.__version__}, numpy {np.__version__}"
    return (
        f"{os.cpu_count()} cores, {device.device_kind} ({device.platform}), {versions}, towerstrat "
        f"{towerstrat.__version__}; load at the start {os.getloadavg()[0]:.1f}"
    )


class Report:
    """Prints lines as they come, and keeps them in a file where one was named."""

    def __init__(self, path: str | None):
        self.file = open(path, "w") if path else None  # noqa: SIM115

    def __call__(self, *lines: str) -> None:
        for line in lines:
            print(line, flush=True)
            if self.file is not None:
                print(line, file=self.file, flush=True)


def of_towers(towers: int, arguments: list[str], virtual: bool) -> Iterator[str]:
    """The lines of the steps' table, from a process with that many devices."""
    environment = dict(os.environ)
    if virtual:
        environment["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={towers}"
    command = [sys.executable, "-m", "benchmarks.run", "--rows", str(towers), *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        yield from (line.rstrip("\n") for line in process.stdout)
    if process.returncode:
        yield f"(the process for {towers} towers ended with exit status {process.returncode}; see its messages above)"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--towers", default="1", help="numbers of towers, with commas between them")
    parser.add_argument("--models", default="", help="only these, with commas between them")
    parser.add_argument("--quick", action="store_true", help="fewer and shorter samples, no runs of 100 steps")
    parser.add_argument("--gpu", action="store_true", help="sizes of models for a GPU; all tables but graph building")
    parser.add_argument("--first", action="store_true", help="time to the first result instead")
    parser.add_argument("--memory", action="store_true", help="memory of long runs instead")
    parser.add_argument("--building", action="store_true", help="graph building instead; needs --original")
    parser.add_argument("--original", help="a Python 3.6 with TensorFlow 1.12")
    parser.add_argument("--out", help="a file for what is printed")
    parser.add_argument("--rows", type=int, help=argparse.SUPPRESS)
    args = parser.parse_args()
    passed = ["--quick"] * args.quick + ["--gpu"] * args.gpu + ["--models", args.models]
    if args.rows:
        for line in steps_table(args.rows, args.gpu, args.quick, args.models):
            print(line, flush=True)
        return
    report = Report(args.out)
    start = time.perf_counter()
    report(f"`python -m benchmarks.run {' '.join(sys.argv[1:])}`", "", machine(), "")
    if args.building:
        report(*building_table(args.original))
    if not (args.first or args.memory or args.building):
        for towers in map(int, args.towers.split(",")):
            for line in of_towers(towers, passed, jax.devices()[0].platform == "cpu"):
                report(line)
            report("")
    if args.first or args.gpu:
        report("Time to the first result (building, tracing, compiling, a run of 10 steps):", "")
        report(*first_result.table(1 if args.gpu else 3), "")
    if args.memory or args.gpu:
        report("Memory (device and input), highest while 1,000 steps run:", "")
        report(*memory.table(MEASURED), "")
    report(f"took {time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
