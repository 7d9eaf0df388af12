"""What the TPU compiler makes of one training loop through towers, ``experimental_run_v2`` and ``run``: exact figures.

python -m benchmarks.tpu_distribute
"""

from __future__ import annotations

import argparse
import json
from typing import Any

from benchmarks.distribute import MODELS, STEPS, function_loop, tower_loop
from benchmarks.tpu_compile import described, devices, figures
from towerstrat.graph.eager import mode
from towerstrat.graph.runtime.loops.data_loop_stage import lower_data_loop
from towerstrat.graph.runtime.loops.step_loop_stage import lower_loop


def compare(name: str, topology: str = "v5e:2x2") -> dict[str, dict[str, Any]]:
    """Flops, bytes and collectives of each of the three programs."""
    there = devices(topology)
    found = {"towers": figures(lambda: lower_loop(tower_loop(MODELS[name](), there).op(), STEPS))}
    with mode.eager_mode():
        for method in ("experimental_run_v2", "run"):
            loop = function_loop(MODELS[name](), there, method)
            found[method] = figures(lambda loop=loop: lower_data_loop(loop.op(), STEPS))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--json", action="store_true", help="print one line of JSON")
    arguments = parser.parse_args()
    found = {name: compare(name) for name in arguments.models}
    if arguments.json:
        print(json.dumps(found))
        return
    for name, rows in found.items():
        for side, row in rows.items():
            print(
                f"{name:10} {side:20} {row['flops']:.4g} flops {row['bytes']:.4g} bytes {described(row['collectives'])}"
            )


if __name__ == "__main__":
    main()
