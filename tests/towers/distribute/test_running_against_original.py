"""What running, contexts and the strategies' members do, against the kept outcomes of the original."""

import json
import re

import pytest

from tests.golden.distribute_run_cases import RUNNING
from tests.spread import spread
from tests.towers.distribute.original import TRACED, found, same, wanted


@pytest.fixture(autouse=True)
def as_in_2x(later_behavior):
    """Eagerly, and == compares values."""


NAMES = [
    (r'"_\w*ReplicaContext"', '"ReplicaContext"'),
    (r'"_DefaultDistributionStrategy"', '"DefaultStrategy"'),
    (r'"_DefaultDistributionExtended"', '"DefaultExtended"'),
    (r'"OneDeviceExtended"', '"StrategyExtendedV1"'),
    (r'"MirroredExtended"', '"TPUExtended"'),
    (r'"TracedStrategy"', '"MirroredStrategy"'),
    (r'"_CurrentDistributionContext"', '"Scope"'),
    (r'"_EagerDeviceContext"', '"nullcontext"'),
    (r'"DefaultInputIterator"', '"DatasetIterator"'),
    (r'"(ResourceVariable|EagerVariable|Component|(Eager)?MirroredVariable)"', '"Variable"'),
    (r'"(Symbolic|Eager)Tensor"', '"Tensor"'),
    (r'"OperatorNotAllowedInGraphError"', '"TypeError"'),
    (r"device:TPU:", "device:CPU:"),
]
"""Names of classes and devices that are others here."""


def plain(outcome):
    """An outcome with one name for each thing; copies of variables and arrays are told as their values."""
    text = json.dumps(outcome)
    for pattern, name in NAMES:
        text = re.sub(pattern, name, text)
    return _plain(json.loads(text))


def _plain(told):
    if isinstance(told, list):
        return [_plain(v) for v in told]
    if not isinstance(told, dict) or "error" in told:
        return told
    if set(told) == {"string"}:
        return told["string"]
    if set(told) == {"bool"}:
        return told["bool"]
    if set(told) == {"numpy", "value"}:
        return {told["numpy"]: told["value"]}
    if set(told) == {"variable"} and not (isinstance(told["variable"], list) and isinstance(told["variable"][0], dict)):
        return {"float32": told["variable"]}
    return {k: _plain(v) for k, v in told.items()}


TRACE = "a function is traced once for all replicas: nothing in Python differs between them"
ACCIDENT = "the original fails by accident"
SHOWN = "objects are shown in other words"
MEMBERS = "strategies have members of one another"
MEANT = {
    r"places, m2: .*: (function in run|merge_call in function in run)": "replicas meet in functions",
    r"places, m2: variable: .*function.*": "a variable that is made in a function may be forgotten",
    r"places, m2: .*: update.*": "an update is made once for all copies",
    r"places, m2: .*: cond": "replicas cannot meet where only some come",
    r"places, m2: run: map": "functions of datasets run on the host, where there are no replicas",
    r"places, .*: variable: map": "a function of a dataset may make a variable",
    r"returns, m3: (equal numbers|own .*|None on one|unequal .*|calls|raises on one|array|generator)": TRACE,
    r"returns, m3: slices": "the parts of slices are tensors",
    r"returns, m3: an operation": "an operation is the same on all replicas",
    r"returns, .*: ragged|values, .*: print": "there is no tf.ragged, tf.strings",
    r"values, m3: repr of strings": TRACE,
    r"values, .*: members": MEMBERS,
    r"values, m3: arithmetic of tensors": ACCIDENT,
    r"values, m3: (spec.*|nest with composites)": "what a per-replica value consists of is not public",
    r"context, m3: (id's dtype|id as a number|id in a list|if id|devices|members|kept id outside)": TRACE,
    r"context, m3: merge: (unequal .*|on one replica)": TRACE,
    r"context, m3: (merge|all_reduce):? in (cond|while) in a function": "replicas meet where all of them come",
    r"context, .*: (repr|str)": SHOWN,
    r"context, .*: devices of tensors": "tensors do not say where they are",
    r"mixed, .*: (devices twice|no devices|default devices|a device that is not there)": "no MirroredStrategy here",
    r"mixed, .*: one device of a wrong name": "names of devices are not looked up",
    r"extended, .*: (repr|str|update_config_proto says)": SHOWN,
    r"extended, .*: (.*members|bases|strategy bases|steps_per_run|experimental_run_v2)": MEMBERS,
    r"extended, .*: (strategy's experimental_make_numpy_dataset.*|cluster_resolver)": MEMBERS,
    r"extended, (one|default): (experimental_enable_get_next_as_optional|worker_devices_by_replica)": MEMBERS,
    r"extended, default: (experimental_between_graph|experimental_should_init|broadcast_to.*)": MEMBERS,
    r"extended, default: (experimental_run_steps_on_iterator|make_dataset_iterator.*)": MEMBERS,
    r"extended, .*: (reduce_to of 0|reduce_to None|batch_reduce_to nothing|broadcast_to of a number)": ACCIDENT,
    r"extended, .*: (update of another's variable|update of a number)": ACCIDENT,
    r"extended, .*: variable_created_in_scope of a number": ACCIDENT,
    r"extended, .*: reduce_to (MEAN )?of a mirrored variable": "a variable is reduced by its copies' values",
    r"extended, .*: reduce_to device's": "results are on all devices",
    r"extended, .*: update gives": "an assignment gives the variable",
    r"extended, .*: update, calls": "an update is made once for all copies",
    r"extended, .*: make_input_fn_iterator of a callable": "input functions return datasets",
}
"""What is another outcome on purpose: a pattern of "area: case" -> why."""


def meant(area, case):
    """Why a case has another outcome on purpose, or None."""
    return next((why for pattern, why in MEANT.items() if re.fullmatch(pattern, f"{area}: {case}")), None)


TURNED = {
    r"returns: (mirrored|on-read) variable": "functions return the values of variables",
    r"returns: (object|strategy|function)": "functions return no objects",
    r"returns: not callable": "what is no function is refused before it is called",
    r"context: python if id in a function": "only functions that are converted take conditions of tensors",
    r"extended: update in replica context": "functions return the values of variables",
}
"""Likewise where a function that is traced is run, for "topic: case"."""


def value(told):
    """An outcome as a function gives it: Python values and tensors are the same, and of each replica."""
    if isinstance(told, list):
        return [value(v) for v in told]
    if not isinstance(told, dict) or "error" in told:
        return told
    if "PerReplica" in told:
        parts = [value(part) for part in told["PerReplica"]]
        return parts[0] if all(part == parts[0] for part in parts) else {"PerReplica": parts}
    if len(told) == 1 and re.fullmatch(r"bool|string|u?int\d+|float\d+", *told):
        return next(iter(told.values()))
    return {k: value(v) for k, v in told.items()}


@spread("topic", ["returns", "arguments", "values", "context", "extended"], every=7)
def test_functions_that_are_traced_do_the_same(topic):
    """As the original's strategies for TPUs want them."""
    _, cases = RUNNING[f"{topic}, m3"]
    differ = []
    for case, text in cases.items():
        if meant(f"{topic}, m3", case) or any(re.fullmatch(pattern, f"{topic}: {case}") for pattern in TURNED):
            continue
        outcome, original = (value(plain(o)) for o in (found("m3", text, TRACED), wanted(f"{topic}, m3", case)))
        if not same(outcome, original):
            differ.append(f"{case}\n  original: {original}\n  here:     {outcome}")
    assert not differ, "\n".join(differ)


WORDS = [
    ("places, m2", "run: run in run"),
    ("places, m2", "scope: run"),
    ("places, m2", "reduce: run"),
    ("places, m2", "reduce_to: run"),
    ("places, m2", "gather: run"),
    ("places, m2", "reduce: merge_call outside"),
    ("places, default", "run: run in run"),
    ("arguments, m3", "number"),
    ("values, m3", "as a tensor"),
    ("context, m3", "made by hand of a string"),
    ("context, m3", "kept outside"),
    ("context, m3", "merge: arguments not a tuple"),
    ("context, default", "kept outside"),
    ("mixed, m2", "scope in another's"),
    ("mixed, m2", "reduce in another's scope"),
    ("mixed, m2", "set_strategy in scope"),
    ("mixed, m2", "copy"),
    ("extended, m3", "reduce_to of MAX"),
    ("extended, m3", "reduce_to of a number"),
    ("extended, m3", "colocate_vars_with"),
    ("extended, m3", "colocate_vars_with a number"),
    ("extended, m3", "make_input_fn_iterator, mode"),
    ("extended, default", "worker_devices"),
]
"""Cases whose errors begin with the original's words."""


@pytest.mark.parametrize(("area", "case"), WORDS)
def test_errors_begin_with_the_words_of_the_original(area, case):
    kind, cases = RUNNING[area]
    words = wanted(area, case)["message"].partition(" <")[0]
    assert len(words) > 20
    assert found(kind, cases[case])["message"].startswith(words)


def test_all_that_is_meant_is_so():
    """Every row of the table has a case with another outcome."""
    rows = set(MEANT)
    for area, (kind, cases) in RUNNING.items():
        for case, text in cases.items():
            own = {pattern for pattern in rows if re.fullmatch(pattern, f"{area}: {case}")}
            if own and not same(plain(found(kind, text)), plain(wanted(area, case))):
                rows -= own
    assert not rows


@spread("area", RUNNING, every=11)
def test_outcomes_are_those_of_the_original(area):
    kind, cases = RUNNING[area]
    differ = []
    for case, text in cases.items():
        outcome, original = plain(found(kind, text)), plain(wanted(area, case))
        if not same(outcome, original) and meant(area, case) is None:
            differ.append(f"{case}\n  original: {original}\n  here:     {outcome}")
    assert not differ, "\n".join(differ)


SINGLE = [(area, case) for area in ("context, one", "context, m3", "extended, v1") for case in RUNNING[area][1]]


@spread(("area", "case"), [row for row in SINGLE if not meant(*row)])
def test_members_of_contexts_and_strategies(area, case):
    kind, cases = RUNNING[area]
    assert same(plain(found(kind, cases[case])), plain(wanted(area, case)))
