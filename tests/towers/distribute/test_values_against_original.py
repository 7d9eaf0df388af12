"""Reductions, gathers, losses and optimizers under tf.distribute, against what TensorFlow 2.15 made of the same."""

import re

import pytest

from tests.golden.distribute_value_cases import VALUES
from tests.spread import spread
from tests.towers.distribute.agreement import alike, both, failed, found, plain
from tests.towers.distribute.original import wanted

pytestmark = pytest.mark.usefixtures("sizes_of_2x")

TYPE, VALUE = {"error": "TypeError"}, {"error": "ValueError"}
UNSUPPORTED = {"error": "UnsupportedError"}
RULES = [
    # (area, case, what ours does: an error, or the outcome it has; why)
    ("", ".*ragged", TYPE, "towers have dense tensors"),
    ("reduce", r"SUM, tf.constant\(0\), .*", TYPE, "an axis is a Python number"),
    ("reduce", ".*, 1, unequal dtypes", TYPE, "one type for all replicas"),
    ("reduce, m3", ".*, None, zero", 0, "the original fails by accident"),
    ("reduce", "MEAN, 0, array", {"float32": 1.5}, "the original fails by accident in functions"),
    ("reduce", ".*, [01], (list|dictionary|tuple) of .*", VALUE, "structures are reduced leaf by leaf"),
    ("reduce, m3", "SUM, None, mirrored variable", {"float32": [3.0, 6.0]}, "the original fails by accident"),
    ("reduce", "MEAN, None, mirrored variable", {"float32": [1.0, 2.0]}, "a tensor, not the variable"),
    ("reduce, m3", "per-replica of another strategy", VALUE, "two strategies' programs cannot be one"),
    ("gather", ".*, strings", UNSUPPORTED, "devices hold no strings"),
    ("gather", ".*, (list|dictionary|tuple) of per-replica values", VALUE, "not the first replica's parts"),
    ("gather", "[01], slices", {"error": "NotImplementedError"}, "rule 11"),
    ("", r".*\(0,\).*", TYPE, "an axis is a number"),
    ("collectives, m3", ".*, own (length|length from 0|rows)", UNSUPPORTED, "shapes by the replica's number"),
    ("gradients", "all_gather of own length", {"error": "DifferentShapes"}, "shapes by the replica's number"),
    ("collectives", ".*, empty list", [], "the original fails by accident"),
    ("collectives, m3", "all_gather .*, (number|a variable outside)", VALUE, "eagerly as in functions"),
    ("collectives, m3", "all_reduce SUM, a variable outside", {"PerReplica": [{"float32": 6.0}] * 3}, "likewise"),
    ("collectives", "all_gather axis None", VALUE, "checked for one replica too"),
    ("collectives", "all_gather axis 'x'", TYPE, "checked for one replica too"),
    (
        "gradients",
        "merge_call reduce(_to)?",
        [{"float32": [14.0, 56.0]}, {"PerReplica": [{"float32": [6.0 * i, 12.0 * i]} for i in (1, 2, 3)]}],
        "reductions have gradients everywhere",
    ),
    ("losses, m2", ".*own empty.*|mean of unknown batch", UNSUPPORTED, "shapes by the replica's number"),
    ("optimizers", "in a conditional", [None, {"variable": [{"float32": 0.8}] * 2}], "uniform conditions are fine"),
]
"""Deliberate differences."""


def rule(area, name):
    return next((r for where, p, r, _ in RULES if area.startswith(where) and re.fullmatch(p, name)), UNSAID)


UNSAID = object()


def cases():
    """All of a small area, every other case of a large one; a few of what others say too: default, collectives."""
    for area, (kind, listed) in VALUES.items():
        step = 7 if kind == "default" or "r3" in kind else 2 if len(listed) > 300 else 1
        for name, case in list(listed.items())[::step]:
            yield area, kind, name, case


CASES = list(cases())


@spread(("area", "kind", "name", "case"), CASES, every=23, ids=[f"{area}: {name}" for area, _, name, _ in CASES])
def test_case(area, kind, name, case):
    ours, theirs = found(kind, case), plain(wanted(area, name))
    allowed = rule(area, name)
    if allowed is UNSAID:
        assert alike(ours, theirs), (ours, theirs)
    elif not alike(ours, theirs):
        for told in both(ours):
            if failed(allowed):
                assert failed(told), told
                assert told["error"] == allowed["error"], told
            else:
                assert alike(told, allowed) or alike(told, {"int32": allowed}), told


@pytest.mark.parametrize("used", RULES, ids=lambda r: r[1])
def test_differences_are_differences(used):
    """No rule stands here that nothing needs."""
    where, pattern, _, _ = used
    areas = {area: of for area, of in VALUES.items() if area.startswith(where)}
    matching = [(a, k, c, n) for a, (k, cases) in areas.items() for n, c in cases.items() if re.fullmatch(pattern, n)]
    assert any(not alike(found(k, c), plain(wanted(a, n))) for a, k, c, n in matching)


TEXTS = [
    ("reduce, m3", "SUM, 1, vectors"),
    ("reduce, m3", "SUM, None, number"),
    ("reduce, m3", "op 'MAX', None"),
    ("reduce, m3", "in run"),
    ("gather, m3", "in run"),
    ("collectives, m3", "all_reduce op 3"),
    ("collectives, m3", "all_reduce op 'MAX'"),
    ("collectives, m3", "all_gather 0, slices"),
    ("optimizers, m2", "gradient descent, cross, eager"),
    ("losses, m2", "in scope: vector"),
    ("losses, m2", "outside: scalar"),
    ("losses, m2", "outside: real global batch"),
]
"""Cases whose errors begin with the original's words."""


@pytest.mark.parametrize(("area", "name"), TEXTS)
def test_words(area, name):
    kind, listed = VALUES[area]
    ours, theirs = (both(t)[0] for t in (found(kind, listed[name]), wanted(area, name)))
    if not failed(theirs):
        ours, theirs = ours["dict"]["returned"][0], theirs["dict"]["returned"][0]
    assert failed(theirs)
    words = theirs["message"].partition(" for '")[0].partition(".. ")[0].rstrip(".")
    assert ours["message"].startswith(words.strip())
