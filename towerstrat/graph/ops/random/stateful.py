"""Random operations: the key of each execution is made of seeds and of a counter in the session's state."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from numbers import Number
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from towerstrat.graph.ir import shapes
from towerstrat.graph.ir.check_definitions import CheckResult, InputCheck
from towerstrat.graph.ir.constant_folding import constant_value, constant_value_as_dims
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.graph.ir.mesh import alike
from towerstrat.graph.ir.node_writer import NodeWriter
from towerstrat.graph.ir.op_registry import Signature, define_op
from towerstrat.graph.ir.shapes import Dims, TensorShape, size_at
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.graph.ir.types import Array, DType, as_dtype, float32, int32, int64
from towerstrat.graph.lowering import input_checks
from towerstrat.graph.ops.building.op_builder import add_op
from towerstrat.graph.ops.math import arithmetic
from towerstrat.graph.ops.random import host_draws as draws

_DEFAULT_GRAPH_SEED = 87654321
_SEED_LIMIT = 2**31 - 1
"""(key, shape, dtype) -> values of a distribution without parameters."""


# ---- seeds -------------------------------------------------------------------------------------------------------


def set_random_seed(seed: int | None) -> None:
    """Sets the graph's seed: random operations made after it repeat in each session of the same program."""
    get_default_graph().seed = seed


def get_seed(op_seed: int | None) -> tuple[int | None, int | None]:
    """(graph seed, operation seed) by the rules of ``get_seed`` in TensorFlow's ``random_seed.py``.

    (None, None) where neither is set.
    """
    graph = get_default_graph()
    if graph.seed is None and op_seed is None:
        return None, None
    if graph.seed is None:
        seeds = (_DEFAULT_GRAPH_SEED, int(op_seed) % _SEED_LIMIT)  # type: ignore[arg-type]
    else:
        own = len(graph.get_operations()) if op_seed is None else int(op_seed)
        seeds = (graph.seed % _SEED_LIMIT, own % _SEED_LIMIT)
    return (0, _SEED_LIMIT) if seeds == (0, 0) else seeds


def seeds(op_seed: Any) -> tuple[int | None, int | None]:
    """The attribute "seeds" of a new random operation: (graph seed, operation seed)."""
    return get_default_graph().seed, None if op_seed is None else int(op_seed)


# ---- shapes of results -------------------------------------------------------------------------------------------


def shape_argument(shape: Any) -> tuple[list[Tensor], Dims]:
    """A shape argument as (inputs, the attribute "shape") of a random operation.

    Integers become the attribute. A tensor becomes an input, whose value must be known while lowering.

    Raises:
      ValueError: a shape that is not fully known, or negative sizes.
    """
    if isinstance(shape, Tensor):
        return [shape], None
    if isinstance(shape, TensorShape):
        if not shape.is_fully_defined():
            raise ValueError(f"Expected a fully defined shape, got {shape}. Use tf.shape(x) for one that is not.")
        return [], shape.raw
    entries = [shape] if isinstance(shape, int | np.integer | shapes.Dimension) else shape
    if isinstance(entries, np.ndarray):
        entries = entries.tolist()
    plain = []
    for entry in entries if isinstance(entries, list | tuple) else [None]:
        value = entry.value if isinstance(entry, shapes.Dimension) else entry
        if not isinstance(value, int | np.integer) or isinstance(value, bool):
            return [convert_to_tensor(shape, int32, name="shape")], None
        plain.append(int(value))
    if any(d < 0 for d in plain):
        raise ValueError(f"Expected a shape of sizes of at least 0, got {plain}.")
    return [], tuple(plain)


def result_dims(inputs: Sequence[Tensor], attrs: Mapping[str, Any]) -> Dims:
    """The partially known shape of the result, from the pair that ``shape_argument`` returned."""
    if attrs["shape"] is not None:
        return attrs["shape"]
    if inputs[0].dims is not None and len(inputs[0].dims) != 1:
        raise ValueError(f"Expected a shape of rank 1, got {inputs[0]!r}.")
    return constant_value_as_dims(inputs[0])


def sizes(shape: Dims, given: Sequence[Array]) -> tuple[int, ...]:
    """The shape of the result for a kernel, from the attribute, or the value of the input where that is None."""
    return tuple(int(d) for d in (given[0] if shape is None else shape))  # type: ignore[arg-type]


def _drawn(inputs: Sequence[Tensor], attrs: Mapping[str, Any]) -> list[Signature]:
    return [Signature(attrs["dtype"], result_dims(inputs, attrs))]


def _draw(function: draws.Draw) -> Callable[..., Array]:
    def kernel(key: Array, *given: Array, shape: Dims, dtype: DType, low: float = 0, factor: float = 1) -> Array:
        return draws.draw(function, key, sizes(shape, given), dtype.np, factor, low)

    return kernel


def _uniform(key: Array, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    return jax.random.uniform(key, shape, dtype)


def _normal(key: Array, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    return jax.random.normal(key, shape, dtype)


def _truncated_normal(key: Array, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    return jax.random.truncated_normal(key, np.asarray(-2, dtype), np.asarray(2, dtype), shape, dtype)


def _drawn_nodes(writer: NodeWriter, op: Operation) -> None:
    """The original draws in [0, 1) or of the standard normal distribution, and scales the values behind it."""
    if "low" not in op.attrs:
        writer.write_same(op)
        return
    dtype = op.outputs[0].dtype
    values = writer.write_same(op, op.type)
    factor, low = (writer.constant(name, op.attrs[name], dtype) for name in ("factor", "low"))
    writer.node("", "Add", [writer.node("mul", "Mul", [values, factor], T=dtype), low], T=dtype)


_RAW = (("RandomUniform", _uniform), ("RandomStandardNormal", _normal), ("TruncatedNormal", _truncated_normal))
for _type, _function in _RAW:
    define_op(
        _type, _drawn, _draw(_function), static=(0,), random=True, differentiable=False, needs_no_compile=True,
        nodes=_drawn_nodes,
    )  # fmt: skip


def _uniform_int_rule(inputs: Sequence[Tensor], attrs: Mapping[str, Any]) -> list[Signature]:
    bounds = [constant_value(t) for t in inputs[:2]]
    if bounds[0] is not None and bounds[1] is not None and bounds[0].ndim == 0 and bounds[0] >= bounds[1]:
        raise ValueError(f"Need minval < maxval, got {bounds[0]} >= {bounds[1]}.")
    return [Signature(attrs["dtype"], result_dims(inputs[2:], attrs))]


def _uniform_int(key: Array, low: Array, high: Array, *given: Array, shape: Dims, dtype: DType) -> Array:
    return jax.random.randint(key, sizes(shape, given), low, high, dtype.np)


def _check_bounds(op: Operation, values: Sequence[Any]) -> CheckResult | None:
    low, high = values[:2]
    return input_checks.first_of(
        low >= high, low, high, message=lambda _, low, high: f"Need minval < maxval, got {int(low)} >= {int(high)}"
    )


define_op(
    "RandomUniformInt", _uniform_int_rule, _uniform_int, static=(2,), random=True, differentiable=False,
    check=InputCheck(_check_bounds, (0, 1)),
)  # fmt: skip


def _affine(type: str, name: str, shape: Any, low: Any, factor: Any, dtype: DType, seed: Any) -> Tensor:
    """Values of the distribution ``type`` times ``factor`` plus ``low``; in one operation where both are numbers."""
    if not dtype.is_floating:
        raise TypeError(f"Expected a floating dtype, got {dtype.name}.")
    inputs, dims = shape_argument(shape)
    attrs = {"shape": dims, "dtype": dtype, "seeds": seeds(seed)}
    if isinstance(low, Number | np.generic) and isinstance(factor, Number | np.generic):
        return add_op(type, inputs, attrs | {"low": float(low), "factor": float(factor)}, name)  # type: ignore[arg-type]
    with get_default_graph().name_scope(name) as scope:
        raw = add_op(type, inputs, attrs, type)
        scaled = arithmetic.multiply(raw, convert_to_tensor(factor, dtype))
        return arithmetic.add(scaled, convert_to_tensor(low, dtype), name=scope)


def random_uniform(
    shape: Any, minval: Any = 0, maxval: Any = None, dtype: Any = float32, seed: int | None = None,
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """Uniformly distributed values in ``[minval, maxval)``.

    Args:
      shape: integers, or an integer tensor known while lowering.
      maxval: 1 by default; integers need it.
      dtype: floating, int32 or int64.

    Raises:
      ValueError: integers without ``maxval``, or an empty range.
    """
    kind = as_dtype(dtype)
    if kind not in (int32, int64):
        if not kind.is_floating:
            raise ValueError(f"Expected dtype float16, bfloat16, float32, float64, int32 or int64, got {kind.name}.")
        high = 1 if maxval is None else maxval
        if isinstance(minval, Number | np.generic) and isinstance(high, Number | np.generic):
            return _affine("RandomUniform", name or "random_uniform", shape, minval, high - minval, kind, seed)  # type: ignore[operator]
        low = convert_to_tensor(minval, kind)
        spread = arithmetic.subtract(convert_to_tensor(high, kind), low)
        return _affine("RandomUniform", name or "random_uniform", shape, low, spread, kind, seed)
    if maxval is None:
        raise ValueError(f"Must specify maxval for integer dtype {kind.name}.")
    inputs, dims = shape_argument(shape)
    with get_default_graph().name_scope(name or "random_uniform") as scope:
        bounds = [convert_to_tensor(minval, kind, name="min"), convert_to_tensor(maxval, kind, name="max")]
        attrs = {"shape": dims, "dtype": kind, "seeds": seeds(seed)}
        return add_op("RandomUniformInt", [*bounds, *inputs], attrs, scope)


def random_normal(
    shape: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = float32, seed: int | None = None,
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """Normally distributed values."""
    return _affine("RandomStandardNormal", name or "random_normal", shape, mean, stddev, as_dtype(dtype), seed)


def truncated_normal(
    shape: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = float32, seed: int | None = None,
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """Normally distributed values, truncated at two standard deviations from the mean."""
    return _affine("TruncatedNormal", name or "truncated_normal", shape, mean, stddev, as_dtype(dtype), seed)


# ---- shuffling, cropping, choosing -------------------------------------------------------------------------------


def _same(inputs: Sequence[Tensor], attrs: Mapping[str, Any]) -> list[Signature]:
    return [Signature(inputs[0].dtype, inputs[0].dims)]


def _shuffle(key: Array, x: Array) -> Array:
    if not x.ndim:
        return x
    order = jax.random.permutation(key, np.arange(x.shape[0], dtype=np.int32))
    if x.dtype == object:  # Strings, which JAX does not take: the run goes operation by operation.
        return x[np.asarray(order)]
    return jnp.take(x, order, axis=0, mode="clip")


define_op("RandomShuffle", _same, _shuffle, random=True, differentiable=False)


def random_shuffle(value: Any, seed: int | None = None, name: str | None = None) -> Tensor:
    """A tensor with its rows (along dimension 0) in random order."""
    return add_op("RandomShuffle", [convert_to_tensor(value, name="value")], {"seeds": seeds(seed)}, name)


def _crop_rule(inputs: Sequence[Tensor], attrs: Mapping[str, Any]) -> list[Signature]:
    x, dims = inputs[0], attrs["size"]
    if dims is None:
        dims = constant_value_as_dims(inputs[2])
    if x.dims is not None and dims is not None:
        if len(x.dims) != len(dims):
            raise ValueError(f"Expected a size of {len(x.dims)} entries (the rank of the value), got {list(dims)}.")
        if any(a is not None and b is not None and b > a for a, b in zip(x.dims, dims, strict=True)):
            raise ValueError(f"Need value.shape >= size, got {TensorShape(x.dims)} and {list(dims)}.")
    return [Signature(x.dtype, dims)]


def _crop(x: Array, draws: Array, *given: Array, size: Dims) -> Array:
    wanted = sizes(size, given)
    if any(b > a for a, b in zip(x.shape, wanted, strict=True)):
        raise ValueError(f"Need value.shape >= size, got {x.shape} and {wanted}.")
    limits = np.array([a - b + 1 for a, b in zip(x.shape, wanted, strict=True)], np.int32)
    return lax.dynamic_slice(x, tuple(jnp.remainder(draws, limits)), wanted)


define_op("RandomCrop", _crop_rule, _crop, static=(2,))


def random_crop(value: Any, size: Any, seed: int | None = None, name: str | None = None) -> Tensor:
    """A slice of the given size at a random offset.

    Args:
      size: one integer per dimension, none above the value's.

    Raises:
      ValueError: a size that does not fit.
    """
    with get_default_graph().name_scope(name or "random_crop") as scope:
        value = convert_to_tensor(value, name="value")
        inputs, dims = shape_argument(size)
        rank = len(dims) if dims is not None else size_at(inputs[0].dims, 0)
        if rank is None:
            raise ValueError("The length of size must be known while the graph is built.")
        draws = random_uniform([rank], 0, _SEED_LIMIT, int32, seed)
        return add_op("RandomCrop", [value, draws, *inputs], {"size": dims}, scope)


def _multinomial_rule(inputs: Sequence[Tensor], attrs: Mapping[str, Any]) -> list[Signature]:
    dims = inputs[0].dims
    if dims is not None and len(dims) != 2:
        raise ValueError(f"Expected logits of shape [batch, classes], got {TensorShape(dims)}.")
    count = constant_value(inputs[1])
    return [Signature(attrs["dtype"], (None if dims is None else dims[0], None if count is None else int(count)))]


def _multinomial(key: Array, logits: Array, count: Array, *, dtype: DType) -> Array:
    wide = logits.astype(jnp.float64 if logits.dtype == np.float64 else jnp.float32)
    noise = jax.random.gumbel(key, (wide.shape[0], int(count), wide.shape[1]), wide.dtype)
    return lax.argmax(wide[:, None, :] + noise, 2, dtype.np)


define_op("Multinomial", _multinomial_rule, _multinomial, static=(1,), random=True, differentiable=False)


def multinomial(
    logits: Any, num_samples: Any, seed: int | None = None, name: str | None = None, output_dtype: Any = None
) -> Tensor:
    """Draws classes with probabilities ``softmax(logits)``: ``[batch, num_samples]``, by the Gumbel-max trick.

    Args:
      logits: ``[batch, classes]``.
      num_samples: an integer.
      output_dtype: int64 by default, or int32.
    """
    kind = int64 if output_dtype is None else as_dtype(output_dtype)
    with get_default_graph().name_scope(name or "multinomial"):
        inputs = [convert_to_tensor(logits, name="logits"), convert_to_tensor(num_samples, int32, name="num_samples")]
        return add_op("Multinomial", inputs, {"dtype": kind, "seeds": seeds(seed)}, "Multinomial")


def categorical(
    logits: Any, num_samples: Any, dtype: Any = None, seed: int | None = None, name: str | None = None
) -> Tensor:
    """``multinomial`` under its later name."""
    return multinomial(logits, num_samples, seed, name or "categorical", dtype)


# ---- other distributions -----------------------------------------------------------------------------------------


def _per_parameter(inputs: Sequence[Tensor], attrs: Mapping[str, Any]) -> list[Signature]:
    outer, inner = result_dims(inputs[1:], attrs), inputs[0].dims
    return [Signature(attrs["dtype"], None if outer is None or inner is None else outer + inner)]


def _gamma(key: Array, alpha: Array, *given: Array, shape: Dims, dtype: DType) -> Array:
    return jax.random.gamma(key, alpha, sizes(shape, given) + alpha.shape, dtype.np)


def _poisson(key: Array, lam: Array, *given: Array, shape: Dims, dtype: DType) -> Array:
    _, lam = alike(jax.random.key_data(key), lam)
    return jax.random.poisson(key, lam, sizes(shape, given) + lam.shape, np.int64).astype(dtype.np)


define_op("RandomGamma", _per_parameter, _gamma, static=(1,), random=True)
define_op("RandomPoissonV2", _per_parameter, _poisson, static=(1,), random=True, differentiable=False)


def random_gamma(
    shape: Any, alpha: Any, beta: Any = None, dtype: Any = float32, seed: int | None = None, name: str | None = None
) -> Tensor:
    """Gamma distributed values: ``[*shape, *broadcast(alpha, beta).shape]``. Differentiable by the parameters.

    Args:
      alpha: shape parameters.
      beta: inverse scales, 1 by default; broadcast with ``alpha``.
    """
    kind = as_dtype(dtype)
    with get_default_graph().name_scope(name or "random_gamma"):
        alpha = convert_to_tensor(alpha, kind, name="alpha")
        beta = convert_to_tensor(1 if beta is None else beta, kind, name="beta")
        if beta.dims != ():
            alpha = arithmetic.add(alpha, arithmetic.multiply(beta, convert_to_tensor(0, kind)))
        inputs, dims = shape_argument(shape)
        attrs = {"shape": dims, "dtype": kind, "seeds": seeds(seed)}
        made = arithmetic.truediv(add_op("RandomGamma", [alpha, *inputs], attrs), beta)
        return arithmetic.maximum(convert_to_tensor(np.finfo(kind.np).tiny, kind), made, name="Maximum")


def random_poisson(
    lam: Any, shape: Any, dtype: Any = float32, seed: int | None = None, name: str | None = None
) -> Tensor:
    """Poisson distributed values with the rates ``lam``: ``[*shape, *lam.shape]``."""
    kind = as_dtype(dtype)
    with get_default_graph().name_scope(name or "random_poisson"):
        lam = convert_to_tensor(lam, float32 if not hasattr(lam, "dtype") else None, name="rate")
        inputs, dims = shape_argument(shape)
        attrs = {"shape": dims, "dtype": kind, "seeds": seeds(seed)}
        return add_op("RandomPoissonV2", [lam, *inputs], attrs)


# ---- without state -----------------------------------------------------------------------------------------------


def check_seed(seed: Tensor) -> None:
    """Raises ValueError unless a tensor is a vector of two integers."""
    if not seed.dtype.is_integer or not TensorShape(seed.dims).is_compatible_with([2]):
        raise ValueError(f"Expected a seed of two integers, got {seed!r}.")


def _stateless_rule(inputs: Sequence[Tensor], attrs: Mapping[str, Any]) -> list[Signature]:
    check_seed(inputs[0])
    return [Signature(attrs["dtype"], result_dims(inputs[1:], attrs))]


def key_of(seed: Array) -> jax.Array:
    """The threefry key of a seed ``[2]``. The upper halves of 64-bit seeds are mixed into the two 32-bit words."""
    known = not isinstance(seed, jax.core.Tracer)
    wide = (np if known else jnp).asarray(seed).astype(np.int64)  # by numpy where it can be: that compiles nothing
    high = (wide >> np.int64(32)).astype(np.uint32)
    return jax.random.wrap_key_data(wide.astype(np.uint32) ^ high * np.uint32(0x9E3779B9), impl="threefry2x32")


def _stateless(function: draws.Draw) -> Callable[..., Array]:
    def kernel(seed: Array, *given: Array, shape: Dims, dtype: DType) -> Array:
        return draws.draw(function, key_of(seed), sizes(shape, given), dtype.np, 1, 0)

    return kernel


for _type, _function in _RAW:
    _type = "Stateless" + _type.replace("Standard", "")
    define_op(_type, _stateless_rule, _stateless(_function), static=(1,), differentiable=False, needs_no_compile=True)


def _stateless_affine(
    type: str, name: str | None, default: str, shape: Any, seed: Any, low: Any, factor: Any, dtype: Any
) -> Tensor:
    kind = as_dtype(dtype)
    with get_default_graph().name_scope(name or default) as scope:
        inputs, dims = shape_argument(shape)
        raw = add_op(type, [convert_to_tensor(seed), *inputs], {"shape": dims, "dtype": kind})
        return arithmetic.add(
            arithmetic.multiply(raw, convert_to_tensor(factor, kind)), convert_to_tensor(low, kind), name=scope
        )


def stateless_random_uniform(
    shape: Any, seed: Any, minval: Any = 0, maxval: Any = None, dtype: Any = float32, name: str | None = None
) -> Tensor:
    """Uniformly distributed values in ``[minval, maxval)``, a function of ``seed`` (two integers) and shape."""
    kind = as_dtype(dtype)
    low = convert_to_tensor(minval, kind)
    spread = arithmetic.subtract(convert_to_tensor(1 if maxval is None else maxval, kind), low)
    return _stateless_affine("StatelessRandomUniform", name, "stateless_random_uniform", shape, seed, low, spread, kind)


def stateless_random_normal(
    shape: Any, seed: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = float32, name: str | None = None
) -> Tensor:
    """Normally distributed values, a function of ``seed`` (two integers) and shape."""
    return _stateless_affine("StatelessRandomNormal", name, "stateless_random_normal", shape, seed, mean, stddev, dtype)


def stateless_truncated_normal(
    shape: Any, seed: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = float32, name: str | None = None
) -> Tensor:
    """Normally distributed values truncated at two standard deviations, a function of ``seed`` and shape."""
    return _stateless_affine(
        "StatelessTruncatedNormal", name, "stateless_truncated_normal", shape, seed, mean, stddev, dtype
    )


def _stateless_multinomial(logits: Array, count: Array, seed: Array, *, dtype: DType) -> Array:
    return _multinomial(key_of(seed), logits, count, dtype=dtype)


define_op("StatelessMultinomial", _multinomial_rule, _stateless_multinomial, static=(1,), differentiable=False)


def stateless_multinomial(
    logits: Any, num_samples: Any, seed: Any, output_dtype: Any = int64, name: str | None = None
) -> Tensor:
    """As ``multinomial``, a function of ``seed`` (two integers) and the logits."""
    with get_default_graph().name_scope(name or "stateless_multinomial"):
        inputs = [
            convert_to_tensor(logits, name="logits"),
            convert_to_tensor(num_samples, int32, name="num_samples"),
            convert_to_tensor(seed, name="seed"),
        ]
        return add_op("StatelessMultinomial", inputs, {"dtype": as_dtype(output_dtype)})
