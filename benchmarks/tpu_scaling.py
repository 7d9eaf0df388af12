"""What grows with the number of TPU v5p chips and what stays flat, by the real TPU compiler and on paper.

    python -m benchmarks.tpu_scaling [--models mlp,convnet,bert] [--chips 8,64,512,4096] [--tables weak,strong] [--json]

Needs ``jax[tpu]`` and no TPU. Our step loop and its hand-written twin are compiled for cubes of chips that are
described and not there, each in a process of its own, one after the other; ``bert`` takes minutes for each. All
figures are for one chip. With ``--kept FILE`` what has been compiled is written there, and taken from there the next
time. Flops, bytes, memory and collectives are exact and the same on every machine; seconds are not.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.tpu_compile import SIDES, STEPS, described, devices, elsewhere, figures, lowered  # isort: skip  (first)

import numpy as np

from benchmarks import bert, convnet, mlp
from benchmarks.harness import Workload
from benchmarks.tpu_paper import EDGES, held, seconds, sent_by

MODELS: Mapping[str, Callable[[], Workload]] = {
    "mlp": mlp.workload,
    "convnet": partial(convnet.workload, windows=True),
    "bert": partial(bert.workload, decay=0.01),
}
FIXED = 512
"""The chips whose global batch, at the model's own batch a chip, is that of every row of the table "strong"."""
TABLES = ("weak", "strong")
PATIENCE = 3600.0
"""Seconds for one program; that of BERT takes some minutes on a busy machine."""

_ALGORITHM = re.compile(r'"strategy":"(\w+)","debug":"[^"]*?(colors:\d+) (phases:\d+)')
_OVERLAPPING = re.compile(r"(?:all-reduce|all-gather|reduce-scatter|all-to-all|collective-permute)-start\(|chain_id=")


class Case(NamedTuple):
    """One program.

    Attributes:
      batch: examples of one step on one chip.
    """

    model: str
    chips: int
    batch: int
    side: str

    def compiled(self) -> dict[str, Any]:
        """Its figures, compiled in this process."""
        workload = MODELS[self.model]()
        inputs, labels = (np.zeros((self.batch, *a.shape[1:]), a.dtype) for a in workload.examples())
        workload = replace(workload, batch=self.batch, examples=lambda: (inputs, labels))
        chips = devices("v5p:" + "x".join([str(EDGES[self.chips])] * 3))
        found = figures(partial(lowered, self.side, workload, chips))
        return found | ways(found.pop("text"))


def ways(text: str) -> dict[str, Any]:
    """How a compiled program's collectives are done.

    Returns:
      algorithms: name of the compiler's algorithm, parts that take the axes in different orders, phases -> how often.
      overlapping: whether any of them runs while something else is computed.
    """
    return {
        "algorithms": Counter(" ".join(match.groups()) for match in _ALGORITHM.finditer(text)),
        "overlapping": _OVERLAPPING.search(text) is not None,
    }


def batch_of(table: str, model: str, chips: int) -> int:
    """Examples a chip: always the same ("weak"), or a part of the same ("strong")."""
    own = MODELS[model]().batch
    return own if table == "weak" else own * FIXED // chips


class Kept:
    """Figures by case, in a file if one is given."""

    def __init__(self, path: str | None):
        self._path = Path(path) if path else None
        self._found: dict[str, dict[str, Any]] = {}
        if self._path is not None and self._path.exists():
            self._found = json.loads(self._path.read_text())

    def figures(self, case: Case) -> dict[str, Any]:
        """Those of a case, with what follows from them; compiled in another process if they are not there."""
        key = " ".join(map(str, case))
        if key not in self._found:
            self._found[key] = elsewhere("tpu_scaling", "--one", *map(str, case), seconds=PATIENCE)
            if self._path is not None:
                self._path.write_text(json.dumps(self._found, indent=1))
        found = self._found[key]
        return found | {
            "batch": case.batch,
            "sent": sent_by(found, case.chips),
            "held": held(found["memory"]),
            "paper": seconds(found, case.chips, STEPS),
        }


Rows = dict[str, dict[str, dict[str, dict[str, Any]]]]
"""Model -> chips -> side -> figures."""


def rows_of(table: str, models: list[str], chips: list[int], kept: Kept) -> Rows:
    return {
        model: {
            str(n): {side: kept.figures(Case(model, n, batch_of(table, model, n), side)) for side in SIDES}
            for n in chips
        }
        for model in models
    }


def _mb(size: float) -> str:
    return f"{size / 1e6:,.2f}"


def _programs(ours: Mapping[str, Any], twin: Mapping[str, Any]) -> list[str]:
    sizes = [sum(size for *_, size in side["collectives"]) for side in (ours, twin)]
    return [
        described(ours["collectives"]),
        f"{len(ours['collectives'])} / {len(twin['collectives'])}",
        f"{sizes[0] - sizes[1]:+,}",
        ", ".join(ours["algorithms"]),
        "yes" if ours["overlapping"] else "no",
        f"{_mb(ours['sent'])} / {_mb(twin['sent'])}",
        f"{ours['flops']:.4g} / {twin['flops']:.4g}",
        f"{ours['flops'] / twin['flops']:.3f}",
    ]


def _memory(ours: Mapping[str, Any], twin: Mapping[str, Any]) -> list[str]:
    parts = [_mb(ours["memory"][name]) for name in ("arguments", "outputs", "aliased", "temporaries", "code")]
    return [*parts, f"{_mb(ours['held'])} / {_mb(twin['held'])}", f"{ours['held'] / twin['held']:.3f}"]


def _paper(ours: Mapping[str, Any], _: Mapping[str, Any]) -> list[str]:
    found = ours["paper"]
    talk = found["links"] + found["hops"]
    works = [max(found["flops"], found[traffic]) for traffic in ("state", "memory")]
    times = [f"{found[name] * 1e6:,.1f}" for name in ("flops", "state", "memory", "links", "hops")]
    return [*times, *(f"{talk / work:.2f}" for work in works)]


def _compiling(ours: Mapping[str, Any], twin: Mapping[str, Any]) -> list[str]:
    sides = (ours, twin)
    return [
        " / ".join(f"{side['lowering']:.1f}" for side in sides),
        " / ".join(f"{side['seconds'] - side['lowering']:.1f}" for side in sides),
        f"{ours['seconds'] / twin['seconds']:.2f}",
        " / ".join(f"{side['lines']:,}" for side in sides),
        f"{ours['memory']['code'] / twin['memory']['code']:.3f}",
    ]


VIEWS: Mapping[str, tuple[str, Callable[..., list[str]]]] = {
    "Programs, ours / twin's": (
        "collectives of a step | how many | bytes, ours - twin's | the compiler's algorithm | beside computing "
        "| sent by a chip a step, MB | flops of a chip and step | ratio", _programs),
    "Memory of a chip, MB": (
        "arguments | outputs | of these in the arguments' place | temporaries | code | all, ours / twin's | ratio",
        _memory),
    "A step on paper, us": (
        "flops | state once | all operands | links | hops | links and hops / work, state once | all operands", _paper),
    "Compiling, seconds, ours / twin's": (
        "build, trace, lower | compile | ratio of all | lines of the lowered program | code, ratio", _compiling),
}  # fmt: skip
"""Title -> what its columns are, and what makes a row of them."""


def tables(rows: Rows) -> list[str]:
    """One table in Markdown for each view of the figures."""
    lines = []
    for title, (columns, row) in VIEWS.items():
        lines += [title, "", f"| model | chips | batch a chip | {columns} |", "|---" * (columns.count("|") + 4) + "|"]
        for model, by_chips in rows.items():
            for chips, sides in by_chips.items():
                ours, twin = (sides[side] for side in SIDES)
                cells = [model, f"{int(chips):,}", f"{ours['batch']:,}", *row(ours, twin)]
                lines.append(f"| {' | '.join(cells)} |")
        lines.append("")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--models", default=",".join(MODELS), help=f"of {', '.join(MODELS)}")
    parser.add_argument("--chips", default=",".join(map(str, EDGES)), help=f"of {', '.join(map(str, EDGES))}")
    parser.add_argument(
        "--tables", default=",".join(TABLES), help="weak: always the same batch a chip; strong: the same global batch"
    )
    parser.add_argument("--kept", metavar="FILE", help="figures that have been compiled")
    parser.add_argument("--json", action="store_true", help="one line of JSON")
    parser.add_argument("--one", nargs=4, metavar=("MODEL", "CHIPS", "BATCH", "SIDE"), help="one program, as JSON")
    args = parser.parse_args()
    if args.one:
        model, chips, batch, side = args.one
        print(json.dumps(Case(model, int(chips), int(batch), side).compiled()))
        return
    kept, models, numbers = Kept(args.kept), args.models.split(","), [int(n) for n in args.chips.split(",")]
    found = {table: rows_of(table, models, numbers, kept) for table in args.tables.split(",")}
    if args.json:
        print(json.dumps(found))
        return
    for table, rows in found.items():
        print("\n".join([f"# {table}", "", *tables(rows)]))


if __name__ == "__main__":
    main()
