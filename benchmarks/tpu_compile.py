"""What the real TPU compiler makes of our step loop and of its hand-written twin, without a TPU.

    python -m benchmarks.tpu_compile [--models mlp,convnet,transformer,stack,untied,resnet,bert] [--json] [--scaling]

Needs ``jax[tpu]``. The chips are described, not present: programs are compiled for them and never run. Flops, bytes and
collectives are exact and the same on every machine; seconds are not.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

DESCRIBED = {
    "TPU_SKIP_MDS_QUERY": "1",
    "TPU_WORKER_HOSTNAMES": "localhost",
    "TPU_ACCELERATOR_TYPE": "v5litepod-4",  # any will do: the topology says which chips
    "ALLOW_MULTIPLE_LIBTPU_LOAD": "1",  # nobody holds chips that are not there
    "JAX_PLATFORMS": "cpu",
}
"""The environment in which the compiler can be had without a TPU."""
os.environ.update(DESCRIBED)

import jax  # noqa: E402
from jax.experimental import topologies  # noqa: E402

from benchmarks import bert, convnet, models, resnet  # noqa: E402
from benchmarks.harness import Ours, Twin, Workload  # noqa: E402
from towerstrat.graph.runtime.loops.loop_bodies import called, computations  # noqa: E402
from towerstrat.graph.runtime.loops.step_loop_stage import lower_loop  # noqa: E402

MODELS = models.MODELS | {
    "convnet": partial(convnet.workload, windows=True),
    "resnet": resnet.workload,
    "stack": partial(resnet.workload, batch=16, size=64, groups=((64, 1, 1),)),
    "bert": bert.workload,
    "untied": partial(bert.workload, length=64, width=256, heads=4, layers=4, tied=False),
}
STEPS = 10
SIDES = ("ours", "twin")
ROOT = Path(__file__).parent.parent
FEW, MANY = "v4:2x2x2", "v4:8x8x16"
_COLLECTIVE = re.compile(
    r"= (?P<shapes>.*?) (?P<kind>all-reduce|all-gather|reduce-scatter|all-to-all|collective-permute)"
    r"(?P<start>-start)?\((?P<rest>.*)"
)
_CYCLES = re.compile(r'"estimated_cycles":"(\d+)"')
_CHAIN = re.compile(r'channel_id=(\d+).*\bchain_id="(\d+)"')
_ARRAY = re.compile(r"(?P<dtype>[a-z]+\d*)\[(?P<dims>[\d,]*)\]")
_BYTES = {"pred": 1, "s8": 1, "u8": 1, "bf16": 2, "f16": 2, "s32": 4, "u32": 4, "f32": 4, "s64": 8, "u64": 8, "f64": 8}


def collectives(text: str) -> list[tuple[str, str, int]]:
    """(kind, dtype, bytes) of each collective of a compiled program; one for each dtype that it carries.

    An asynchronous one counts once, with the bytes of its results: whether it stands in the text as a start and a done,
    or as a chain of parts, one in each fusion that runs beside it. One that the compiler has split, or combined with
    others, counts as the instructions that it made of it, though they keep the channel that they came from.
    """
    found: list[tuple[str, str, int]] = []
    chains: set[tuple[str, ...]] = set()
    for match in _COLLECTIVE.finditer(text):
        chain = _CHAIN.search(match["rest"])
        if chain is not None:
            part = (match["kind"], *chain.groups())  # each kind counts its channels
            if part in chains:
                continue
            chains.add(part)
        arrays = list(_ARRAY.finditer(match["shapes"]))
        if match["start"] and match["kind"] == "collective-permute":  # (argument, result, context, context)
            arrays = arrays[1:2]
        elif match["start"] and match["kind"] != "all-reduce":  # (arguments, results)
            arrays = arrays[len(arrays) // 2 :]
        sizes: Counter[str] = Counter()
        for array in arrays:
            count = math.prod(int(size) for size in array["dims"].split(",") if size)
            sizes[array["dtype"]] += count * _BYTES[array["dtype"]]
        found += [(match["kind"], dtype, size) for dtype, size in sizes.items()]
    return sorted(found)


def step_cycles(text: str) -> int:
    """The compiler's estimate of a step's cycles, of a compiled program with one loop over steps.

    Raises:
      ValueError: it has no such loop.
    """
    found, entry = computations(text)
    waiting = [body for line in found[entry] if " while(" in line for body in called(line, "body")]
    if not waiting:
        raise ValueError("The program has no loop over steps.")
    seen, total = set(waiting), 0
    while waiting:
        for line in found[waiting.pop()]:
            cycles = _CYCLES.search(line)
            if cycles is not None:  # a fusion's are those of what it calls
                total += int(cycles[1])
                continue
            inner = [name for name in called(line) if name in found and name not in seen]
            seen.update(inner)
            waiting += inner
    return total


def elsewhere(module: str, *arguments: str, seconds: float = 600) -> Any:
    """What a benchmark prints as JSON, run in a process of its own: the compiler wants its environment and its memory.

    Args:
      module: below ``benchmarks``.
      arguments: of its command line, besides ``--json``.
      seconds: that it may take.

    Raises:
      RuntimeError: it failed; with what it wrote to its standard error.
      subprocess.TimeoutExpired: it took longer.
    """
    command = [sys.executable, "-m", f"benchmarks.{module}", "--json", *arguments]
    environment = {k: v for k, v in os.environ.items() if k not in ("XLA_FLAGS", "JAX_NUM_CPU_DEVICES")}
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=seconds, check=False
    )
    if done.returncode:
        raise RuntimeError(f"{' '.join(command[1:])} ended with status {done.returncode}:\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def figures(lower: Callable[[], jax.stages.Lowered]) -> dict[str, Any]:
    """Lowers and compiles: what came out, for one device, and the seconds it took.

    Memory is in bytes; "aliased" are outputs in the place of donated arguments.
    """
    start = time.perf_counter()
    lowered = lower()
    middle = time.perf_counter()
    compiled = lowered.compile()
    end = time.perf_counter()
    cost = compiled.cost_analysis()
    cost = cost[0] if isinstance(cost, list) else cost
    memory = compiled.memory_analysis()
    return {
        "flops": cost["flops"],
        "bytes": cost["bytes accessed"],
        "collectives": collectives(compiled.as_text()),
        "memory": {
            "arguments": memory.argument_size_in_bytes,
            "outputs": memory.output_size_in_bytes,
            "aliased": memory.alias_size_in_bytes,
            "temporaries": memory.temp_size_in_bytes,
            "code": memory.generated_code_size_in_bytes,
        },
        "lowering": middle - start,
        "seconds": end - start,
        "lines": lowered.as_text().count("\n"),
        "text": compiled.as_text(),
    }


def devices(topology: str) -> list[Any]:
    return list(topologies.get_topology_desc(topology, platform="tpu").devices)


def lowered(side: str, workload: Workload, chips: list[Any]) -> jax.stages.Lowered:
    """Ten steps for the chips, traced and not compiled: "ours", our loop, or "twin", the scan of the twin."""
    if side == "ours":
        return lower_loop(Ours(workload, chips, STEPS).loop, STEPS)
    twin = Twin(workload, chips, STEPS, "scan")
    return twin.function.lower(*twin.abstract())


def compare(model: str, topology: str = "v5e:2x2") -> dict[str, dict[str, Any]]:
    """Our loop and the twin's scan, compiled for a topology."""
    workload = MODELS[model]()
    chips = devices(topology)
    found = {side: figures(partial(lowered, side, workload, chips)) for side in SIDES}
    return {side: made | {"cycles": step_cycles(made["text"])} for side, made in found.items()}


def scaling(model: str) -> dict[str, dict[str, float]]:
    """Our loop for 8 and for 1,024 chips: seconds to build, trace, lower and compile it, lines of the lowered program.

    Seconds are the best of two, after a first.
    """
    workload = MODELS[model]()
    found: dict[str, dict[str, float]] = {}
    for number, topology in enumerate((FEW, FEW, MANY, FEW, MANY)):
        made = figures(partial(lowered, "ours", workload, devices(topology)))
        if number:
            best = min(made["seconds"], found.get(topology, {}).get("seconds", math.inf))
            found[topology] = {"seconds": best, "lines": made["lines"]}
    return found


def described(found: list[tuple[str, str, int]]) -> str:
    counts = Counter((kind, dtype) for kind, dtype, _ in found)
    size = Counter[tuple[str, str]]()
    for kind, dtype, n in found:
        size[kind, dtype] += n
    return "; ".join(f"{n} {kind} {dtype} {size[kind, dtype]:,} B" for (kind, dtype), n in counts.items()) or "none"


def report(compare: Callable[[], dict[str, dict[str, Any]]], description: str) -> None:
    """The command line of a comparison: prints ``figures`` for each side that it has."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--json", action="store_true", help="print one line of JSON")
    arguments = parser.parse_args()
    found = compare()
    if arguments.json:
        print(json.dumps(found))
        return
    for side, row in found.items():
        cost = f"{row['flops']:.4g} flops {row['bytes']:.4g} bytes"
        print(f"{side:8} {cost} {described(row['collectives'])} {row['seconds']:.1f} s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", default="mlp,convnet,transformer", help=f"of {', '.join(MODELS)}")
    parser.add_argument("--topology", default="v5e:2x2")
    parser.add_argument("--json", action="store_true", help="figures as JSON, for the test")
    parser.add_argument("--scaling", action="store_true", help="seconds for 8 and for 1,024 chips instead")
    parser.add_argument("--keep", help="a folder for the compiled programs' text")
    args = parser.parse_args()
    result: dict[str, Any] = {}
    for model in args.models.split(","):
        result[model] = scaling(model) if args.scaling else compare(model, args.topology)
        if args.keep and not args.scaling:
            for side, found in result[model].items():
                with open(os.path.join(args.keep, f"{model}.{side}.hlo"), "w") as file:
                    file.write(found["text"])
    if args.json:
        for sides in result.values():
            for side in sides.values():
                side.pop("text", None)
        print(json.dumps(result))
        return
    for model, found in result.items():
        if args.scaling:
            few, many = found[FEW]["seconds"], found[MANY]["seconds"]
            print(f"| {model} | {few:.2f} s | {many:.2f} s | {many / few:.2f} |")
            continue
        ours, twin = found["ours"], found["twin"]
        parts = [model]
        for key, form in (("flops", ".4g"), ("bytes", ".4g"), ("cycles", ",")):
            parts.append(f"{ours[key]:{form}} / {twin[key]:{form}} = {ours[key] / twin[key]:.3f}")
        parts += [described(side["collectives"]) for side in (ours, twin)]
        parts.append(f"{ours['seconds']:.1f} / {twin['seconds']:.1f} s")
        print(f"| {' | '.join(parts)} |")


if __name__ == "__main__":
    main()
