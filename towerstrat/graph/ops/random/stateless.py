"""Random numbers that depend on a seed and a shape only, under the later names.

The same seed gives the same numbers in graphs, in functions and eagerly, on every tower and device. They are not the
original's numbers.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from towerstrat.graph.ir import shapes
from towerstrat.graph.ir.constant_folding import constant_value
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.mesh import alike
from towerstrat.graph.ir.op_registry import Signature, define_op
from towerstrat.graph.ir.shapes import Dims, TensorShape
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.graph.ir.types import DType, as_dtype, float32, int32, int64, uint32, uint64
from towerstrat.graph.ops.array import arrays
from towerstrat.graph.ops.building.op_builder import add_op, convert_pair
from towerstrat.graph.ops.math import arithmetic
from towerstrat.graph.ops.random import stateful
from towerstrat.graph.ops.random.stateful import check_seed, key_of, result_dims, shape_argument, sizes
from towerstrat.platform.deferred import jax_special

_FULL_RANGE = (int32, int64, uint32, uint64)


class Algorithm(enum.Enum):
    """The original's generators. Here all give the same numbers; they differ in the size of a generator's state."""

    PHILOX = 1
    THREEFRY = 2
    AUTO_SELECT = 3


def algorithm(alg: Any) -> int:
    """The number of an algorithm that is given as one, as an ``Algorithm`` or by name.

    Raises:
      TypeError: another type.
      ValueError: no such algorithm.
    """
    if isinstance(alg, Algorithm):
        return alg.value
    if isinstance(alg, str):
        names = {a.name.replace("_", ""): a.value for a in Algorithm}
        found = names.get(alg.strip().upper().replace("-", "").replace("_", ""))
    elif isinstance(alg, int | np.integer):
        found = int(alg) if int(alg) in {a.value for a in Algorithm} else None
    else:
        raise TypeError(f"Expected an algorithm as a name, a number or a tf.random.Algorithm, got {alg!r}.")
    if found is None:
        raise ValueError(f"Expected 'philox' (1), 'threefry' (2) or 'auto_select' (3) as the algorithm, got {alg!r}.")
    return found


# ---- operations --------------------------------------------------------------------------------------------------

_Draw = Callable[..., Any]


def _define(type: str, parameters: int, draw: _Draw, check: Callable[..., None] | None = None, **fields: Any) -> None:
    """A type with the inputs (seed, parameters..., shape if it is none of plain integers).

    ``draw(key, sizes, dtype, *parameters)`` makes the values; parameters are broadcast to the result.
    """

    def rule(inputs: Sequence[Any], attrs: Mapping[str, Any]) -> list[Signature]:
        check_seed(inputs[0])
        given = inputs[1 : 1 + parameters]
        dims = result_dims(inputs[1 + parameters :], attrs)
        for parameter in given:
            if dims is not None and shapes.broadcast(dims, parameter.dims) not in (dims, None):
                raise ValueError(f"Expected parameters that broadcast to {TensorShape(dims)}, got {parameter!r}.")
        if check is not None:
            check(*given)
        return [Signature(attrs["dtype"], dims)]

    def kernel(seed: Any, *given: Any, shape: Dims, dtype: DType) -> Any:
        wanted = sizes(shape, given[parameters:])
        key, *values = alike(jax.random.key_data(key_of(seed)), *given[:parameters])
        full = [jnp.broadcast_to(v, wanted) for v in values]
        return draw(jax.random.wrap_key_data(key, impl="threefry2x32"), wanted, dtype.np, *full)

    define_op(type, rule, kernel, static=(1 + parameters,), **fields)


def _bits(key: Any, wanted: tuple[int, ...], dtype: Any) -> Any:
    unsigned = np.dtype(f"uint{np.dtype(dtype).itemsize * 8}")
    return jax.random.bits(key, wanted, unsigned).astype(dtype)


def _integers(key: Any, wanted: tuple[int, ...], dtype: Any, low: Any, high: Any) -> Any:
    return jax.random.randint(key, wanted, low, high, dtype)


def _check_range(low: Tensor, high: Tensor) -> None:
    bounds = constant_value(low), constant_value(high)
    if bounds[0] is not None and bounds[1] is not None and np.any(bounds[0] >= bounds[1]):
        raise ValueError(f"Need minval < maxval, got {bounds[0]} >= {bounds[1]}.")


def _poisson(key: Any, wanted: tuple[int, ...], dtype: Any, rate: Any) -> Any:
    return jax.random.poisson(key, rate, wanted, np.int64).astype(dtype)


def _binomial(key: Any, wanted: tuple[int, ...], dtype: Any, counts: Any, probs: Any) -> Any:
    """By a ratio of uniforms (Stadlober 1990). No success where a count is not positive or not finite.

    ``jax.random.binomial`` and the inverse of the distribution function do not run where values differ along an axis.
    """
    n, p = (jnp.asarray(v).astype(np.float64) for v in (counts, probs))
    n = jnp.where((n > 0) & jnp.isfinite(n), n, 0)
    inner = jnp.where((p > 0) & (p < 1), p, 0.5)
    odds = jnp.log(inner) - jnp.log1p(-inner)
    mode = jnp.floor((n + 1) * inner)
    top = lax.lgamma(mode + 1) + lax.lgamma(n - mode + 1)
    width = np.sqrt(8 / np.e) * jnp.sqrt(n * inner * (1 - inner) + 0.5) + (3 - np.sqrt(12 / np.e))

    def draw(carry: Any) -> Any:
        key, found = carry
        key, one, two = jax.random.split(key, 3)
        u = 1 - jax.random.uniform(one, wanted, np.float64)
        k = jnp.floor(n * inner + 0.5 + width * (jax.random.uniform(two, wanted, np.float64) - 0.5) / u)
        share = top - lax.lgamma(k + 1) - lax.lgamma(n - k + 1) + (k - mode) * odds
        accepted = (k >= 0) & (k <= n) & (2 * jnp.log(u) <= share)
        return key, jnp.where((found < 0) & accepted, k, found)

    drawn = lax.while_loop(lambda carry: jnp.any(carry[1] < 0), draw, (key, jnp.zeros_like(n) - 1))[1]
    return jnp.where(p >= 1, n, jnp.where(p > 0, drawn, 0)).astype(dtype)


def _within(key: Any, wanted: tuple[int, ...], dtype: Any, mean: Any, deviation: Any, low: Any, high: Any) -> Any:
    wide = np.float64 if dtype == np.float64 else np.float32
    share = jax.random.uniform(key, wanted, wide)
    return _truncated(share, *(v.astype(wide) for v in (mean, deviation, low, high))).astype(dtype)


@jax.custom_jvp
def _truncated(share: Any, mean: Any, deviation: Any, low: Any, high: Any) -> Any:
    """The number below which lies that share of a normal distribution's part between two bounds."""
    a, b = (low - mean) / deviation, (high - mean) / deviation
    # In the upper tail the distribution function is 1 to the last digit: draw from its mirror image there.
    mirrored = a > 0
    a, b = jnp.where(mirrored, -b, a), jnp.where(mirrored, -a, b)
    ends = jax_special.ndtr(a), jax_special.ndtr(b)
    drawn = jnp.clip(jax_special.ndtri(ends[0] + share * (ends[1] - ends[0])), a, b)
    return jnp.clip(jnp.where(mirrored, -drawn, drawn) * deviation + mean, low, high)


@_truncated.defjvp
def _truncated_jvp(values: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    """As the original has it: bounds do not move with the mean. Source: Figurnov et al. 2018, ``random_grad.py``."""
    _, mean, deviation, low, high = values
    sample = _truncated(*values)
    z, a, b = ((v - mean) / deviation for v in (sample, low, high))
    below = jax_special.ndtr(a)
    limits = np.finfo(sample.dtype)
    share = jnp.clip((jax_special.ndtr(z) - below) / (jax_special.ndtr(b) - below), limits.tiny, 1 - limits.eps)
    by_low = jnp.exp(0.5 * (z**2 - a**2) + jnp.log1p(-share))
    by_high = jnp.exp(0.5 * (z**2 - b**2) + jnp.log(share))
    rates = (jnp.ones_like(z), z, by_low, by_high)
    return sample, sum(rate * tangent for rate, tangent in zip(rates, tangents[1:], strict=True))


_define("StatelessRandomUniformFullInt", 0, _bits, differentiable=False)
_define("StatelessRandomUniformInt", 2, _integers, _check_range, differentiable=False)
_define("StatelessRandomGammaV2", 1, lambda key, wanted, dtype, alpha: jax.random.gamma(key, alpha, wanted, dtype))
_define("StatelessRandomPoisson", 1, _poisson, differentiable=False)
_define("StatelessRandomBinomial", 2, _binomial, differentiable=False)
_define("StatelessParameterizedTruncatedNormal", 4, _within)


def _drawn(
    type: str, shape: Any, seed: Any, dtype: DType, parameters: Sequence[Tensor] = (), name: Any = None
) -> Tensor:
    inputs, dims = shape_argument(shape)
    return add_op(
        type, [convert_to_tensor(seed, name="seed"), *parameters, *inputs], {"shape": dims, "dtype": dtype}, name
    )


# ---- public functions --------------------------------------------------------------------------------------------


def stateless_uniform(
    shape: Any, seed: Any, minval: Any = 0, maxval: Any = None, dtype: Any = float32, name: str | None = None,
    alg: Any = "auto_select",
) -> Tensor:  # fmt: skip
    """Values evenly spread over ``[minval, maxval)``.

    Args:
      shape: integers, or an integer tensor known while lowering.
      seed: two integers.
      minval, maxval: broadcast to ``shape``. Floats have maxval 1 by default; integers need it, and both as None mean
        the whole range of the type.
      dtype: floating, int32, int64, or uint32 and uint64 (the whole range only).
      alg: an ``Algorithm`` or its name; it changes no number here.

    Raises:
      ValueError: another dtype, one of the bounds for integers without the other, bounds for unsigned integers, or an
        empty range of integers.
    """
    algorithm(alg)
    kind = as_dtype(dtype)
    if kind.is_floating:
        return stateful.stateless_random_uniform(shape, seed, minval, maxval, kind, name)
    if kind not in _FULL_RANGE:
        raise ValueError(f"Expected a floating dtype, int32, int64, uint32 or uint64, got {kind.name}.")
    if (minval is None) != (maxval is None):
        raise ValueError(
            f"For integer dtype {kind.name}, minval and maxval must be both None or both not, "
            f"got minval={minval} and maxval={maxval}."
        )
    if minval is not None and kind in (uint32, uint64):
        raise ValueError(f"For dtype {kind.name}, minval and maxval must be None, got {minval} and {maxval}.")
    name = name or "stateless_random_uniform"
    if minval is not None:
        return uniform_between(shape, seed, minval, maxval, kind, name)
    with get_default_graph().name_scope(name) as scope:
        return _drawn("StatelessRandomUniformFullInt", shape, seed, kind, name=scope)


def uniform_between(shape: Any, seed: Any, minval: Any, maxval: Any, dtype: DType, name: str) -> Tensor:
    """Integers of any type evenly spread over ``[minval, maxval)``."""
    with get_default_graph().name_scope(name) as scope:
        bounds = [convert_to_tensor(minval, dtype, name="min"), convert_to_tensor(maxval, dtype, name="max")]
        return _drawn("StatelessRandomUniformInt", shape, seed, dtype, bounds, scope)


def stateless_normal(
    shape: Any, seed: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = float32, name: str | None = None,
    alg: Any = "auto_select",
) -> Tensor:  # fmt: skip
    """Values of a normal distribution. Arguments as of ``stateless_uniform``; mean and stddev are broadcast."""
    algorithm(alg)
    return stateful.stateless_random_normal(shape, seed, mean, stddev, dtype, name)


def stateless_truncated_normal(
    shape: Any, seed: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = float32, name: str | None = None,
    alg: Any = "auto_select",
) -> Tensor:  # fmt: skip
    """Values of a normal distribution within two standard deviations. Arguments as of ``stateless_normal``."""
    algorithm(alg)
    return stateful.stateless_truncated_normal(shape, seed, mean, stddev, dtype, name)


def stateless_categorical(
    logits: Any, num_samples: Any, seed: Any, dtype: Any = int64, name: str | None = None
) -> Tensor:
    """``[batch, num_samples]`` classes, each drawn with probability ``softmax(logits)[class]``.

    Args:
      logits: ``[batch, classes]``.
      num_samples: an integer.
      seed: two integers.
      dtype: int64 or int32.
    """
    return stateful.stateless_multinomial(logits, num_samples, seed, dtype, name or "stateless_categorical")


def stateless_gamma(
    shape: Any, seed: Any, alpha: Any, beta: Any = None, dtype: Any = float32, name: str | None = None
) -> Tensor:
    """Values of gamma distributions; differentiable in the parameters.

    Args:
      shape: of the result.
      seed: two integers.
      alpha, beta: shape parameters and inverse scales (1 by default); broadcast to ``shape``.

    Raises:
      ValueError: parameters that do not broadcast to ``shape``.
    """
    kind = as_dtype(dtype)
    with get_default_graph().name_scope(name or "stateless_gamma"):
        alpha = convert_to_tensor(alpha, kind, name="alpha")
        made = _drawn("StatelessRandomGammaV2", shape, seed, kind, [alpha])
        beta = convert_to_tensor(1 if beta is None else beta, kind, name="beta")
        if made.dims is not None and shapes.broadcast(made.dims, beta.dims) not in (made.dims, None):
            raise ValueError(f"Expected parameters that broadcast to {made.shape}, got {beta!r}.")
        return arithmetic.maximum(convert_to_tensor(np.finfo(kind.np).tiny, kind), arithmetic.truediv(made, beta))


def stateless_poisson(shape: Any, seed: Any, lam: Any, dtype: Any = int32, name: str | None = None) -> Tensor:
    """Values of Poisson distributions of the rates ``lam``, which are broadcast to ``shape``."""
    with get_default_graph().name_scope(name or "stateless_poisson") as scope:
        return _drawn(
            "StatelessRandomPoisson", shape, seed, as_dtype(dtype), [convert_to_tensor(lam, name="rate")], scope
        )


def stateless_binomial(
    shape: Any, seed: Any, counts: Any, probs: Any, output_dtype: Any = int32, name: str | None = None
) -> Tensor:
    """Numbers of successes in ``counts`` trials, each with probability ``probs``; both are broadcast to ``shape``.

    Raises:
      TypeError: counts and probabilities of different element types.
      ValueError: parameters that do not broadcast to ``shape``.
    """
    with get_default_graph().name_scope(name or "stateless_binomial") as scope:
        parameters = convert_pair(counts, probs, noun="counts and probs")
        return _drawn("StatelessRandomBinomial", shape, seed, as_dtype(output_dtype), parameters, scope)


def stateless_parameterized_truncated_normal(
    shape: Any, seed: Any, means: Any = 0.0, stddevs: Any = 1.0, minvals: Any = -2.0, maxvals: Any = 2.0,
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """Values of normal distributions within ``[minvals, maxvals]``; the parameters are broadcast to ``shape``."""
    with get_default_graph().name_scope(name or "stateless_parameterized_truncated_normal") as scope:
        mean = convert_to_tensor(means, name="means")
        others = [convert_to_tensor(v, mean.dtype) for v in (stddevs, minvals, maxvals)]
        return _drawn("StatelessParameterizedTruncatedNormal", shape, seed, mean.dtype, [mean, *others], scope)


def fold_in(seed: Any, data: Any, alg: Any = "auto_select") -> Tensor:
    """A new seed from a seed (two integers) and an integer; of the integer's element type."""
    data = convert_to_tensor(data)
    drawn = stateless_uniform([], seed, None, None, data.dtype, alg=alg)
    return arrays.stack([drawn, data])


def split(seed: Any, num: Any = 2, alg: Any = "auto_select") -> Tensor:
    """``[num, 2]``: new seeds from a seed (two integers), of its element type."""
    seed = convert_to_tensor(seed)
    return stateless_uniform([num, 2], seed, None, None, seed.dtype, alg=alg)


def _shuffle(seed: Any, value: Any) -> Any:
    order = jax.random.permutation(key_of(seed), np.arange(value.shape[0], dtype=np.int32))
    return jnp.take(value, order, axis=0, mode="clip")


def _shuffle_rule(inputs: Sequence[Any], attrs: Mapping[str, Any]) -> list[Signature]:
    check_seed(inputs[0])
    if inputs[1].dims == ():
        raise ValueError(f"Expected a value of at least one dimension, got {inputs[1]!r}.")
    return [Signature(inputs[1].dtype, inputs[1].dims)]


define_op("StatelessShuffle", _shuffle_rule, _shuffle, differentiable=False)


def stateless_shuffle(value: Any, seed: Any, alg: Any = "auto_select", name: str | None = None) -> Tensor:
    """The rows of a tensor in an order that depends on ``seed`` (two integers) and their number only."""
    algorithm(alg)
    inputs = [convert_to_tensor(seed, name="seed"), convert_to_tensor(value, name="value")]
    return add_op("StatelessShuffle", inputs, None, name or "stateless_shuffle")
