"""What ``OpDef`` states of types (``derivative``, ``additive``, ``same_bits`` and the like) is tried on values."""

from collections import defaultdict

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import towerstrat.compat.v1 as tf
from tests.golden.array_mathematics_cases import CASES, DYNAMIC
from tests.graph.ops.test_kernels import known_values, operations
from towerstrat.graph.ir.op_registry import lookup, types
from towerstrat.graph.lowering.lowering import Lowering

FURTHER = [
    "tf.nn.conv2d(img, tf.reshape(img, [2, 2, 2, 4]), [1, 1, 1, 1], 'SAME')",
    "tf.nn.conv3d(tf.reshape(img, [1, 2, 4, 2, 2]), tf.reshape(img[:, :2], [1, 2, 2, 2, 2]), [1] * 5, 'SAME')",
    "tf.nn.depthwise_conv2d(img, tf.reshape(img[:, :2], [2, 2, 2, 2]), [1, 1, 1, 1], 'SAME')",
    "tf.nn.avg_pool(img, [1, 2, 2, 1], [1, 1, 1, 1], 'VALID')", "tf.nn.bias_add(x, row)", "tf.nn.relu(x)",
    "tf.nn.top_k(x, 2)", "tf.sort(x)", "tf.nn.embedding_lookup([x, p], [0, 1, 3])",
    "tf.where_v2(b, x, row)", "tf.repeat(x, [1, 2], 0)", "tf.math.xlog1py(p, x + 3.)", "tf.math.multiply_no_nan(x, y)",
    "tf.math.erfinv(u)", "tf.math.ndtri(p / 4.)", "tf.math.special.expint(p)",
    "tf.as_string(i)", "tf.string_to_number(tf.as_string(i))",
    "tf.placeholder_with_default(x, [2, 3])",
]  # fmt: skip
"""Types that the array cases have not."""
STRUCTURAL = ("Exit", "Merge")
"""Identities of loops and branches, which the cases do not make by themselves."""


class Trial:
    """One operation, on the values that it has in its case.

    Attributes:
      arrays: the inputs that need not be known while lowering.
      places: those of them that are numbers with a derivative.
    """

    def __init__(self, op, known):
        self.op = op
        self.definition = op.definition
        self.values = [np.asarray(known[t]) for t in op.inputs]
        static = (*self.definition.known(len(op.inputs), op.attrs), *self.definition.sized_by)
        self.arrays = [i for i, t in enumerate(op.inputs) if i not in static and t.dtype is not tf.string]
        self.places = [i for i in self.arrays if op.inputs[i].dtype.is_differentiable]
        self.attrs = {**op.arguments, **({"platform": "cpu"} if self.definition.platform else {})}
        self.random = np.random.RandomState(len(op.type))

    def __str__(self):
        return f"{self.op.type} of {[(t.dtype.name, t.dims) for t in self.op.inputs]} {dict(self.op.attrs)}"

    @property
    def differentiable(self):
        """Whether numbers with a derivative go in, and nothing else comes out."""
        return bool(self.places) and all(t.dtype.is_differentiable for t in self.op.outputs)

    def outputs(self, values, numpy=False):
        """The outputs by the kernel, or by the numpy form."""
        if not numpy:
            values = [jnp.asarray(v) if i in self.arrays else v for i, v in enumerate(values)]
        if not numpy and self.definition.kernel is None:
            lowering = Lowering("cpu")
            lowering.values.update(zip(self.op.inputs, values, strict=True))
            return list(self.definition.lower(lowering, self.op))
        result = (self.definition.numpy if numpy else self.definition.kernel)(*values, **self.attrs)
        return list(result) if isinstance(result, tuple | list) else [result]

    def of(self, arrays):
        """The outputs, with other arrays for the numbers."""
        arrays = dict(zip(self.places, arrays, strict=True))
        return self.outputs([arrays.get(i, v) for i, v in enumerate(self.values)])

    def numbers(self, draw):
        """Arrays for the numbers; ``draw(shape)`` draws real and imaginary parts."""
        for i in self.places:
            dtype = self.op.inputs[i].dtype
            value = np.asarray(draw(self.values[i].shape))
            yield (value + 1j * draw(value.shape) if dtype.is_complex else value).astype(dtype.np)

    def ordinary(self):
        """Numbers between 1/2 and 2, no two alike, far from where a function has a corner."""
        distinct = lambda count: self.random.permutation(np.linspace(0.5, 2, count + 2)[1:-1])  # noqa: E731
        return list(self.numbers(lambda shape: distinct(int(np.prod(shape))).reshape(shape)))

    def whole(self):
        """Small whole numbers, whose sums and products are exact."""
        return list(self.numbers(lambda shape: self.random.randint(-4, 5, shape)))

    def cotangents(self, arrays):
        """The numbers' cotangents for fixed ones of the outputs, by the type's formula or by JAX."""
        outputs, pull = jax.vjp(lambda *a: self.of(a), *arrays)
        seeds = [self.seed(y) for y in outputs]
        if self.definition.gradient is None:
            return list(pull(seeds))
        inputs = dict(zip(self.places, arrays, strict=True))
        grads = self.definition.gradient(
            [inputs.get(i, v) for i, v in enumerate(self.values)], outputs, seeds, **self.op.arguments
        )
        return [jnp.zeros_like(a) if grads[i] is None else grads[i] for i, a in inputs.items()]

    @staticmethod
    def seed(y):
        if not jnp.issubdtype(y.dtype, jnp.inexact):
            return np.zeros(y.shape, jax.dtypes.float0)
        return jnp.asarray(np.cos(np.arange(y.size)).reshape(y.shape), y.dtype)

    def curvature(self):
        """(i, j) -> the derivative of the i-th number's cotangent by the j-th number, along fixed weights."""
        arrays = self.ordinary()
        grads, pull = jax.vjp(lambda *a: self.cotangents(a), *arrays)
        for i in range(len(grads)):
            weights = [self.seed(g) if i == j else jnp.zeros_like(g) for j, g in enumerate(grads)]
            for j, second in enumerate(pull(weights)):
                yield (i, j), float(np.abs(second).max(initial=0))


def is_linear(trial):
    """No cotangent changes with a number."""
    return all(size < 1e-5 for _, size in trial.curvature())


def is_bilinear(trial):
    """No number's cotangent changes with that number."""
    return all(size < 1e-5 for (i, j), size in trial.curvature() if i == j)


def is_quotient(trial):
    """The first number's cotangent does not change with it."""
    return all(size < 1e-5 for (i, j), size in trial.curvature() if i == j == 0)


def is_additive(trial):
    """f(a + b) = f(a) + f(b)."""
    a, b = trial.whole(), trial.whole()
    sums = trial.of([x + y for x, y in zip(a, b, strict=True)])
    rtol = 1e-5 if all(v.dtype.itemsize > 2 for v in (*a, *sums)) else 1e-2
    return all(
        np.allclose(np.asarray(s, np.complex64), np.asarray(x + y, np.complex64), rtol, 1e-5)
        for s, x, y in zip(sums, trial.of(a), trial.of(b), strict=True)
    )


def is_polynomial(trial):
    """The third differences along a line are zero: no input comes in with a power above 2."""
    x, step = trial.whole(), trial.whole()
    at = [trial.of([a + np.asarray(n, a.dtype) * b for a, b in zip(x, step, strict=True)]) for n in range(4)]
    return all(not np.any(np.asarray(d - 3 * c + 3 * b - a)) for a, b, c, d in zip(*at, strict=True))


def is_entrywise(trial):
    """Other entries at some places change the result at those places alone."""
    numpy = trial.definition.kernel is None and trial.definition.lower is None
    before = trial.outputs(trial.values, numpy)
    shape = np.shape(before[0])
    places = trial.random.random_sample(shape) < 0.5
    values = [np.where(places, np.roll(v, 1), v) if v.shape == shape else v for v in trial.values]
    after = trial.outputs(values, numpy)
    others = ~np.asarray(places)
    pairs = [(np.asarray(a)[others], np.asarray(b)[others]) for a, b in zip(before, after, strict=True)]
    return all(same_entries(a, b) for a, b in pairs)


def has_same_bits(trial):
    """The numpy form and the compiled kernel give the same bits."""

    def function(*arrays):
        arrays = dict(zip(trial.arrays, arrays, strict=True))
        return trial.outputs([arrays.get(i, v) for i, v in enumerate(trial.values)])

    compiled = jax.jit(function)(*[trial.values[i] for i in trial.arrays])
    return all(same_entries(a, np.asarray(b)) for a, b in zip(trial.outputs(trial.values, True), compiled, strict=True))


def passes_rows(trial):
    """A cotangent that is zero but for one row gives one that is zero but for the same row."""
    outputs, pull = jax.vjp(lambda *a: trial.of(a), *trial.ordinary())
    rows = np.arange(len(outputs[0])) == 1
    there = rows.reshape(-1, *(1,) * (outputs[0].ndim - 1))
    return all(not np.any(np.asarray(g)[~rows]) for g in pull([jnp.where(there, jnp.ones_like(outputs[0]), 0)]))


def same_entries(a, b):
    """Whether the bits are the same, those of numbers that are none aside."""
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    return bool(np.all((a == b) | ((a != a) & (b != b))))


def plain(trial):
    """Whether the inputs are of the types that the fact is used for."""
    return all(v.dtype.kind in "biu" or (v.dtype.kind == "f" and v.dtype.itemsize > 2) for v in trial.values)


def of_rows(trial):
    """Whether the inputs have several rows."""
    return trial.differentiable and all(len(t.dims) > 0 and t.dims[0] > 1 for t in trial.op.inputs)


FACTS = {
    "linear": (lambda d: d.derivative == "linear", lambda t: bool(t.places), is_linear),
    "bilinear": (lambda d: d.derivative == "bilinear", lambda t: t.differentiable, is_bilinear),
    "quotient": (lambda d: d.derivative == "quotient", lambda t: t.differentiable, is_quotient),
    "additive": (lambda d: d.additive, lambda t: t.differentiable, is_additive),
    "polynomial": (lambda d: d.polynomial, lambda t: t.differentiable, is_polynomial),
    "entrywise": (lambda d: d.entrywise, lambda t: len(t.op.outputs) == 1, is_entrywise),
    "same_bits": (lambda d: d.same_bits, plain, has_same_bits),
    "passes_rows": (lambda d: d.passes_rows, of_rows, passes_rows),
}
"""Fact -> whether a definition states it, whether an operation is one to try it on, whether it holds."""


def can_be_tried(definition):
    return definition.kernel is not None or definition.numpy is not None


@pytest.fixture(scope="module")
def trials():
    """By type, one operation of each kind."""
    by_type = defaultdict(list)
    with tf.Graph().as_default():
        ops = list(operations([*CASES, *DYNAMIC, *FURTHER], tf, can_be_tried))
        known = known_values(ops)
    for op in ops:
        by_type[op.type].append(Trial(op, known))
    return by_type


@pytest.mark.parametrize("most", [1, pytest.param(6, marks=pytest.mark.long)])
@pytest.mark.parametrize("fact", FACTS)
def test_facts_hold(fact, most, trials):
    """Of each type that states it, on ``most`` operations."""
    states, fits, holds = FACTS[fact]
    stated = {t for t in types() if states(lookup(t)) and can_be_tried(lookup(t))}
    wrong, tried = [], set()
    with jax.enable_x64(True):
        for trial in (t for type in stated for t in [t for t in trials[type] if fits(t)][:most]):
            tried.add(trial.op.type)
            if not holds(trial):
                wrong.append(str(trial))
    assert not wrong, "\n".join(wrong)
    assert stated - tried <= set(STRUCTURAL)


@pytest.mark.parametrize(
    ("fact", "type"),
    [
        ("linear", "Mul"), ("linear", "Square"), ("bilinear", "SquaredDifference"), ("quotient", "Pow"),
        ("additive", "Maximum"), ("additive", "Square"), ("polynomial", "Exp"), ("polynomial", "Maximum"),
        ("entrywise", "Cumsum"), ("entrywise", "ReverseV2"), ("same_bits", "Erf"), ("passes_rows", "ReverseV2"),
    ],
)  # fmt: skip
def test_other_facts_do_not(fact, type, trials):
    states, fits, holds = FACTS[fact]
    assert not states(lookup(type))
    with jax.enable_x64(True):
        assert not all(holds(t) for t in trials[type] if fits(t))
