"""Sums, means, extremes and other values of whole dimensions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from towerstrat.graph.ir.argument_types import AxesLike, AxisLike
from towerstrat.graph.ir.composite_values import Convertible, Partitioned
from towerstrat.graph.ir.constant_folding import constant_value
from towerstrat.graph.ir.given_arguments import check_given, one_of
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.integer_arguments import Axes, integers
from towerstrat.graph.ir.numerics_version import ORIGINAL
from towerstrat.graph.ir.op_registry import Derivative, Function, Signature, define_op
from towerstrat.graph.ir.shapes import Dims
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.graph.ir.types import as_dtype, int32, int64
from towerstrat.graph.ops.array.arrays import stop_gradient, where
from towerstrat.graph.ops.building.axis_inputs import along, define_along, known_axis, normal_axis, unary_along
from towerstrat.graph.ops.building.node_expansion import expansion
from towerstrat.graph.ops.building.numpy_kernels import cumulative, form, truncated_quotient
from towerstrat.graph.ops.building.op_builder import add_op, reserve_name
from towerstrat.graph.ops.math.arithmetic import add, cast, conj, exp, is_finite, log, not_equal, real, sqrt, square
from towerstrat.graph.ops.math.elementwise import KINDS

Inputs = Sequence[Any]
Attrs = Mapping[str, Any]


def _rule(kind: str) -> Callable[[Inputs, Attrs], list[Signature]]:
    words, fits = KINDS[kind]

    def rule(inputs: Inputs, attrs: Attrs) -> list[Signature]:
        x = inputs[0]
        if not fits(x.dtype):
            raise TypeError(f"Expected {words}, got {x.dtype.name} ({x.name}). Use tf.cast.")
        axes: Any = attrs["axis"]
        if len(inputs) > 1:
            found = constant_value(inputs[1])
            if found is None:
                unknown = attrs["keepdims"] and x.dims is not None
                return [Signature(x.dtype, (None,) * len(x.dims) if unknown else None)]
            axes = tuple(int(a) for a in found.ravel())
        return [Signature(x.dtype, _reduced(x.dims, axes, attrs["keepdims"]))]

    return rule


def _reduced(dims: Dims, axes: Axes, keepdims: bool) -> Dims:
    if dims is None:
        return () if axes is None and not keepdims else None
    gone = set(range(len(dims))) if axes is None else {normal_axis(a, len(dims), "reduction axis") for a in axes}
    if keepdims:
        return tuple(1 if i in gone else d for i, d in enumerate(dims))
    return tuple(d for i, d in enumerate(dims) if i not in gone)


Reduce = Callable[..., Any]
"""(x, axes, numpy or jax.numpy, attributes of its own) -> the reduced value."""


def _kernel(reduce: Reduce, numpy: Any) -> Callable[..., Any]:
    """``reduce(x, axes, numpy)`` with the axes of an attribute or a second input."""

    def kernel(x: Any, given: Any = None, *, axis: Axes, keepdims: bool, **own: Any) -> Any:
        axes = _chosen(x.ndim, axis, given)
        result = reduce(x, axes, numpy, **own)
        return numpy.expand_dims(result, axes) if keepdims else result

    return kernel


def _chosen(rank: int, axis: Axes, given: Any) -> tuple[int, ...]:
    """The reduced dimensions, sorted, from the attribute or the second input (``given``)."""
    if given is not None:
        axis = tuple(int(a) for a in np.ravel(given))
    return tuple(range(rank)) if axis is None else tuple(sorted({normal_axis(a, rank) for a in axis}))


def _sum(x: Any, axes: tuple[int, ...], numpy: Any) -> Any:
    return numpy.sum(x, axis=axes, dtype=x.dtype)


def _prod(x: Any, axes: tuple[int, ...], numpy: Any) -> Any:
    return numpy.prod(x, axis=axes, dtype=x.dtype)


def _mean(x: Any, axes: tuple[int, ...], numpy: Any, wide: bool = False) -> Any:
    count = 1
    for axis in axes:
        count *= x.shape[axis]
    if not jnp.issubdtype(x.dtype, jnp.integer):
        return _sum(x, axes, numpy) / np.asarray(count, x.dtype)
    kind = np.dtype(f"{np.dtype(x.dtype).kind}8") if wide else x.dtype
    # The compiler dies of a constant that is divided by zero.
    divisor = np.asarray(max(count, 1)).astype(kind)
    if divisor == 0:
        raise ValueError(f"The mean of {count} elements cannot be computed in {x.dtype}: use tf.cast first.")
    total = numpy.sum(x, axis=axes, dtype=kind)
    if numpy is np:
        return truncated_quotient(total, divisor).astype(x.dtype)
    return lax.div(total, jnp.broadcast_to(divisor, total.shape)).astype(x.dtype)


def _limit(x: Any, sign: int) -> Any:
    """The largest (sign -1) or smallest of no elements."""
    if jnp.issubdtype(x.dtype, jnp.integer):
        return np.iinfo(x.dtype).min if sign < 0 else np.iinfo(x.dtype).max
    return np.asarray(sign * np.inf, x.dtype)


def _max(x: Any, axes: tuple[int, ...], numpy: Any) -> Any:
    return np.max(x, axis=axes, initial=_limit(x, -1)) if numpy is np else lax.reduce_max(jnp.asarray(x), axes)


def _min(x: Any, axes: tuple[int, ...], numpy: Any) -> Any:
    return np.min(x, axis=axes, initial=_limit(x, 1)) if numpy is np else lax.reduce_min(jnp.asarray(x), axes)


def _extreme_gradient(
    inputs: Sequence[Any], outputs: Sequence[Any], cotangents: Sequence[Any], *, axis: Axes, keepdims: bool
) -> list[Any]:
    """The formula of Max and Min: elements that equal the output share its cotangent evenly."""
    x, *given = inputs
    axes = _chosen(x.ndim, axis, given[0] if given else None)
    y, g = (v if keepdims else jnp.expand_dims(v, axes) for v in (outputs[0], cotangents[0]))
    chosen = x == y
    # Where nothing equals the output (it is NaN, or fed) this is not a number everywhere.
    share = g / jnp.sum(chosen.astype(x.dtype), axes, keepdims=True)
    return [jnp.where(chosen, share, share * np.zeros((), x.dtype)), *(None for _ in given)]


def _all(x: Any, axes: tuple[int, ...], numpy: Any) -> Any:
    return numpy.all(x, axis=axes)


def _any(x: Any, axes: tuple[int, ...], numpy: Any) -> Any:
    return numpy.any(x, axis=axes)


def _define(
    type: str, kind: str, reduce: Function, gradient: Function | None = None, derivative: Derivative = "general",
    additive: bool = False,
) -> None:  # fmt: skip
    """Register a reduction of numbers of a kind, or of bools."""
    define_op(
        type, _rule(kind), _kernel(reduce, jnp), static=(1,), differentiable=kind != "bool",
        numpy=form(_kernel(reduce, np)), numpy_takes_objects=reduce is _prod, gradient=gradient,
        derivative=derivative, additive=additive,
    )  # fmt: skip


_define("Sum", "number", _sum, derivative="linear", additive=True)
_define("Prod", "number", _prod)
_define("Mean", "number", _mean, derivative="linear", additive=True)
_define("Max", "real", _max, _extreme_gradient, derivative="linear")
_define("Min", "real", _min, _extreme_gradient, derivative="linear")
_define("All", "bool", _all)
_define("Any", "bool", _any)


def _axes(axis: AxesLike) -> Axes | Tensor:
    """A reduction's axes: None (all), a tuple, or a tensor whose value is not known yet."""
    parts = axis if isinstance(axis, list | tuple) else [axis]
    if axis is not None and any(isinstance(a, Tensor | Convertible) for a in parts):
        axis = convert_to_tensor(axis)
    if isinstance(axis, Tensor) and constant_value(axis) is None:
        return axis
    return integers(axis)


def reduce(type: str, x: Any, axis: AxesLike, keepdims: Any, name: str | None) -> Any:
    """A reduction of a value. The name that the original gives to the list of all axes is used up as there."""
    graph = get_default_graph()
    if not isinstance(x, Tensor):
        if isinstance(x, Partitioned):
            return x._reduced(type, axis, bool(keepdims), name)
        x = convert_to_tensor(x, name="input_tensor")
    axes = _axes(axis)
    if axes is None and x.dims is not None and axis is None:
        graph.unique_name("Const")
    attrs = {"axis": None if isinstance(axes, Tensor) else axes, "keepdims": bool(keepdims)}
    if type == "Mean" and x.dtype.is_integer and ORIGINAL.later:
        attrs["wide"] = True
    return graph.add(type, (x, axes) if isinstance(axes, Tensor) else (x,), attrs, name or type).outputs[0]


def _reduction(type: str, name: str, words: str) -> Callable[..., Tensor]:
    def function(
        input_tensor: Any, axis: AxesLike = None, keepdims: bool | None = None, name: str | None = None,
        reduction_indices: Any = None, keep_dims: bool | None = None,
    ) -> Tensor:  # fmt: skip
        axis = one_of(axis, reduction_indices, "axis", "reduction_indices")
        return reduce(type, input_tensor, axis, one_of(keepdims, keep_dims, "keepdims", "keep_dims"), name)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = (
        f"{words} along dimensions: an integer, a list, or all of them by default.\n\n"
        "``keepdims`` keeps them with size 1. ``reduction_indices`` and ``keep_dims`` are old names."
    )
    return function


reduce_sum = _reduction("Sum", "reduce_sum", "The sum")
reduce_mean = _reduction("Mean", "reduce_mean", "The mean (of integers: without its fraction; of nothing: NaN)")
reduce_prod = _reduction("Prod", "reduce_prod", "The product")
reduce_max = _reduction("Max", "reduce_max", "The maximum (its gradient is shared equally in a tie)")
reduce_min = _reduction("Min", "reduce_min", "The minimum (its gradient is shared equally in a tie)")
reduce_all = _reduction("All", "reduce_all", "Whether all are true")
reduce_any = _reduction("Any", "reduce_any", "Whether any is true")


def reduce_logsumexp(
    input_tensor: Any, axis: AxesLike = None, keepdims: bool | None = None, name: str | None = None,
    reduction_indices: Any = None, keep_dims: bool | None = None,
) -> Tensor:  # fmt: skip
    """log(sum(exp(x))) along dimensions, without overflow."""
    axis = one_of(axis, reduction_indices, "axis", "reduction_indices")
    keep = bool(one_of(keepdims, keep_dims, "keepdims", "keep_dims"))
    with get_default_graph().name_scope(name or "ReduceLogSumExp"):
        x = convert_to_tensor(input_tensor)
        raw = reduce_max(x, axis, True)
        largest = stop_gradient(where(is_finite(raw), raw, add_op("ZerosLike", (raw,))))
        result = log(reduce_sum(exp(x - largest), axis, keep))
        if not keep:
            largest = reduce("SumOfOne", largest, axis, False, None)
        return add(result, largest)


def _drop(x: Any, axes: tuple[int, ...], numpy: Any) -> Any:
    return numpy.squeeze(x, axes)


define_op(
    "SumOfOne",
    _rule("number"),
    _kernel(_drop, jnp),
    static=(1,),
    numpy=form(_kernel(_drop, np)),
    derivative="linear",
    nodes=expansion(lambda x, *late, axis, keepdims: reduce_sum(x, *(late or (axis,)), keepdims=keepdims)),
)


def count_nonzero(
    input_tensor: Any = None, axis: AxesLike = None, keepdims: bool | None = None, dtype: Any = int64,
    name: str | None = None, reduction_indices: Any = None, keep_dims: bool | None = None, input: Any = None,
) -> Tensor:  # fmt: skip
    """Number of elements that are not zero, along dimensions.

    ``input_tensor``, ``reduction_indices`` and ``keep_dims`` are old names of ``input``, ``axis`` and ``keepdims``.
    """
    input_tensor = one_of(input, input_tensor, "input", "input_tensor")
    check_given("count_nonzero", input=input_tensor)
    axis = one_of(axis, reduction_indices, "axis", "reduction_indices")
    keep = one_of(keepdims, keep_dims, "keepdims", "keep_dims")
    with get_default_graph().name_scope(name or "count_nonzero"):
        x = convert_to_tensor(input_tensor, name="input_tensor")
        zero = convert_to_tensor(np.zeros((), x.dtype.np), x.dtype)
        found = not_equal(x, zero)
        return cast(reduce_sum(cast(found, int64, "ToInt64"), axis, keep), dtype)


def reduce_variance(
    input_tensor: Any, axis: AxesLike = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """The mean squared distance to the mean, along dimensions; real of complex numbers too.

    Raises:
      TypeError: integers.
    """
    with get_default_graph().name_scope(name or "reduce_variance"):
        x = convert_to_tensor(input_tensor)
        if x.dtype.is_integer or x.dtype.is_bool:
            raise TypeError(f"Expected floating or complex input, got {x.dtype.name}. Use tf.cast.")
        apart = x - reduce_mean(x, axis, keepdims=True)
        squares = real(apart * conj(apart)) if x.dtype.is_complex else square(apart)
        return reduce_mean(squares, axis, keepdims=keepdims)


def reduce_std(input_tensor: Any, axis: AxesLike = None, keepdims: bool = False, name: str | None = None) -> Tensor:
    """The square root of ``reduce_variance``."""
    with get_default_graph().name_scope(name or "reduce_std"):
        return sqrt(reduce_variance(input_tensor, axis, keepdims))


def reduce_euclidean_norm(
    input_tensor: Any, axis: AxesLike = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """The square root of the sum of squares, along dimensions."""
    with get_default_graph().name_scope(name or "EuclideanNorm"):
        return sqrt(reduce_sum(square(convert_to_tensor(input_tensor)), axis, keepdims=keepdims))


# ---- where the extreme is ------------------------------------------------------------------------------------------


def _arg_rule(inputs: Inputs, attrs: Attrs) -> list[Signature]:
    x = inputs[0]
    if not (x.dtype.is_floating or x.dtype.is_integer):
        raise TypeError(f"Expected a real numeric type, got {x.dtype.name} ({x.name}). Use tf.cast.")
    if x.dims is not None and not x.dims:
        raise ValueError("Expected a tensor of rank 1 or higher, got a scalar.")
    return [Signature(attrs["output_type"], _reduced(x.dims, (attrs["axis"],), False))]


def _arg(sign: int, numpy: Any) -> Callable[..., Any]:
    """The kernel of the largest (sign 1) or smallest (-1); NaNs are passed over."""

    def kernel(x: Any, *, axis: int, output_type: Any) -> Any:
        if jnp.issubdtype(x.dtype, jnp.floating):
            x = numpy.where(numpy.isnan(x), np.asarray(-sign * np.inf, x.dtype), x)
        if numpy is np:
            return (np.argmax if sign > 0 else np.argmin)(x, axis).astype(output_type.np)
        return (lax.argmax if sign > 0 else lax.argmin)(jnp.asarray(x), axis % x.ndim, output_type.np)

    return kernel


define_along("ArgMax", _arg_rule, _arg(1, jnp), numpy=form(_arg(1, np)), differentiable=False)
define_along("ArgMin", _arg_rule, _arg(-1, jnp), numpy=form(_arg(-1, np)), differentiable=False)


def _arg_of(type: str, x: Any, axis: AxesLike, dimension: Any, output_type: Any, name: str | None) -> Tensor:
    axis = one_of(axis, dimension, "axis", "dimension")
    kind = as_dtype(output_type)
    if kind not in (int32, int64):
        raise TypeError(f"Expected int32 or int64 as output_type, got {kind.name}.")
    return unary_along(type, x, known_axis(0 if axis is None else axis), {"output_type": kind}, name)


def argmax(
    input: Any, axis: AxesLike = None, name: str | None = None, dimension: Any = None, output_type: Any = int64
) -> Tensor:
    """The index of the largest element that is no NaN, the first of equals, along ``axis`` or ``dimension``, or 0."""
    return _arg_of("ArgMax", input, axis, dimension, output_type, name)


def argmin(
    input: Any, axis: AxesLike = None, name: str | None = None, dimension: Any = None, output_type: Any = int64
) -> Tensor:
    """The index of the smallest element that is no NaN, the first of equals, along ``axis`` or ``dimension``, or 0."""
    return _arg_of("ArgMin", input, axis, dimension, output_type, name)


def arg_max(input: Any, dimension: Any, output_type: Any = int64, name: str | None = None) -> Tensor:
    return argmax(input, dimension, name, output_type=output_type)


def arg_min(input: Any, dimension: Any, output_type: Any = int64, name: str | None = None) -> Tensor:
    return argmin(input, dimension, name, output_type=output_type)


# ---- running totals ------------------------------------------------------------------------------------------------


def _cumulative_rule(inputs: Inputs, attrs: Attrs) -> list[Signature]:
    x = inputs[0]
    if x.dims is not None:
        normal_axis(attrs["axis"], len(x.dims))
    return [Signature(x.dtype, x.dims)]


def _cumulative(function: Any, empty: float) -> Callable[..., Any]:
    def kernel(x: Any, *, axis: int, exclusive: bool, reverse: bool) -> Any:
        x = jnp.asarray(x)
        axis = axis % x.ndim
        if reverse:
            x = lax.rev(x, (axis,))
        if exclusive:
            first = jnp.full_like(lax.slice_in_dim(x, 0, min(1, x.shape[axis]), axis=axis), empty)
            x = jnp.concatenate([first, lax.slice_in_dim(x, 0, max(x.shape[axis] - 1, 0), axis=axis)], axis)
        result = function(x, axis=axis)
        return lax.rev(result, (axis,)) if reverse else result

    return kernel


define_along(
    "Cumsum", _cumulative_rule, _cumulative(lax.cumsum, 0), numpy=form(cumulative(np.cumsum, 0)), derivative="linear",
    additive=True,
)  # fmt: skip
define_along("Cumprod", _cumulative_rule, _cumulative(lax.cumprod, 1), numpy=form(cumulative(np.cumprod, 1)))
define_along("CumulativeLogsumexp", _cumulative_rule, _cumulative(lax.cumlogsumexp, -np.inf))


def _running(type: str, x: Any, axis: AxisLike, exclusive: bool, reverse: bool, name: str | None) -> Tensor:
    name = reserve_name(get_default_graph(), name or type)
    x = convert_to_tensor(x, name=f"{name}x/")
    return along(type, (x,), known_axis(axis), {"exclusive": bool(exclusive), "reverse": bool(reverse)}, name)[0]


def cumsum(
    x: Any, axis: AxisLike = 0, exclusive: bool = False, reverse: bool = False, name: str | None = None
) -> Tensor:
    """Running sums along a dimension; ``exclusive`` leaves the element itself out, ``reverse`` starts at the end."""
    return _running("Cumsum", x, axis, exclusive, reverse, name)


def cumprod(
    x: Any, axis: AxisLike = 0, exclusive: bool = False, reverse: bool = False, name: str | None = None
) -> Tensor:
    """Running products along a dimension; ``exclusive`` leaves the element out, ``reverse`` starts at the end."""
    return _running("Cumprod", x, axis, exclusive, reverse, name)


def cumulative_logsumexp(
    x: Any, axis: AxisLike = 0, exclusive: bool = False, reverse: bool = False, name: str | None = None
) -> Tensor:
    """Running log(sum(exp(x))) along a dimension; ``exclusive`` and ``reverse`` as of ``cumsum``."""
    return _running("CumulativeLogsumexp", x, axis, exclusive, reverse, name)
