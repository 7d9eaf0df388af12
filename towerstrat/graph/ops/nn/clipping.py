"""Clipping of values and of norms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.indexed_slices import IndexedSlices
from towerstrat.graph.ir.tensor_conversion import constant, convert_to_tensor
from towerstrat.graph.ir.types import float32
from towerstrat.graph.ops.array.arrays import identity, ones_like, size, stack, where
from towerstrat.graph.ops.host.runtime_checks import verify_tensor_all_finite
from towerstrat.graph.ops.math.arithmetic import cast, is_finite, maximum, minimum, rsqrt, sqrt
from towerstrat.graph.ops.math.reductions import reduce_sum


def clip_by_value(t: Any, clip_value_min: Any, clip_value_max: Any, name: str | None = None) -> Tensor:
    """Values below the minimum and above the maximum set to these; gradients pass where a value is not outside.

    Raises:
      ValueError: bounds that would broadcast the tensor to a larger shape.
    """
    with get_default_graph().name_scope(name or "clip_by_value") as scope:
        x = convert_to_tensor(t, name="t")
        below = minimum(x, clip_value_max)
        x.shape.assert_is_compatible_with(below.shape)
        result = maximum(below, clip_value_min, name=scope)
        x.shape.assert_is_compatible_with(result.shape)
        return result


def clip_by_norm(t: Any, clip_norm: Any, axes: Any = None, name: str | None = None) -> Tensor:
    """The tensor scaled down so that its norm along ``axes`` (all by default) is at most ``clip_norm``."""
    with get_default_graph().name_scope(name or "clip_by_norm") as scope:
        x = convert_to_tensor(t, name="t")
        squares = reduce_sum(x * x, axes, keepdims=True)
        positive = squares > 0
        safe = where(positive, squares, ones_like(squares))
        length = where(positive, sqrt(safe), squares)
        scaled = x * clip_norm
        x.shape.assert_is_compatible_with(scaled.shape)
        return identity(scaled / maximum(length, clip_norm), name=scope)


def clip_by_value_v2(t: Any, clip_value_min: Any, clip_value_max: Any, name: str | None = None) -> Any:
    """``clip_by_value`` as 1.13 and later have it: IndexedSlices keep their rows, each of which is clipped."""
    return _by_rows(t, clip_by_value(_rows_of(t), clip_value_min, clip_value_max, name))


def clip_by_norm_v2(t: Any, clip_norm: Any, axes: Any = None, name: str | None = None) -> Any:
    """``clip_by_norm`` as 1.13 and later have it: IndexedSlices keep their rows, whose norm together is taken."""
    return _by_rows(t, clip_by_norm(_rows_of(t), clip_norm, axes, name))


def _rows_of(t: Any) -> Any:
    return t.values if isinstance(t, IndexedSlices) else t


def _by_rows(t: Any, values: Tensor) -> Any:
    """New values for what ``t`` is: a tensor, or rows of one."""
    return IndexedSlices(values, t.indices, t.dense_shape) if isinstance(t, IndexedSlices) else values


def clip_by_average_norm(t: Any, clip_norm: Any, name: str | None = None) -> Tensor:
    """The tensor scaled down so that its norm per element is at most ``clip_norm``, as the original computes it."""
    with get_default_graph().name_scope(name or "clip_by_average_norm") as scope:
        x = convert_to_tensor(t, name="t")
        number = cast(size(x), float32)
        inverse = rsqrt(reduce_sum(x * x))
        return identity(x * clip_norm * minimum(inverse * number, constant(1.0) / clip_norm), name=scope)


def _values(t_list: Sequence[Any]) -> list[Tensor | None]:
    return [None if t is None else convert_to_tensor(_rows_of(t), name=f"t_{i}") for i, t in enumerate(t_list)]


def _check_list(t_list: Any) -> list[Any]:
    if not isinstance(t_list, Sequence) or isinstance(t_list, str):
        raise TypeError(f"t_list should be a sequence, got {type(t_list).__name__}.")
    return list(t_list)


def global_norm(t_list: Any, name: str | None = None) -> Tensor:
    """The norm of all tensors (None is left out; of IndexedSlices the values) as one vector."""
    tensors = _check_list(t_list)
    with get_default_graph().name_scope(name or "global_norm"):
        halves = [reduce_sum(v * v) / 2 for v in _values(tensors) if v is not None]
        half = reduce_sum(stack(halves))
        return sqrt(half * constant(2.0, half.dtype), name="global_norm")


def clip_by_global_norm(
    t_list: Any, clip_norm: Any, use_norm: Any = None, name: str | None = None
) -> tuple[list[Any], Tensor]:
    """All tensors scaled by one factor so that their norm together is at most ``clip_norm``.

    Args:
      t_list: tensors, IndexedSlices and Nones.
      use_norm: the norm, if it is known already.

    Returns:
      The list like ``t_list``, and the norm before.

    Raises:
      InvalidArgumentError: on a run where the norm is infinite or NaN.
    """
    tensors = _check_list(t_list)
    if use_norm is None:
        use_norm = global_norm(tensors, name)
    use_norm = verify_tensor_all_finite(use_norm, "Found Inf or NaN global norm.")
    with get_default_graph().name_scope(name or "clip_by_global_norm") as scope:
        return _scaled(tensors, _scale(clip_norm, use_norm), scope), use_norm


def clip_by_global_norm_v2(
    t_list: Any, clip_norm: Any, use_norm: Any = None, name: str | None = None
) -> tuple[list[Any], Tensor]:
    """``clip_by_global_norm`` as 1.14 and later have it: where the norm is infinite or NaN all entries become NaN."""
    tensors = _check_list(t_list)
    if use_norm is None:
        use_norm = global_norm(tensors, name)
    use_norm = convert_to_tensor(use_norm)
    with get_default_graph().name_scope(name or "clip_by_global_norm") as scope:
        not_finite = constant(float("nan"), use_norm.dtype)
        scale = where(is_finite(use_norm), _scale(clip_norm, use_norm), not_finite)
        return _scaled(tensors, scale, scope), use_norm


def _scale(clip_norm: Any, norm: Tensor) -> Tensor:
    return clip_norm * minimum(1.0 / norm, constant(1.0, norm.dtype) / clip_norm)


def _scaled(tensors: Sequence[Any], scale: Tensor, scope: str) -> list[Any]:
    """The tensors times a factor, IndexedSlices and Nones as such."""
    clipped: list[Any] = []
    for i, (original, value) in enumerate(zip(tensors, _values(tensors), strict=True)):
        if value is None:
            clipped.append(None)
            continue
        clipped.append(_by_rows(original, identity(value * scale, name=f"{scope}_{i}")))
    return clipped
