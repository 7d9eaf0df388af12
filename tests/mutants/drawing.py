"""Mutants drawn from the source by chance: of each kind about as many, and of each floor that has the kind."""

from __future__ import annotations

import collections
import itertools
import pathlib
import random

from tests.mutants.kinds import KINDS, Mutant, Source

ROOT = pathlib.Path(__file__).parents[2]
LEFT_OUT = ("protos",)
"""Folders whose files are made by a tool."""


def floor_of(file: str) -> str:
    """The folder of the package that a file is in; of ``graph``, which is half of it, the folder below."""
    parts = pathlib.PurePath(file).parts[1:-1]
    return "/".join(parts[: 2 if parts[:1] == ("graph",) else 1]) or "towerstrat"


def sources() -> list[Source]:
    files = sorted((ROOT / "towerstrat").rglob("*.py"))
    return [
        Source(str(file.relative_to(ROOT)), file.read_bytes())
        for file in files
        if not set(LEFT_OUT).intersection(file.parts)
    ]


def draw(seed: int, count: int) -> list[Mutant]:
    """Mutants of the source as it is: kinds take turns, and of a kind the floors do, in an order drawn by chance.

    Args:
      seed: gives the same mutants for the same source.
      count: how many.
    """
    chance = random.Random(seed)
    every = sources()
    queues = {kind: _by_floors(chance, kind, every) for kind in KINDS}
    drawn: list[Mutant] = []
    for kind in itertools.cycle(KINDS):
        if len(drawn) == count or not any(queues.values()):
            return drawn
        if queues[kind]:
            drawn.append(queues[kind].pop(0))
    return drawn


def _by_floors(chance: random.Random, kind: str, every: list[Source]) -> list[Mutant]:
    """All mutants of a kind: one of each floor, then a second of each, and so on."""
    floors: dict[str, list[Mutant]] = collections.defaultdict(list)
    for source in every:
        floors[floor_of(source.file)].extend(source.mutants(kind))
    names = sorted(name for name in floors if floors[name])
    chance.shuffle(names)
    for name in names:
        chance.shuffle(floors[name])
    rounds = itertools.zip_longest(*(floors[name] for name in names))
    return [mutant for turn in rounds for mutant in turn if mutant is not None]
