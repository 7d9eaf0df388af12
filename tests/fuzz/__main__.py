"""``python -m tests.fuzz --programs N --seed S [--kind KIND]``: random programs, each computed several ways.

Prints each difference with a program that shows it, and in the last line of each kind how many programs were run and
how many differences were found. Program ``i`` has the seed ``S + i``, so that ``--programs 1 --seed S+i`` repeats it.
"""

import os

os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + (
    " --xla_force_host_platform_device_count=8 --xla_cpu_collective_call_terminate_timeout_seconds=600"
)
os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("TOWERSTRAT_COMPILATION_CACHE", "off")

import argparse
import sys
from collections.abc import Callable

from tests.fuzz import functions, gradients, operations, towers
from tests.fuzz.difference import Difference

KINDS: dict[str, Callable[[int], Difference | None]] = {
    "operations": operations.program,
    "towers": towers.program,
    "functions": functions.program,
    "gradients": gradients.program,
}
"""What is made of a seed, by kind: a program that is run in all its ways; the first difference, or None."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description="Random programs, computed several ways.")
    parser.add_argument("--programs", type=int, default=100, help="how many of each kind")
    parser.add_argument("--seed", type=int, default=0, help="the seed of the first")
    parser.add_argument("--kind", choices=sorted(KINDS), help="only this kind")
    arguments = parser.parse_args()
    total = 0
    for kind in [arguments.kind] if arguments.kind else KINDS:
        found = 0
        for seed in range(arguments.seed, arguments.seed + arguments.programs):
            difference = KINDS[kind](seed)
            if difference is not None:
                found += 1
                print(f"---- {kind}, seed {seed}: {difference.what}\n{difference.program}", flush=True)
        print(f"{kind}: {arguments.programs} programs, {found} differences", flush=True)
        total += found
    return 1 if total else 0


if __name__ == "__main__":
    sys.exit(main())
