"""MirroredStrategy against the original: Python per tower, values, variables, training, eager operations."""

import pytest

import towerstrat.compat.v1 as tf
from tests.golden import (
    mirrored_cases,
    mirrored_eager_cases,
    mirrored_tower_cases,
    mirrored_training_cases,
    mirrored_value_cases,
)
from tests.spread import spread
from tests.towers.mirrored.agreement import differences, kept, plain
from towerstrat.graph.eager import mode

MODULES = {
    "eager": mirrored_eager_cases,
    "tower": mirrored_tower_cases,
    "training": mirrored_training_cases,
    "value": mirrored_value_cases,
}
EXPECTED = kept("mirrored.json")
CASES = [
    (area, name, n)
    for area, module in MODULES.items()
    for name, (_, towers) in mirrored_cases.collected(module).items()
    for n in towers
]
_ON_HOST = "what is computed eagerly stays on the host until a program needs it"
_HAS_FLOAT = "float() of a variable of one value is that value"
_HAS_OP = "eager tensors have an op"
DIFFERENT: dict = {
    ("eager", "ids", "[log][1][2]"): _ON_HOST,
    ("eager", "variables", "[log][1][3]"): "a variable speaks for all towers, and is on the first one's device",
    ("eager", "variables", "[log][3][3]"): "likewise",
    ("eager", "variables", "[float]"): _HAS_FLOAT,
    ("eager", "variables", "[told][PerDevice][0]"): _HAS_OP,
    ("eager", "variables", "[told][PerDevice][1]"): _HAS_OP,
}
"""Parts of cases that differ on purpose, by area, case and path, with why."""


def test_every_case_has_an_expectation():
    assert {f"{area} {name} {n}" for area, name, n in CASES} == {f"{a} {c}" for a, of in EXPECTED.items() for c in of}


@spread(("area", "name", "n"), CASES, every=5)
def test_case(area, name, n, tmp_path):
    module = MODULES[area]
    case, _ = mirrored_cases.collected(module)[name]
    named = getattr(module, "NAMED", False)
    if area == "eager":
        with mode.eager_mode():
            found = mirrored_cases.facts(tf, case, n, str(tmp_path), named)
    else:
        found = mirrored_cases.facts(tf, case, n, str(tmp_path), named)
    apart = differences(plain(found), EXPECTED[area][f"{name} {n}"])
    assert [d for d in apart if (area, name, d[0]) not in DIFFERENT] == []


@pytest.mark.parametrize("key", sorted(DIFFERENT))
def test_what_differs_on_purpose_is_there(key):
    area, name, _ = key
    assert any(case.startswith(name + " ") for case in EXPECTED[area])
