"""Random gradients: structures around structures on towers and without, against the same formula without structure.

A program is a nest of the structures of ``tests/golden/gradient_structures_cases.py``, differentiated once or twice.
"""

from __future__ import annotations

from random import Random

import numpy as np

from tests.fuzz.difference import Difference
from tests.golden.gradient_structures_cases import STRUCTURES, names_in
from tests.graph.gradients import table
from tests.graph.gradients.formulas import Nest, Wanted, formula
from tests.graph.gradients.ways import WAYS, Task

DEPTH = 3
MOST = 6
"""How often the innermost function is evaluated at most: programs stay small."""
LARGEST = 1e4
NAMES = sorted(STRUCTURES)


def program(seed: int) -> Difference | None:
    """The difference of the program of a seed from its formula; None where there is none."""
    random = Random(f"gradients {seed}")
    strategy, way, order, towers, writes = _place(random)
    task, wanted = _task(random, order, int(towers), writes == "counted")
    text = (
        "from tests.graph.gradients.formulas import formula\nfrom tests.graph.gradients.table import compare\n"
        "from tests.graph.gradients.ways import WAYS, Task\n\n"
        f"task = {task}\n"
        f"compare(task, WAYS[{way!r}](task, {strategy!r}, {towers}), formula(task.nest, {towers}, task.x))"
    )
    try:
        table.compare(task, WAYS[way](task, strategy, int(towers)), wanted)
    except AssertionError as error:
        return Difference(" ".join(str(error).split())[:400], text)
    except Exception as error:
        return Difference(f"{type(error).__name__}: {error}", text)
    return None


def _place(random: Random) -> list[str]:
    """An allowed choice of all that is no structure, as in a row of the table."""
    while True:
        chosen = {i: random.choice(values) for i, values in enumerate(table.FACTORS.values()) if i >= 2}
        if table.TABLE.allowed(chosen):
            return list(chosen.values())


def _task(random: Random, order: str, towers: int, writes: bool) -> tuple[Task, Wanted]:
    while True:
        nest, x = _nest(random, DEPTH), (random.randint(-8, 8) / 8, random.randint(-8, 8) / 8)
        if len(names_in(nest)) > 4:
            continue
        wanted = formula(nest, towers, x)
        if wanted.writes <= MOST and all(np.max(np.abs(v)) < LARGEST for tower in wanted.towers for v in tower):
            return Task(nest, 1 if order == "first" else 2, writes, x), wanted


def _nest(random: Random, depth: int) -> Nest:
    inner = () if depth == 1 else tuple(_nest(random, depth - 1) for _ in range(random.choice((0, 1, 1, 2))))
    return random.choice(NAMES), *inner
