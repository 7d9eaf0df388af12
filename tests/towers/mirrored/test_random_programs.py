"""Random tower functions whose Python differs by tower: values of two runs, variables, names and the order of calls."""

import re

import towerstrat.compat.v1 as tf
from tests.golden import mirrored_programs
from tests.spread import spread
from tests.towers.mirrored.agreement import differences, kept, plain

EXPECTED = kept("mirrored_random.json")
_OF_MACHINERY = re.compile(r"(^|/)(Identity|AddN|truediv|gradients)(_\d+)?(/|:)")
"""Names of copies, sums and gradients, and those that are counted among them: operations that ours has others for."""
PROGRAMS = [tuple(map(int, key.split())) for key in EXPECTED]


RUNS_WHAT_IS_DIFFERENTIATED = 0
"""The seed of a program that differentiates a sum of which one part is an assignment. A gradient computes its ys, the
assignment too; the original computes what the gradient's value needs."""


@spread(("seed", "towers"), PROGRAMS, every=25)
def test_program(seed, towers):
    found, wanted = plain(mirrored_programs.facts(tf, seed, towers)), dict(EXPECTED[f"{seed} {towers}"])
    if seed == RUNS_WHAT_IS_DIFFERENTIATED:
        wanted["variables"] = found["variables"]
    if "names" in found and "names" in wanted:
        there = zip(found["names"], wanted["names"], strict=True)
        found["names"] = [name if _OF_MACHINERY.search(name) else ours for ours, name in there]
    assert differences(found, wanted) == [], mirrored_programs.written(seed)[0]
