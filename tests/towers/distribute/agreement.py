"""Which outcomes of cases agree with the original's."""

import functools
import json

from tests.golden import distribute_cases
from tests.towers.distribute.original import TF, MirroredStrategy, _With
from tests.towers.distribute.original import names as named

ACCIDENTS = {"AssertionError", "AttributeError", "IndexError"}
"""Errors by which the original fails where it meant none."""
CLASSES = {
    "_DefaultReplicaContext": "ReplicaContext",
    "_DefaultDistributionStrategy": "DefaultStrategy",
    "tensorflow.python.distribute.distribute_lib": "towerstrat.towers.distribute.input_distribution",
    "tensorflow.python.distribute.input_lib": "towerstrat.towers.distribute.distributed_dataset",
    "tensorflow.python.data.ops.iterator_ops": "towerstrat.data.iterators.python_iterators",
}
"""The original's names of classes and modules that no program sees, and ours."""


@functools.cache
def _kept(devices):
    return MirroredStrategy(devices)


def _strategy(devices, cross_device_ops=None):
    """One strategy for the same devices, so that programs are compiled once."""
    return _kept(tuple(devices))


_TF = _With(TF, distribute=_With(TF.distribute, MirroredStrategy=_strategy))


def found(kind, case):
    """What ours does with a case, of which nothing stays entered."""
    names = named(_TF, kind)
    outcome = distribute_cases.outcome(lambda: case(names) if callable(case) else eval(case, names))
    return plain(json.loads(json.dumps(outcome)))


def plain(told):
    """An outcome with our classes' names; an array by its type, as the tensor that it becomes."""
    if isinstance(told, list):
        return [plain(t) for t in told]
    if isinstance(told, dict):
        if set(told) == {"numpy", "value"}:
            return {told["numpy"]: told["value"]}
        return {k: v if k == "message" else plain(v) for k, v in told.items()}
    if isinstance(told, str):
        return functools.reduce(lambda text, name: text.replace(name, CLASSES[name]), CLASSES, told)
    return told


def both(told):
    """An outcome eagerly and in a function."""
    inner = told.get("dict", told) if isinstance(told, dict) else {}
    return (inner["eager"], inner["function"]) if set(inner) == {"eager", "function"} else (told, told)


def failed(told):
    return isinstance(told, dict) and "error" in told


def alike(here, there):
    """Whether outcomes agree: values in all, errors in their types.

    Where the original fails by accident, a TypeError or ValueError is as good, and eagerly what it does in a function;
    where it raises one type eagerly and another in a function, either is. What all replicas share is one value here.
    """
    eager, inside = both(there)
    if eager != inside or len({json.dumps(h) for h in both(here)}) > 1:
        if failed(eager) and failed(inside):
            return all(alike(h, eager) or alike(h, inside) for h in both(here))
        wanted = (inside, inside) if accident(eager) else (eager, inside)
        return all(alike(h, w) for h, w in zip(both(here), wanted, strict=True))
    if failed(there):
        if not failed(here):
            return False
        return here["error"] == there["error"] or (accident(there) and here["error"] in ("TypeError", "ValueError"))
    if (
        isinstance(there, dict)
        and set(there) == {"PerReplica"}
        and not (isinstance(here, dict) and "PerReplica" in here)
    ):
        return all(alike(here, part) for part in there["PerReplica"])  # what all replicas share is one value here
    if isinstance(there, dict):
        return isinstance(here, dict) and set(here) == set(there) and all(alike(here[k], there[k]) for k in there)
    if isinstance(there, list):
        return isinstance(here, list) and len(here) == len(there) and all(map(alike, here, there))
    return here == there


def accident(told):
    return failed(told) and (told["error"] in ACCIDENTS or "unhashable" in told["message"])
