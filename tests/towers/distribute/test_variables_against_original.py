"""Variables of strategies do what the original's do: the kept cases of synchronization x aggregation x place."""

import json
from functools import partial

import numpy as np
import pytest

from tests.golden import distribute_cases
from tests.golden.distribute_variable_cases import (
    AGGREGATIONS,
    CREATION,
    KINDS,
    OPERATIONS,
    TOLD,
    WHERE,
    _attributes,
    _make,
)
from tests.spread import spread
from tests.towers.distribute.original import TF, _With, names, same, wanted
from towerstrat.towers.distribute.python_results import unwrapped, wrapped


@pytest.fixture(autouse=True)
def as_in_2x(later_behavior):
    """Eagerly, and == compares values."""


_CLASSES = ("EagerVariable", "Component", "UnliftedInitializerVariable")


def plainly(value):
    """An outcome without what tells values of all replicas, of variables and of copies from each other.

    A value that is the same everywhere arrives from ``merge_call`` as that value, not as a per-replica one.
    """
    if isinstance(value, list):
        return [plainly(v) for v in value]
    if isinstance(value, str):
        value = value.replace("VariableAggregationV2", "VariableAggregation").replace("?", "None")
        return "ResourceVariable" if value in _CLASSES else value
    if not isinstance(value, dict):
        return value
    if value.get("error") == "InvalidArgumentError":
        return {"error": "ValueError"}
    if len(value) != 1:
        return {k: plainly(v) for k, v in value.items()}
    ((kind, inner),) = value.items()
    copies = isinstance(inner, list) and bool(inner) and isinstance(inner[0], dict)
    if kind == "variable" and not copies:
        kind = "float32"
    if kind in ("variable", "Mirrored", "PerReplica") and copies and all(copy == inner[0] for copy in inner):
        return plainly(inner[0])
    return {"variable" if kind == "Mirrored" else kind: plainly(inner)}


def alike(ours, theirs):
    return same(plainly(json.loads(json.dumps(ours))), plainly(theirs))


# ---- what is different on purpose ------------------------------------------------------------------------------------

ACROSS = ("cross", "outside", "merge", "merge, own")
WRITES = ("assign", "assign_add", "assign_sub", "assign after assign")
ONE_VALUE = ("assign a list", "assign a mirrored variable", "assign an on-read variable")


def is_meant(sync, how, where, name):
    """Why ours does something else there on purpose; None where it does not."""
    update, own = where.startswith("update"), where == "merge, own"
    if name == "batch_scatter_update":
        return "it is deprecated, and not here"
    if name == "type":
        return "update gets the variable, not its copies" if update else None
    if name == "sparse_read":
        return None if update else "it works"
    if name == "numpy":
        return "update calls its function once" if where == "update" else None
    if name == "item assign":
        same = sync == "ON_READ" and (how == "NONE" or (own and how == "ONLY_FIRST_REPLICA"))
        return "it works" if where in ACROSS and not same else None
    if sync == "ON_READ" and how == "SUM" and where in ACROSS and name.startswith(("assign_add", "assign_sub")):
        return None
    if name.endswith("a per-replica value"):
        if sync == "ON_READ":
            return "no accident"
        return "each replica has its part" if update or (how, where) == ("NONE", "replica") else None
    if sync == "AUTO":
        if (how, where) == ("ONLY_FIRST_REPLICA", "replica"):
            return "a list is a value" if name in ("assign a list", "assign wrong shape", "assign wrong type") else None
        refused = (how, where) == ("SUM", "replica") and name in ("assign itself", "assign a mirrored variable")
        return "an error with words" if refused else None
    if where not in ACROSS:
        return None
    if own and name in (*WRITES, "assign, not read"):
        return "an error with words"
    if how == "NONE" and name in (*WRITES, *ONE_VALUE):
        return "it is not read, so it can be assigned"
    if how == "SUM" and name in ("assign a list", "assign wrong shape"):
        return "a list is a value"
    if how == "MEAN" and name == "assign itself":
        return "copies are read before any is written"
    if how == "SUM" and name == "assign after assign":
        return "traced one after the other"
    return None


# ---- synchronization x aggregation x place x operation ---------------------------------------------------------------

TRACED = ("replica", "merge", "merge, own", "update in merge, own")


def outcomes(kind, synchronization, aggregation, where, function):
    """What each operation gives, the variable's copies after it, and its value outside.

    Args:
      function: all in one function, rather than one by one.
    """
    v = names(TF, kind)
    tf, s, told, outcome = v["tf"], v["s"], v["told"], distribute_cases.outcome
    made = {operation: _make(v, synchronization, aggregation) for operation in OPERATIONS}
    if synchronization == "ON_READ":
        s.run(lambda: [w.assign(tf.fill([2], (v["rid"]() + 1.0) * 10.0)) for w in made.values()] and None)
    others = {"m": v["var"]([7.0, 8.0]), "r": v["on_read"]("SUM", [4.0, 5.0]), "p": v["per"]([1.0, 2.0], [4.0, 5.0])}

    def carry_out(operation):
        text = WHERE[where].replace("{}", OPERATIONS[operation])
        return eval(text, {**v, **others, "w": made[operation], "v": made[operation]})

    gives = {}
    if function:
        failed = {}

        def attempt(operation):
            try:
                return carry_out(operation)
            except Exception as error:
                failed[operation] = distribute_cases.failed(error)

        results = unwrapped(tf.function(lambda: wrapped({o: attempt(o) for o in OPERATIONS}), autograph=False)())
        gives = {operation: told(value) for operation, value in results.items()} | failed
    else:
        gives = {operation: outcome(partial(carry_out, operation)) for operation in OPERATIONS}
    found = {}
    for operation, w in made.items():
        copies = told([copy.read_value() for copy in s.experimental_local_results(w)])
        outside = outcome(w.read_value)
        found[operation] = {"gives": gives[operation], "copies": copies}
        if outside != copies[0]:
            found[operation]["outside"] = outside
    return found


def differing(kind, synchronization, aggregation, where, function):
    """The operations that do something else than in the original: name -> (ours, the original's)."""
    area = f"variables, {synchronization}, {kind}"
    found = {}
    for operation, ours in outcomes(kind, synchronization, aggregation, where, function).items():
        theirs = wanted(area, f"{aggregation}, {where}, {operation}")
        eager, inside = theirs.get("eager", theirs), theirs.get("function", theirs)
        if function:
            # What it gives there is kept only where it is an error.
            gives = inside["gives"] if "error" in (inside["gives"] or {}) else eager["gives"]
            if where not in TRACED and "error" not in (gives or {}):
                gives = ours["gives"]
            theirs = {**inside, "gives": gives}
        else:
            theirs = eager
        if not alike(ours, theirs):
            found[operation] = (ours, theirs)
    return found


PLACES = [("m2", s, a, w) for s in ("AUTO", "ON_READ") for a in AGGREGATIONS for w in WHERE]
PLACES += [("one", s, a, w) for s in ("AUTO", "ON_READ") for a in ("NONE", "SUM") for w in ("replica", "cross")]


@spread(("kind", "synchronization", "aggregation", "where"), PLACES, every=19)
def test_operations(kind, synchronization, aggregation, where):
    eagerly = where not in TRACED or kind == "one"
    found = differing(kind, synchronization, aggregation, where, False) if eagerly else {}
    if not eagerly or aggregation in ("NONE", "SUM"):
        found |= differing(kind, synchronization, aggregation, where, True)
    meant = {o for o in OPERATIONS if kind == "m2" and is_meant(synchronization, aggregation, where, o)}
    if kind == "one":
        meant = {"batch_scatter_update"}
    assert {o: found[o] for o in found if o not in meant} == {}
    assert meant - set(found) == set()


# ---- creation --------------------------------------------------------------------------------------------------------

_DIFFER = {
    "creators": "creators see other arguments",
    "creators in run": "one trace for all replicas; contexts have other classes",
    "in run, unequal": "replicas' numbers are tensors",
    "in run, unequal shapes": "replicas' numbers are tensors",
    "devices of copies": "they are TPU devices",
    "trainable of v1 on-read asked": "1.x refuses it",
    "sum of truths": "an error with words",
    "sum of zero": "no accident",
    "sum of a variable": "an error with words",
    **{name: "each replica would write it in turn" for name in CREATION if name.startswith("saved outside")},
}
_MEANT = {
    "m2": set(_DIFFER),
    "one": {"creators", "creators in run", "trainable of v1 on-read asked"},
    "default": {"trainable of v1 on-read asked"},
}


class Checkpoint:
    """What takes the place of a checkpoint: values saved by numpy, and assigned."""

    def __init__(self, w):
        self.w = w

    def save(self, path):
        np.save(f"{path}.npy", self.w.numpy())
        return path

    def restore(self, path):
        self.w.assign(load_variable(path))


def load_variable(path, name=None):
    return np.load(f"{path}.npy")


def carried_out(case, seen):
    return case(seen) if callable(case) else eval(case, seen)


@spread("kind", ["m2", "one", "default"], every=3)
def test_creation(kind):
    tf = _With(TF, train=_With(TF.train, Checkpoint=Checkpoint, load_variable=load_variable))
    differ = {}
    for name, case in CREATION.items():
        ours = distribute_cases.outcome(partial(carried_out, case, names(tf, kind)))
        if not alike(ours, wanted(f"creation, {kind}", name)):
            differ[name] = ours
    assert {name: differ[name] for name in differ if name not in _MEANT[kind]} == {}
    assert _MEANT[kind] - set(differ) == set()


# ---- attributes ------------------------------------------------------------------------------------------------------

_MORE = {
    "graph": "tensors and variables have it here, eagerly too",
    "op": "likewise",
    "float(v)": "it is the value",
    "int(v)": "it is the value",
    "np.asarray(v)": "it is the value",
}
_ABSENT = {"SaveSliceInfo", "batch_scatter_update", "count_up_to", "gather_nd", "create", "read_value_no_copy",
           "scatter_nd_max", "scatter_nd_min"}  # fmt: skip


@pytest.mark.parametrize("name", TOLD)
@pytest.mark.parametrize("kind", ["m2", "one"])
def test_attributes(kind, name):
    ours = distribute_cases.outcome(lambda: _attributes(KINDS[name])(names(TF, kind)))["dict"]
    theirs = dict(wanted(f"attributes, {kind}", name)["dict"])
    members = next(k for k in theirs if k.startswith("' '"))
    assert set(theirs.pop(members).split()) - set(ours.pop(members).split()) <= _ABSENT
    differ = {k: (ours[k], theirs[k]) for k in theirs if not alike(ours[k], theirs[k])}
    assert {k: differ[k] for k in differ if k not in _MORE} == {}
