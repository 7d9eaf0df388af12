"""Input of tf.distribute, against what TensorFlow 2.15 made of the same programs."""

import re

import pytest

from tests.golden.distribute_input_cases import INPUT
from tests.spread import spread
from tests.towers.distribute.agreement import alike, failed, found, plain
from tests.towers.distribute.original import wanted

pytestmark = pytest.mark.usefixtures("sizes_of_2x")

UNSUPPORTED = {"error": "UnsupportedError"}
REFUSED = {"error": "ValueError"}
WORKS = None
"""It is not refused."""
RULES = [
    # (area, case, what ours does, why)
    ("pipelines, m", ".*dense_to_ragged_batch|sparse", UNSUPPORTED, "composite batches are not divided"),
    ("pipelines, one", "sparse", WORKS, "the shape of a sparse element is not known before the program runs"),
    ("pipelines", "window", WORKS, "an element that is a dataset is not iterated inside a strategy's loop"),
    ("iterating", "break|return", WORKS, "they mean what they mean over any dataset"),
    ("iterating", "traces", WORKS, "an uneven batch is traced no second time"),
    ("iterating", "iterator signature", {"error": "AttributeError"}, "_type_spec is private: pass the iterator"),
    ("iterating", "optional's type|from function type|dataset type", WORKS, "one class"),
    ("iterating", "optional's element_spec", WORKS, "what is known of all elements, not of this one"),
    ("iterating", ".* members", WORKS, "names of our own"),
    ("iterating", "dataset repr", WORKS, "it says what is in it"),
    ("iterating", "distributing in run", WORKS, "one class, and one trace for all replicas"),
    ("iterating, default", "eager, get_next, (8|dropped)", WORKS, "how often it ran is told besides"),
    ("input options", "dataset, place.*", REFUSED, "rule 6: placing needs the per-replica mode"),
    ("input options, one", "function, .*per replica, fetch and place", REFUSED, "it contradicts itself"),
    ("input options, one", "function, .*per replica.*", WORKS, "one replica needs no other mode"),
    ("input contexts", "values of None", {"error": "ValueError"}, "parts become tensors"),
    ("input contexts", "values of .*|context while making values", WORKS, "parts become tensors"),
]
"""Deliberate differences."""


def rule(area, name):
    for where, pattern, ours, why in RULES:
        if area.startswith(where) and re.fullmatch(pattern, name):
            return ours, why
    return None


def without_shapes(told):
    """What a loop came to, without the shapes its body saw: traced once, it sees what all elements have."""
    return {k: v for k, v in told["dict"].items() if k != "shapes"}


def cases():
    for area, (kind, listed) in INPUT.items():
        for position, (name, case) in enumerate(listed.items()):
            # Loops are as good as all of the time: on three replicas every other one of them.
            if kind != "m3" or not name.startswith(("eager,", "function,")) or position % 2:
                yield area, kind, name, case


CASES = list(cases())


@spread(("area", "kind", "name", "case"), CASES, every=23, ids=[f"{area}: {name}" for area, _, name, _ in CASES])
def test_case(area, kind, name, case):
    ours, theirs = found(kind, case), plain(wanted(area, name))
    allowed = rule(area, name)
    if allowed is None:
        looped = area.startswith("iterating") and "shapes" in str(theirs)
        assert alike(*map(without_shapes, (ours, theirs))) if looped else alike(ours, theirs), (ours, theirs)
    elif not alike(ours, theirs):
        assert ours["error"] == allowed[0]["error"] if allowed[0] else not failed(ours), ours


TEXTS = [
    ("iterating, m2", "next until the end"),
    ("iterating, m2", "iterating in run"),
    ("iterating, m2", "iterator passed to run"),
    ("input options, m2", "dataset, per replica"),
    ("input options, m2", "function, place"),
    ("input options, m2", "function, per replica, fetch and place"),
    ("input options, m2", "CommunicationOptions negative"),
    ("input contexts, m2", "size not divisible"),
]
"""Cases whose errors begin with the original's words."""


@pytest.mark.parametrize(("area", "name"), TEXTS)
def test_words(area, name):
    kind, listed = INPUT[area]
    ours, theirs = found(kind, listed[name]), wanted(area, name)
    for here, there in zip(*([t] if isinstance(t, dict) else t for t in (ours, theirs)), strict=True):
        if failed(there):
            assert here["message"].startswith(there["message"].rstrip(". "))


def test_parts_become_tensors():
    """What Python numbers are in the original are tensors of the same values here."""
    listed = INPUT["input contexts, m2"][1]
    ours = found("m2", listed["values of python numbers"])
    assert ours == {"PerReplica": [{"int32": 0}, {"int32": 1}]}
    assert found("m2", listed["values of the same number"]) == {"PerReplica": [{"int32": 7}] * 2}


@pytest.mark.parametrize("kind", ["m2", "m3", "one"])
def test_break_and_return(kind):
    listed = INPUT[f"iterating, {kind}"][1]
    assert found(kind, listed["break"]) == {"int32": 1}
    assert found(kind, listed["return"]) == {"int64": 6 if kind == "one" else 1}
