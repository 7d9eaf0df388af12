"""Random cases: an expression of the tables that goldens are made of, on its own inputs or on others like them."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import ml_dtypes
import numpy as np

import towerstrat.compat.v1
import towerstrat.compat.v2
from tests.fuzz.difference import written
from tests.golden import array_mathematics_cases, names_v2_cases

Array = np.ndarray[Any, Any]

APIS = {1: towerstrat.compat.v1, 2: towerstrat.compat.v2}
FIXED = ("cholesky", "qr(", "svd", "eig", "inv", "solve", "det", "expm", "py_func", "numpy_function", "while_loop",
         "histogram", "matrix_triangular")  # fmt: skip
"""Expressions that keep their inputs: decompositions that exist for some matrices only or in several forms, loops that
would not end."""
PLACES = {"k", "ids", "mix", "perm", "pick", "classes", "lengths"}
"""Inputs that are indices or lengths: their values are put in another order, sorted ones stay."""
OF_TOWERS = ("compute_average_loss", "scale_regularization_loss", "seed=")
"""Functions whose results depend on the number of towers, or differ by tower: no route through towers."""
DRAWS: dict[str, int] = {
    "tf.random_uniform([2, 3], seed=SEED)": 1,
    "tf.random_uniform([7], -5, 9, tf.int32, seed=SEED)": 1,
    "tf.random_uniform(tf.shape(x), 1., 2., tf.float64, seed=SEED)": 1,
    "tf.random_normal([5], 1., 3., seed=SEED)": 1,
    "tf.truncated_normal([2, 2], seed=SEED)": 1,
    "tf.random_shuffle(x, seed=SEED)": 1,
    "tf.random_crop(x, [1, 2], seed=SEED)": 1,
    "tf.multinomial(x, 4, seed=SEED)": 1,
    "tf.random_gamma([3], p[0], seed=SEED)": 1,
    "tf.random_poisson(p, [2], seed=SEED)": 1,
    "tf.nn.dropout(x, 0.5, seed=SEED)": 1,
    "tf.random.stateless_uniform([3], [SEED, 1])": 2,
    "tf.random.stateless_normal([2, 2], [SEED, 2])": 2,
    "tf.random.stateless_truncated_normal([3], [SEED, 3])": 2,
    "tf.random.stateless_categorical(x, 5, [SEED, 4])": 2,
}
"""Draws and their API: with a seed that no other program has they give the same bits by every route."""
FURTHER = [
    *(f"tf.reduce_{n}(x, k * 0 + {a})" for n in ("sum", "max", "mean", "prod", "logsumexp") for a in (0, -1)),
    *(f"tf.{n}(x, k)" for n in ("argmax", "argmin", "cumsum", "cumprod")),
    "tf.concat([x, y], k)",
    "tf.expand_dims(x, k)",
    "tf.gather(x, perm[1:] * 0, axis=k)",
    "tf.split(x, 3, k)",
    "tf.reverse(x, [k * 0])",
    "tf.transpose(x, tf.range(tf.rank(x))[::-1])",
    "tf.nn.top_k(x, k + 1)",
    "tf.nn.in_top_k(x, perm[1:] * 0, 2)",
    *(f"tf.unsorted_segment_{n}(x, perm[1:] * 0 + 1, k + 1)" for n in ("sum", "max", "mean", "sqrt_n")),
    *(f"tf.sparse_segment_{n}(x, perm[1:] * 0, tf.range(2))" for n in ("sum", "mean", "sqrt_n")),
    "tf.scatter_nd(perm[1:, None] * 0 + 2, x, [4, 3])",
    "tf.gather_nd(x, tf.stack([perm[1:] * 0, perm[1:] * 0 + 1], 1))",
    "tf.where(x > y, tf.gather_nd(x, [[1], [0]]), y)",
    "tf.one_hot(perm[1:] * 0, k + 1, x[0, 0], y[0, 0], axis=0)",
    "tf.sequence_mask(perm, maxlen=k + 3)",
    "tf.igamma(p, p + 0.5)",
    "tf.igammac(p, p + 0.5)",
    "tf.betainc(p, p + 1., p / 4.)",
    "tf.nn.embedding_lookup(x, perm[1:] * 0 + 1)",
    "tf.nn.embedding_lookup([x[0], x[1]], perm[1:] * 0)",
    *("tf.nn.embedding_lookup_sparse(x, tf.SparseTensor([[0, 0], [1, 0], [1, 1]], tf.cast([1, 0, 1], tf.int64), "
      f"[2, 2]), None, combiner={c!r})" for c in ("sum", "mean", "sqrtn")),
    *(f"tf.nn.{n}_pool(tf.reshape(x, [1, 2, 3, 1]), [1, 2, 2, 1], [1, 1, 1, 1], {q!r})"
      for n in ("max", "avg") for q in ("SAME", "VALID")),
    *(f"tf.nn.conv2d(tf.reshape(x, [1, 2, 3, 1]), tf.reshape(y, [1, 3, 1, 2]), [1, 1, 1, 1], {q!r})"
      for q in ("SAME", "VALID")),
    "tf.nn.depthwise_conv2d(tf.reshape(x, [1, 3, 2, 1]), tf.reshape(y, [3, 2, 1, 1]), [1, 1, 1, 1], 'SAME')",
    "tf.cond(tf.reduce_sum(p) > 0., lambda: x * y, lambda: x - y)",
    "tf.while_loop(lambda i, a, b: i < 3, lambda i, a, b: (i + 1, a * y, b + a), [0, x, y])[1:]",
    "tf.map_fn(lambda r: tf.nn.softmax(r), x)",
    "tf.scan(lambda a, r: a * 0.5 + r, x)",
]  # fmt: skip
"""Expressions of families that the tables of goldens do not vary: axes as tensors, orders, segments, rows, windows,
branches and loops."""
POOLS: tuple[tuple[float, ...], ...] = (
    (-2.0, -1.0, -0.5, 0.5, 1.0, 2.0, 3.0),
    (0.0, 0.0, 1.0, 2.0),
    (float("nan"), 1.0, 3.0, -2.0),
    (float("inf"), float("-inf"), float("nan"), 0.0, -0.0, 1.0),
)
"""Values of floating inputs besides normal ones: ties, zeros, NaNs, infinities."""


@dataclass(frozen=True)
class Case:
    """An expression over ``tf`` of one API and named inputs."""

    text: str
    api: int
    inputs: Mapping[str, Array]

    def function(self, *tensors: Any) -> Any:
        """The expression's value on tensors in the place of the inputs."""
        given = dict(zip(self.inputs, tensors, strict=True))
        return eval(self.text, {"tf": APIS[self.api], "np": np, **given})

    def program(self) -> str:
        """The definition of ``function`` and ``values`` as Python code."""
        version = "v1" if self.api == 1 else "v2"
        lines = [f"import towerstrat.compat.{version} as api", "nan, inf = np.nan, np.inf", ""]
        text = self.text.replace("tf.", "api.")
        values = ", ".join(written(v) for v in self.inputs.values())
        return "\n".join([*lines, f"function = lambda {', '.join(self.inputs)}: {text}", f"values = [{values}]"])


@cache
def templates() -> tuple[Case, ...]:
    """The expressions of the tables with the inputs that they use."""
    return (
        *_used(1, array_mathematics_cases.CASES, array_mathematics_cases.INPUTS),
        *_used(1, array_mathematics_cases.DYNAMIC, array_mathematics_cases.INPUTS),
        *_used(2, names_v2_cases.CASES, names_v2_cases.INPUTS),
        *_used(1, FURTHER, array_mathematics_cases.INPUTS),
    )


def _used(api: int, texts: list[str], inputs: Mapping[str, Array]) -> Iterator[Case]:
    for text in texts:
        names = sorted({n.id for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Name)} & inputs.keys())
        yield Case(text, api, {name: inputs[name] for name in names})


def case(random: np.random.RandomState) -> Case:
    """A draw in one case of 25, else a template, on its own inputs in one of four."""
    if random.randint(25) == 0:
        text = list(DRAWS)[random.randint(len(DRAWS))]
        seeded = text.replace("SEED", str(random.randint(2**31 - 1)))
        return next(_used(DRAWS[text], [seeded], array_mathematics_cases.INPUTS))
    template = templates()[random.randint(len(templates()))]
    if random.randint(4) == 0 or any(word in template.text for word in FIXED):
        return template
    kind = [np.float32, np.float32, np.float32, np.float64, np.float16, ml_dtypes.bfloat16][random.randint(6)]
    inputs = {name: _other(name, value, np.dtype(kind), random) for name, value in template.inputs.items()}
    return Case(template.text, template.api, inputs)


def _other(name: str, value: Array, kind: np.dtype[Any], random: np.random.RandomState) -> Array:
    """An input like ``value``; floating ones of the type ``kind``."""
    if value.dtype.kind == "b":
        return random.randint(2, size=value.shape).astype(bool)
    if value.dtype.kind == "f":
        return np.asarray(_floats(value.shape, random)).astype(kind)
    if value.dtype.kind == "c":
        return np.asarray(_floats(value.shape, random) + 1j * _floats(value.shape, random)).astype(value.dtype)
    if name in PLACES:
        rising = value.ndim == 1 and bool((np.diff(value) >= 0).all())
        return value if rising else random.permutation(value.ravel()).reshape(value.shape)
    limits = np.iinfo(value.dtype)
    ends = [limits.max, limits.min, *range(1, 12), *(range(-12, 0) if limits.min else ())]
    return random.choice(np.array(ends, value.dtype), size=value.shape)


def _floats(shape: tuple[int, ...], random: np.random.RandomState) -> Array:
    choice = random.randint(len(POOLS) + 2)
    if choice >= len(POOLS):
        return random.normal(size=shape) * 10.0 ** random.randint(-3, 4)
    return random.choice(np.array(POOLS[choice]), size=shape)
