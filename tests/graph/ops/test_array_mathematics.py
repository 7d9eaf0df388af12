"""Values, gradients, static shapes, names and types of array mathematics against goldens from TensorFlow 1.12."""

import base64
import json
from pathlib import Path

import numpy as np
import pytest

from tests.golden.array_mathematics_cases import CASES, DYNAMIC, INPUTS, SHAPES, static_shape, used
from tests.graph.ops.array.array_namespace import namespace
from tests.spread import spread
from towerstrat.graph.ir.graph import get_default_graph, reset_default_graph
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor, placeholder
from towerstrat.graph.ops.array.arrays import where, where_v2
from towerstrat.graph.ops.gradients.gradients import gradients
from towerstrat.graph.runtime.sessions.session import Session
from towerstrat.graph.variables.variables import Variable

GOLDEN = json.loads((Path(__file__).parents[2] / "golden" / "array_mathematics.json").read_text())
TF = namespace()

RUN = [case for case in CASES if case in GOLDEN and "value" in GOLDEN[case]]
DECOMPOSED = ("svd", "qr", "eig", "cholesky", "inverse", "solve", "logdet", "slogdet", "expm", "determinant")
LOOSE = ("gamma", "zeta", "beta", "bessel", "dct", "fft")

BETTER_GRADIENTS = {"tf.cumprod(x, 1)", "tf.where(x > 0., tf.sqrt(tf.maximum(x, 0.)), tf.zeros_like(x))"}
"""Where the original gives a NaN although the derivative exists; 2.15 gives none for square roots."""

OWN_NAMES = (
    "batch_gather",
    "searchsorted",
    "weights=[.5, 1., 2.], minlength",
    "histogram_fixed_width_bins",
    "confusion_matrix",
    "einsum",
    "cholesky_solve",
    "matrix_solve_ls",
    "expm",
    "dct",
    "[x, y], 2.)[1]",
)
"""Compositions in the original that are one operation here; only the names of their parts differ."""


def unpacked(entry):
    array = np.frombuffer(base64.b64decode(entry["data"]), np.dtype(entry["dtype"]))
    return array.reshape(entry["shape"])


def evaluate(case, inputs):
    return eval(case, {"tf": TF, "np": np}, inputs)


def made(how="full"):
    return {n: placeholder(v.dtype, static_shape(v, how), name=f"in_{n}") for n, v in INPUTS.items()}


def tolerance(case):
    if any(word in case for word in DECOMPOSED):
        return {"rtol": 2e-4, "atol": 2e-4}
    return {"rtol": 2e-4, "atol": 2e-5} if any(word in case for word in LOOSE) else {"rtol": 2e-5, "atol": 2e-6}


def check(cases):
    inputs = made()
    feeds = {inputs[n]: v for n, v in INPUTS.items()}
    fetches = {}
    for case in cases:
        golden = GOLDEN[case]
        y = convert_to_tensor(evaluate(case, inputs))
        assert y.dtype.name == golden["dtype"], case
        wanted = list(golden["gradients"])
        found = gradients(y, [inputs[n] for n in wanted]) if wanted else []
        for name, gradient in zip(wanted, found, strict=True):
            assert (gradient is None) == (golden["gradients"][name] is None), (case, name)
            if gradient is not None:
                fetches[f"{case} gradient of {name}"] = convert_to_tensor(gradient)
        fetches[case] = y
    results = Session().run(fetches, feeds)
    wrong = []
    for key, value in results.items():
        case, _, name = key.partition(" gradient of ")
        golden = GOLDEN[case]
        expected = unpacked(golden["gradients"][name] if name else golden["value"])
        if name and case in BETTER_GRADIENTS:
            continue
        try:
            assert value.dtype == expected.dtype
            assert value.shape == expected.shape
            if value.dtype.kind in "fc":
                np.testing.assert_allclose(value, expected, **tolerance(case))
            else:
                np.testing.assert_array_equal(value, expected)
        except AssertionError as error:
            wrong.append(f"{key}: {error}\n")
    assert not wrong, "\n".join(wrong)


@spread("case", RUN)
def test_values_and_gradients_are_the_originals(case):
    check([case])


@spread("case", [case for case in DYNAMIC if case in GOLDEN])
def test_results_whose_size_depends_on_values(case):
    check([case])


def covers(ours, golden):
    """Whether our shape says at least what the original's said, and nothing else."""
    if golden is None:
        return True
    return (
        ours is not None
        and len(ours) == len(golden)
        and all(g is None or o == g for o, g in zip(ours, golden, strict=True))
    )


@pytest.mark.parametrize("choice", [where, where_v2])
def test_a_choice_that_is_known_while_lowering_between_a_constant_and_a_variable(choice):
    x = placeholder("float32", [None])
    v = Variable([1.0, 2.0])
    some = TF.size(x) > 0
    with Session() as session:
        session.run(v.initializer)
        found = [
            session.run([choice(some, [3.0, 4.0], v), choice(some, v, [3.0, 4.0])], {x: [0.0] * n}) for n in (0, 1)
        ]
    np.testing.assert_array_equal(found, [[[1.0, 2.0], [3.0, 4.0]], [[3.0, 4.0], [1.0, 2.0]]])


@pytest.mark.parametrize(("left", "right"), [((2, 3, 4), (5, 4)), ((3, 4), (6, 5, 4)), ((2, 1, 3, 4), (6, 5, 4))])
@pytest.mark.parametrize("known", [True, False])
def test_batches_of_matrices_broadcast(left, right, known):
    """As from 1.14 on; 1.12 refused it."""
    a, b = np.random.RandomState(0).randn(*left), np.random.RandomState(1).randn(*right)
    x, y = (placeholder("float64", v.shape if known else [None] * v.ndim) for v in (a, b))
    product = TF.matmul(x, y, transpose_b=True)
    weight = np.arange(np.matmul(a, np.swapaxes(b, -1, -2)).size, dtype=np.float64)
    slopes = gradients(TF.reduce_sum(TF.reshape(product, [-1]) * weight), [x, y])
    with Session() as session:
        value, *found = session.run([product, *slopes], {x: a, y: b})
    expected = np.matmul(a, np.swapaxes(b, -1, -2))
    np.testing.assert_allclose(value, expected)
    assert covers(list(expected.shape), list(product.dims))
    from_above = weight.reshape(expected.shape)
    for gradient, whole, given in (
        (found[0], np.matmul(from_above, b), a),
        (found[1], np.matmul(np.swapaxes(from_above, -1, -2), a), b),
    ):
        extra = tuple(range(whole.ndim - given.ndim))
        whole = whole.sum(extra)
        wide = tuple(i for i, size in enumerate(given.shape) if size == 1 and whole.shape[i] != 1)
        np.testing.assert_allclose(gradient, whole.sum(wide, keepdims=True))


@pytest.mark.parametrize("how", SHAPES)
def test_static_shapes_say_what_the_originals_said(how):
    wrong = []
    for case in [*CASES, *DYNAMIC]:
        golden = GOLDEN[case]["static"].get(how) if case in GOLDEN else None
        if case not in GOLDEN:
            continue
        inputs = {n: placeholder(INPUTS[n].dtype, static_shape(INPUTS[n], how)) for n in used(case)}
        try:
            y = convert_to_tensor(evaluate(case, inputs))
            ours = None if y.dims is None else list(y.dims)
        except (TypeError, ValueError) as error:
            ours = type(error).__name__
        if isinstance(golden, str):
            if golden in ("ValueError", "TypeError") and not isinstance(ours, str) and how == "full":
                wrong.append((case, "expected", golden, "got", ours))
        elif isinstance(ours, str) or not covers(ours, golden):
            wrong.append((case, "expected", golden, "got", ours))
    assert not wrong, "\n".join(map(str, wrong))


def test_names_are_the_originals():
    wrong = []
    for case in [*CASES, *DYNAMIC]:
        if case not in GOLDEN or "name" not in GOLDEN[case]:
            continue
        reset_default_graph()
        inputs = {n: placeholder(INPUTS[n].dtype, INPUTS[n].shape, name=f"in_{n}") for n in used(case)}
        name = evaluate(case, inputs).name
        if name != GOLDEN[case]["name"] and not any(word in case for word in OWN_NAMES):
            wrong.append((case, GOLDEN[case]["name"], name))
    assert get_default_graph() is not None
    assert not wrong, "\n".join(map(str, wrong))
