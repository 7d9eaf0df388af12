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
DIFFERENT = {
    "names of what is the engine's own: sums, copies and selections": [
        ("tower", "arguments", "[log]"), ("tower", "names_in_merge_calls", "[operations]"),
        ("value", "updates_of_names", "[ops]"), ("value", "groups", ""),
    ],
    "the name scope of the graph itself is empty, not None": [
        ("tower", "names_of_operations", "[log]"), ("tower", "names_in_merge_calls", "[log]"),
        ("value", "nested_calls", "[log]"),
    ],
    "copies are views of the one variable, whose class and name they share; their devices have a job": [
        ("tower", "names_of_variables", ""), ("tower", "variables_in_scope", ""), ("tower", "devices", ""),
        ("value", "unwraps", ""), ("value", "assignments_by_functions", "[same component]"),
        ("training", "optimizer_outside", ""), ("training", "saving", "[var list]"),
    ],
    "the variable is in the collection of trainable ones, not its copies": [
        ("tower", "variables_by_order", "[collections]"),
    ],
    "seeds that nobody gave are counted by operations, of which there are others": [("tower", "seeds", "")],
    "one variable is made for all towers, and one update is made of it": [
        ("tower", "creators", ""), ("tower", "contexts", ""), ("value", "updates", ""),
        ("value", "updates_of_non_slots", ""), ("training", "own_optimizers", ""),
        ("training", "moving_averages", "[log]"),
    ],
    "every device that is here, where none is named": [("tower", "constructors", "")],
    "the original's names say less, fail by accident, or refuse what has a meaning": [
        ("value", "merge_results", ""), ("value", "merge_in_control_flow", ""), ("value", "reductions", ""),
        ("value", "batch_reductions", ""), ("value", "broadcasts", ""), ("value", "fetching", ""),
        ("training", "input", "[uneven batches]"), ("training", "regularizers", "[of_activity]"),
    ],
    "one operation or tensor stands for those of all devices": [
        ("value", "maps", ""), ("value", "assignments", ""), ("training", "optimizers", ""),
    ],
    "rows that towers scatter to a mirrored variable are combined, so that its copies stay equal": [
        ("value", "assignments_by_functions", "[method]"), ("value", "assignments_by_functions", "[scatter"),
    ],
    "outside of towers a tower-local variable is its aggregate, not the first copy": [("value", "tower_local", "")],
    "the derivative of the whole, in cross-tower context": [("value", "gradients_outside", "[components]")],
    "Python cannot be called on a device without the result's shape": [("value", "python_functions", "")],
    "towers run in one program: what one of them is asked for, all do": [("value", "unread_assignments", "")],
    "optimizers refuse to train nothing": [("training", "gradient_functions", "")],
    "a run goes on exactly: a tower gets what was its own again": [("training", "saving", "[after]")],
    "state that goes beside a checkpoint has a shard of its own": [("training", "monitored_session", "[files]")],
    "what is computed eagerly stays on the host until a program needs it": [("eager", "ids", "[log][1][2]")],
    "a variable speaks for all towers, and is on the first one's device": [
        ("eager", "variables", "[log][1][3]"), ("eager", "variables", "[log][3][3]"),
    ],
    "float() of a variable of one value is that value; eager tensors have an op": [
        ("eager", "variables", "[float]"), ("eager", "variables", "[told]"),
    ],
}  # fmt: skip
"""Parts of cases that differ on purpose: why -> area, case and the beginning of the path."""
PLACES = [place for places in DIFFERENT.values() for place in places]


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
    meant = [path for a, c, path in PLACES if (a, c) == (area, name)]
    assert [d for d in apart if not d[0].startswith(tuple(meant))] == []


@pytest.mark.parametrize("place", PLACES)
def test_what_differs_on_purpose_is_there(place):
    area, name, _ = place
    assert any(case.startswith(name + " ") for case in EXPECTED[area])
