"""Figures of how the code reads, which only fall: ``Any``, casts, ignores, riddles, vague names, wide classes.

``figures.tsv`` has what each floor may have. After a change that lowers some: ``python -m tests.test_figures``.
"""

import csv
import importlib.machinery
import importlib.util
import sys
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
HELD = Path(__file__).parent / "figures.tsv"
COUNTED = ("anys", "casts", "ignores", "riddles", "vague", "wide classes")
SHARE = "share of Any"
"""Hundredths of a percent of a floor's expressions, as mypy counts them."""


def script():
    loader = importlib.machinery.SourceFileLoader("figures", str(ROOT / "scripts" / "figures"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("figures", loader))
    loader.exec_module(module)
    return module


FIGURES = script()


def floor(path):
    """The room of the graph that a module is in, or its floor."""
    parts = path.relative_to(ROOT / "towerstrat").with_suffix("").parts
    return "/".join(parts[: 2 if parts[0] == "graph" else 1])


@cache
def measured():
    """By floor, the counts."""
    parts = {}
    for path in FIGURES.files(ROOT / "towerstrat"):
        parts.setdefault(floor(path), []).append(FIGURES.figures(path))
    return {name: counts(FIGURES.total(found)) for name, found in sorted(parts.items())}


def counts(total):
    wide = sum(count > FIGURES.MOST for count in total.attributes.values())
    return dict(zip(COUNTED, (total.anys, total.casts, total.ignores, total.riddles, total.vague, wide), strict=True))


def held():
    with HELD.open(encoding="utf-8") as file:
        return {
            row["floor"]: {name: int(row[name]) for name in (*COUNTED, SHARE)}
            for row in csv.DictReader(file, delimiter="\t")
        }


def shares():
    """By floor, the hundredths of a percent of expressions whose type is ``Any`` to mypy."""
    sums = {}
    for name, (anys, every) in FIGURES.shares_of_any("towerstrat").items():
        parts = name.split(".")[1:] or [name]
        key = "/".join(parts[: 2 if parts[0] == "graph" else 1])
        found = sums.setdefault(key, [0, 0])
        found[0] += anys
        found[1] += every
    return {name: round(10000 * anys / max(every, 1)) for name, (anys, every) in sums.items()}


@pytest.mark.parametrize("name", COUNTED)
def test_no_floor_has_more_than_it_had(name):
    allowed = held()
    more = {room: (found[name], allowed.get(room, {}).get(name, 0)) for room, found in measured().items()}
    more = {room: pair for room, pair in more.items() if pair[0] > pair[1]}
    assert not more, f"{name} (counted, allowed): write types, say what a thing is; see scripts/figures"


@pytest.mark.long
@pytest.mark.skipif(sys.version_info < (3, 12), reason="measured with the types of NumPy and JAX for later Pythons")
def test_no_floor_has_a_larger_share_of_any():
    allowed = held()
    assert {room: share for room, share in shares().items() if share > allowed.get(room, {}).get(SHARE, 0)} == {}


def write():
    """Writes what is measured, where it is less than what is held, or new."""
    before, of_mypy = held(), shares()
    with HELD.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter="\t", lineterminator="\n")
        writer.writerow(["floor", *COUNTED, SHARE])
        for room, found in measured().items():
            found = found | {SHARE: of_mypy.get(room, 0)}
            allowed = before.get(room, found)
            writer.writerow([room, *(min(found[name], allowed[name]) for name in (*COUNTED, SHARE))])


if __name__ == "__main__":
    write()
