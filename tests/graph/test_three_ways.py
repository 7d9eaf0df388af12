"""Every kernel computes the same in a graph, eagerly and inside of a function, and so do its gradients.

The gradients of the sum of all outputs are taken by ``tf.gradients`` in a session, by a tape eagerly, by a tape inside
of a function, and by a tape around a function. What the session computes is held against the original elsewhere.
"""

import functools
from collections import Counter

import jax
import numpy as np
import pytest
from jax.experimental.compilation_cache import compilation_cache

from tests.golden import array_mathematics_cases as expressions
from tests.graph.ops.test_array_mathematics import GOLDEN, tolerance, unpacked
from tests.graph.three_ways import WAYS, apart, differences, eagerly, empty, floating, in_graph, operations, within
from tests.graph.three_ways_cases import (
    DRAWS,
    ELSEWHERE,
    FURTHER,
    NO_BATCHES,
    NOTHING,
    STATES,
    WITHOUT_BATCH,
    of_expressions,
    of_images,
    of_kernels,
    of_names,
    of_networks,
)
from tests.spread import spread
from towerstrat.graph.eager.mode import eager_mode
from towerstrat.graph.functions.polymorphic import function
from towerstrat.graph.ir import nest, op_registry
from towerstrat.graph.ir.graph import Graph
from towerstrat.graph.ir.tensor_conversion import constant, convert_to_tensor
from towerstrat.graph.ops.gradients.gradients import gradients
from towerstrat.graph.runtime.sessions.session import Session
from towerstrat.graph.tapes.gradient_tape import GradientTape
from towerstrat.graph.variables.variables import Variable

CHUNK = 40
INSIDE = {way: compute for way, compute in WAYS.items() if way != "around a function"}
LOOSE = {
    "Betainc": 50, "Cholesky": 20, "CholeskySolve": 50, "Digamma": 10, "Igamma": 20, "Igammac": 50, "Lgamma": 10,
    "LogMatrixDeterminant": 50, "MatrixDeterminant": 20, "MatrixExponential": 50, "MatrixInverse": 50,
    "MatrixSolve": 50, "MatrixSolveLs": 100, "MatrixTriangularSolve": 20, "Polygamma": 20, "Qr": 50,
    "SelfAdjointEigV2": 50, "Svd": 100, "Zeta": 20,
}  # fmt: skip
"""Types whose results may be further apart: they go on until they have converged, or subtract large numbers."""


@pytest.fixture(scope="module", autouse=True)
def compiled_once(tmp_path_factory):
    """Programs are compiled without optimizations; one that is the same as one before is not compiled again."""
    settings = {
        "jax_compilation_cache_dir": str(tmp_path_factory.mktemp("programs")),
        "jax_persistent_cache_min_compile_time_secs": 0.0,
        "jax_persistent_cache_min_entry_size_bytes": 0,
    }
    before = {name: getattr(jax.config, name) for name in settings}
    for name, value in settings.items():
        jax.config.update(name, value)
    jax.config.update("jax_disable_most_optimizations", True)
    compilation_cache.reset_cache()
    yield
    for name, value in before.items():
        jax.config.update(name, value)
    jax.config.update("jax_disable_most_optimizations", False)
    compilation_cache.reset_cache()


@functools.cache
def table():
    """One case for each type of the tables, and all that were written for this; with the types of each."""
    found = {case: {op.type for op in operations(case)} for case in FURTHER}
    times = Counter(t for types in found.values() for t in types)
    for case in (*of_expressions(), *of_networks(), *of_names(), *of_images()):
        types = {op.type for op in operations(case)}
        if types - times.keys():
            found[case] = types
            times.update(types)
    for case in reversed([c for c in found if c not in FURTHER]):
        if all(times[t] > 1 for t in found[case]):
            times.subtract(found.pop(case))
    return found


def with_limits(case):
    return max([case.ulps, *(LOOSE.get(t, 1) for t in table()[case])])


def kind(case):
    """The cases that go together: results of unknown size and calls of Python make a whole function run one by one."""
    types = [op_registry.lookup(op.type) for op in operations(case)]
    return any(t.dynamic for t in types), any(t.callback for t in types), not floating(case)


def str_of(cases):
    return f"from {cases[0].name}"


def chunks(cases):
    """The cases, some at a time: each 31st by default, the others in the long run."""
    cases = list(cases)
    rest = [case for i, case in enumerate(cases) if i % 31]
    return [*together(cases[::31]), *(pytest.param(some, marks=pytest.mark.long) for some in together(rest))]


def together(cases):
    by_kind = {}
    for case in cases:
        by_kind.setdefault(kind(case), []).append(case)
    return [some[i : i + CHUNK] for some in by_kind.values() for i in range(0, len(some), CHUNK)]


def compare(cases, ulps, ways=WAYS):
    wanted = in_graph(cases)
    wrong = []
    for way, compute in ways.items():
        for case, found, result, limit in zip(cases, compute(cases), wanted, ulps, strict=True):
            wrong += differences(case, way, found, result, limit)
    assert not wrong, "\n".join(wrong)
    return wanted


@pytest.mark.parametrize("cases", chunks(table()), ids=str_of)
def test_values_and_gradients_are_equal_three_ways(cases):
    compare(cases, [with_limits(c) for c in cases])


@functools.cache
def batches_of_nothing():
    cut = [empty(case) for case in table() if case.name not in NO_BATCHES]
    return [*(case for case in cut if case is not None), *NOTHING, *of_kernels()]


@pytest.mark.parametrize("cases", chunks(batches_of_nothing()), ids=str_of)
def test_a_batch_of_nothing_has_results_of_the_same_shapes_three_ways(cases):
    for case, result in zip(cases, compare(cases, [1.0] * len(cases), INSIDE), strict=True):
        shapes = {x.shape for x in case.inputs}
        assert all(g is None or g.shape in shapes for g in result.gradients), case.name


def test_every_type_has_a_batch_of_nothing():
    covered = {op.type for case in batches_of_nothing() for op in operations(case)}
    known = {t for types in WITHOUT_BATCH.values() for t in types.split()}
    kernels = {t for types in table().values() for t in types if op_registry.lookup(t).host is None}
    assert kernels - covered - known == set()


def test_every_type_is_in_a_case():
    covered = {t for types in table().values() for t in types} | set(DRAWS) | {t for s in STATES for t in types_of(s)}
    left_out = {t for types in ELSEWHERE for t in types.split()}
    wanted = set(op_registry.types())
    assert wanted - covered - left_out == set()
    assert left_out <= wanted
    assert left_out & {t for t in covered if op_registry.lookup(t).kernel is not None} == set()


# ---- the original's values -----------------------------------------------------------------------------------------

EXPRESSIONS = [c for c in of_expressions() if "value" in GOLDEN.get(c.name, ())]


@spread("part", range(4), every=2)
def test_eager_values_are_the_originals(part):
    wrong = []
    for case in EXPRESSIONS[part::4]:
        wanted = unpacked(GOLDEN[case.name]["value"])
        with eager_mode():
            (found,) = (t.numpy() for t in case.outputs(*map(constant, case.inputs)))
        found = np.asarray(found)
        limits = tolerance(case.name)
        same = found.dtype == wanted.dtype and found.shape == wanted.shape
        if same and found.dtype.kind in "fc":
            same = np.allclose(found, wanted, **limits, equal_nan=True)
        elif same:
            same = np.array_equal(found, wanted)
        if not same:
            wrong.append(f"{case.name}: {found.tolist()}, the original has {wanted.tolist()}")
    assert not wrong, "\n".join(wrong)
    assert len(EXPRESSIONS) > 800
    assert expressions.DYNAMIC


# ---- numpy's forms -------------------------------------------------------------------------------------------------


@pytest.mark.long
def test_numpy_forms_have_the_types_and_values_of_kernels():
    """Integers divided by zero, shifts beyond the width, sums that overflow, halves, NaNs, empty arrays."""
    wide = np.array([7, -7, 0, 2**31 - 1, -(2**31), 5], np.int32)
    by = np.array([0, 0, 0, 33, -1, 31], np.int32)
    odd = np.array([np.nan, np.inf, -np.inf, -0.0, 1e30, -100.0, 0.3], np.float32)
    half, other = odd[[0, 1, 3, 5, 6]].astype(np.float16), np.array([1, 2, -1, 0.5, 3], np.float16)
    none = np.zeros((0, 3), np.float32)
    axes = {"axis": (0,), "keepdims": False}
    cases = [
        (t, (wide, by), {}) for t in ("FloorDiv", "FloorMod", "TruncateDiv", "TruncateMod", "LeftShift", "RightShift")
    ]
    cases += [(t, (wide.astype(np.uint8), by.astype(np.uint8)), {}) for t in ("FloorDiv", "FloorMod", "TruncateDiv")]
    cases += [
        (t, (odd,), {})
        for t in (
            "Sign",
            "Tanh",
            "Sigmoid",
            "LogSigmoid",
            "Softplus",
            "Relu",
            "Relu6",
            "Elu",
            "Selu",
            "Softsign",
            "Swish",
            "Expm1",
            "Log1p",
            "Reciprocal",
            "Erf",
            "Erfc",
            "Lgamma",
        )
    ]
    cases += [
        (t, (half,), {})
        for t in ("Tanh", "Sigmoid", "Softplus", "Elu", "Swish", "Exp", "Sqrt", "Rsqrt", "Log1p", "Erf")
    ]
    cases += [
        (t, (half, other), {}) for t in ("Add", "Mul", "RealDiv", "SquaredDifference", "DivNoNan", "Xlogy", "Atan2")
    ]
    cases += [(t, (none,), axes) for t in ("Sum", "Prod", "Mean", "Max", "Min")]
    cases += [(t, (wide.reshape(2, 3),), axes) for t in ("Sum", "Prod", "Mean", "Max", "Min")]
    cases += [("Pow", (x, np.asarray(0.5, x.dtype)), {}) for x in (odd, half, odd[2:3].reshape(()))]
    cases += [("Mean", (np.zeros((0, 2), np.int32),), axes), ("Sum", (half,), axes), ("Max", (odd,), axes)]
    cases += [(t, (x,), {"axis": -1}) for t in ("Softmax", "LogSoftmax") for x in (none, half[1:], odd[3:])]
    cases += [("Sort", (odd,), {"axis": 0, "descending": d}) for d in (True, False)]
    cases += [("ArgSort", (odd,), {"axis": 0, "descending": d}) for d in (True, False)]
    with jax.enable_x64(True):
        for type, args, attrs in cases:
            definition = op_registry.lookup(type)
            found = np.asarray(definition.numpy(*args, **attrs))
            wanted = np.asarray(jax.jit(functools.partial(definition.kernel, **attrs))(*args))
            assert not (problem := apart(found, wanted, 2.0)), f"{type} of {args}: {problem}"


# ---- state -----------------------------------------------------------------------------------------------------


def variables_of(state):
    return [Variable(value, name=f"v{i}") for i, value in enumerate(state.initial)]


def types_of(state):
    with Graph().as_default() as graph:
        state.function(*variables_of(state))
        return {op.type for op in within(graph.root)}


def built(variables):
    """Per state its outputs, and all that gradients are taken of and by."""
    outputs, ys, xs = [], [], []
    for state, own in zip(STATES, variables, strict=True):
        outputs.append([convert_to_tensor(t) for t in nest.flatten(state.function(*own))])
        if state.differentiated:
            ys += [t for t in outputs[-1] if t.dtype.is_floating]
            xs += own
    return outputs, ys, xs


def dense(found):
    return [convert_to_tensor(g) for g in found]


def state_in_graph():
    with Graph().as_default() as graph, Session(graph=graph) as session:
        variables = [variables_of(state) for state in STATES]
        outputs, ys, xs = built(variables)
        found = dense(gradients(ys, xs))
        session.run([v.initializer for own in variables for v in own])
        values = session.run([outputs, found])
        return [*values, session.run(variables)]


def state_eagerly():
    variables = [variables_of(state) for state in STATES]
    with GradientTape() as tape:
        outputs, ys, xs = built(variables)
    return [outputs, dense(tape.gradient(ys, xs)), variables]


def state_inside_function():
    variables = [variables_of(state) for state in STATES]

    def run():
        with GradientTape() as tape:
            outputs, ys, xs = built(variables)
        return outputs, dense(tape.gradient(ys, xs))

    return [*function(run, autograph=False)(), variables]


def state_around_function():
    variables = [variables_of(state) for state in STATES]
    with GradientTape() as tape:
        outputs, ys = function(lambda: built(variables)[:2], autograph=False)()
    xs = [v for state, own in zip(STATES, variables, strict=True) if state.differentiated for v in own]
    return [outputs, dense(tape.gradient(ys, xs)), variables]


@pytest.mark.long
def test_variables_are_changed_alike_three_ways():
    outputs, found, variables = state_in_graph()
    wrong = []
    for compute in (state_eagerly, state_inside_function, state_around_function):
        with eager_mode():
            results = nest.map_structure(lambda t: t.numpy(), compute())
        for state, *pairs in zip(STATES, results[0], outputs, results[2], variables, strict=True):
            flat = [*zip(pairs[0], pairs[1], strict=True), *zip(pairs[2], pairs[3], strict=True)]
            wrong += [f"{state.name} {compute.__name__}: {p}" for a, b in flat if (p := apart(a, b, 2.0))]
        wrong += [f"{compute.__name__}: {p}" for a, b in zip(results[1], found, strict=True) if (p := apart(a, b))]
    assert not wrong, "\n".join(wrong)


# ---- chance ----------------------------------------------------------------------------------------------------


@spread("type", DRAWS, every=9)
def test_draws_are_alike_three_ways(type):
    with Graph().as_default() as graph:
        found = [Session().run(DRAWS[type]())]
        assert type in {op.type for op in graph.get_operations()}
    with eager_mode():
        found += [DRAWS[type]().numpy(), function(DRAWS[type])().numpy()]
    assert len({(f.dtype, f.shape) for f in found}) == 1
    for one in found:
        assert np.isfinite(one).all()
        if type.startswith("RandomUniform"):
            assert one.min() >= 1
            assert one.max() < 3
        if type == "RandomShuffle":
            assert sorted(one.ravel()) == sorted(found[0].ravel())


def test_draws_go_on_eagerly():
    with eager_mode():
        assert (DRAWS["RandomUniform"]().numpy() != DRAWS["RandomUniform"]().numpy()).any()
        assert eagerly(FURTHER[:1])
