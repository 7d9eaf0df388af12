"""MirroredStrategy of 2.x against the original: Python per replica, values, variables and whole training loops."""

import pytest

import towerstrat.compat.v2 as tf
from tests.golden import mirrored_v2_cases
from tests.spread import spread
from tests.towers.mirrored.agreement import differences, kept, plain

EXPECTED = kept("mirrored_v2.json")
CASES = [(name, n) for name, (_, replicas) in mirrored_v2_cases.collected().items() for n in replicas]
_CLASS = "in a trace a replica's tensors are of a class of their own"
_KNOWN_FIRST = "which devices there are is known when the strategy is made"
DIFFERENT: dict = {
    **{("ids", f"[ids][function log][{k}][0]"): _CLASS for k in range(4)},
    ("properties", "[context][1][0]"): "a replica's devices are names, as documented, and no list in a tuple",
    **{
        ("merge_calls_in_control_flow", f"[{where}][function]"): "replicas meet where a condition is the same for all"
        for where in ("cond", "while", "all_reduce in while")
    },
    # The original divides the sum of ON_READ replicas, 7, among them.
    **{("saving", f"[3][{k}]"): "replicas go on from their checkpoint with what each of them had" for k in range(2)},
    ("refused", "[unknown device]"): _KNOWN_FIRST,
    ("refused", "[seed]"): "a shape that does not fit is an InvalidArgumentError, which is a ValueError too",
}
"""Parts of cases that differ on purpose, by case and path, with why."""


def test_every_case_has_an_expectation():
    assert {f"{name} {n}" for name, n in CASES} == set(EXPECTED)


@spread(("name", "n"), CASES, every=3)
def test_case(name, n, later_behavior):
    case, _ = mirrored_v2_cases.collected()[name]
    found = mirrored_v2_cases.outcome(lambda: case(mirrored_v2_cases.World(tf, n)))
    apart = differences(plain(found), EXPECTED[f"{name} {n}"])
    assert [d for d in apart if (name, d[0]) not in DIFFERENT] == []


@pytest.mark.parametrize("key", sorted(DIFFERENT))
def test_what_differs_on_purpose_is_there(key):
    assert any(case.startswith(key[0] + " ") for case in EXPECTED)
