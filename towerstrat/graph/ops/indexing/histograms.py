"""Counting and searching: bins, histograms, places in a sorted sequence, coordinates, confusion matrices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import jax.numpy as jnp
import numpy as np

from towerstrat.graph.ir.check_definitions import CheckResult, InputCheck
from towerstrat.graph.ir.constant_folding import constant_value
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.graph.ir.op_registry import Signature, define_op
from towerstrat.graph.ir.tensor_conversion import constant, convert_to_tensor
from towerstrat.graph.ir.types import as_dtype, int32, int64
from towerstrat.graph.lowering import input_checks
from towerstrat.graph.ops.array.array_kernels import sizes_of
from towerstrat.graph.ops.array.arrays import size as size_
from towerstrat.graph.ops.array.arrays import squeeze, stack  # fmt: skip
from towerstrat.graph.ops.building import numpy_kernels
from towerstrat.graph.ops.building.op_builder import add_op
from towerstrat.graph.ops.host.runtime_checks import Assert
from towerstrat.graph.ops.math.arithmetic import cast
from towerstrat.graph.ops.math.reductions import reduce

Inputs = Sequence[Any]
Attrs = Mapping[str, Any]


def _search_rule(inputs: Inputs, attrs: Attrs) -> list[Signature]:
    if inputs[0].dtype is not inputs[1].dtype:
        raise TypeError(f"Expected one element type, got {inputs[0].dtype.name} and {inputs[1].dtype.name}.")
    return [Signature(attrs["out_type"], inputs[1].dims)]


def _search(side: str, numpy: Any = jnp) -> Any:
    def kernel(sequence: Any, values: Any, *, out_type: Any) -> Any:
        table, wanted = sequence[..., None, :], values[..., :, None]
        before = table < wanted if side == "left" else table <= wanted
        return numpy.sum(before, axis=-1, dtype=out_type.np)

    return kernel


define_op("LowerBound", _search_rule, _search("left"), numpy=_search("left", np), differentiable=False)
define_op("UpperBound", _search_rule, _search("right"), numpy=_search("right", np), differentiable=False)


def searchsorted(
    sorted_sequence: Any, values: Any, side: str = "left", out_type: Any = int32, name: str | None = None
) -> Tensor:
    """Indices at which values belong in sorted rows: before equal elements ("left") or after them ("right")."""
    if side not in ("left", "right"):
        raise ValueError(f"side must be either 'right' or 'left'.  Saw: {side}.")
    sequence, wanted = convert_to_tensor(sorted_sequence), convert_to_tensor(values)
    type = "LowerBound" if side == "left" else "UpperBound"
    return add_op(type, (sequence, wanted), {"out_type": as_dtype(out_type)}, name or "searchsorted")


def _bincount_rule(inputs: Inputs, attrs: Attrs) -> list[Signature]:
    known = constant_value(inputs[1])
    dims = inputs[0].dims
    if attrs["by_row"] and dims is None:
        return [Signature(inputs[2].dtype, None)]
    rows = dims[:1] if attrs["by_row"] and dims is not None and len(dims) == 2 else ()
    return [Signature(inputs[2].dtype, (*rows, None if known is None else int(known)))]


def _bincount(values: Any, size: Any, weights: Any, *, by_row: bool) -> Any:
    count = int(size)
    by_row = by_row and values.ndim == 2
    rows = values.shape[0] if by_row else 1
    inside = (values >= 0) & (values < count)
    places = values + np.arange(rows, dtype=values.dtype)[:, None] * count if by_row else values
    places = jnp.reshape(jnp.where(inside, places, np.asarray(rows * count, values.dtype)), (-1,))
    amounts = jnp.reshape(weights, (-1,)) if weights.size else jnp.ones(places.shape, weights.dtype)
    found = jnp.zeros((rows * count,), weights.dtype).at[places].add(amounts, mode="drop")
    return jnp.reshape(found, (rows, count)) if by_row else found


def _check_bincount(op: Operation, values: Sequence[Any]) -> CheckResult | None:
    return input_checks.first_of(
        values[0] < 0, values[0], message=lambda where, v: f"Input arr must be non-negative! arr{where} is {int(v)}"
    )


define_op(
    "Bincount", _bincount_rule, _bincount, static=(1,),
    numpy=numpy_kernels.form(numpy_kernels.bincount), differentiable=False, check=InputCheck(_check_bincount),
)  # fmt: skip


def bincount(arr: Any, weights: Any = None, minlength: Any = None, maxlength: Any = None, dtype: Any = int32) -> Tensor:
    """Counts of the integers from 0, or sums of their weights.

    As long as the largest value asks for, but within ``minlength`` and ``maxlength``; where these are equal the length
    is known while the graph is built. ``dtype`` is the result's if there are no weights.
    """
    return counts(arr, weights, minlength, maxlength, dtype, by_row=False)


def counts(arr: Any, weights: Any, minlength: Any, maxlength: Any, dtype: Any, by_row: bool) -> Tensor:
    """``bincount``; ``by_row`` in each row of a matrix."""
    values = convert_to_tensor(arr, int32, name="arr")
    amounts = constant([], as_dtype(dtype)) if weights is None else convert_to_tensor(weights, name="weights")
    return add_op("Bincount", (values, bins(values, minlength, maxlength), amounts), {"by_row": by_row})


def bins(values: Tensor, minlength: Any, maxlength: Any) -> Tensor:
    """The number of bins for int32 values, see ``bincount``: an int32 scalar."""
    low = None if minlength is None else convert_to_tensor(minlength, int32, name="minlength")
    high = None if maxlength is None else convert_to_tensor(maxlength, int32, name="maxlength")
    known = [None if t is None else constant_value(t) for t in (low, high)]
    if high is not None and known[0] is not None and known[1] is not None and int(known[0]) == int(known[1]):
        return high
    found = cast(size_(values) > 0, int32) * (reduce("Max", values, None, False, None) + 1)
    found = found if low is None else add_op("Maximum", (low, found))
    return found if high is None else add_op("Minimum", (high, found))


def histogram_fixed_width_bins(
    values: Any, value_range: Any, nbins: Any = 100, dtype: Any = int32, name: str | None = None
) -> Tensor:
    """Which of ``nbins`` bins of equal width each value is in; values outside of the range are in the end bins."""
    with get_default_graph().name_scope(name or "histogram_fixed_width_bins"):
        x = convert_to_tensor(values, name="values")
        ends = convert_to_tensor(value_range, x.dtype, name="value_range")
        bins = cast(convert_to_tensor(nbins, int32, name="nbins"), x.dtype)
        words = "value_range should satisfy value_range[0] < value_range[1], but got"
        check = Assert(ends[0] < ends[1], [words, ends])
        with get_default_graph().control_dependencies([] if check is None else [check]):
            scaled = (x - ends[0]) / (ends[1] - ends[0])
        places = add_op("Floor", (bins * cast(scaled, x.dtype),), None, "indices") if x.dtype.is_floating else None
        if places is None:
            raise TypeError(f"Expected floats, got {x.dtype.name}. Use tf.cast.")
        low = constant(np.zeros((), x.dtype.np), x.dtype)
        return cast(add_op("Maximum", (add_op("Minimum", (places, bins - 1)), low)), dtype)


def histogram_fixed_width(
    values: Any, value_range: Any, nbins: Any = 100, dtype: Any = int32, name: str | None = None
) -> Tensor:
    """Numbers of values in each of ``nbins`` bins of equal width; values outside of the range are in the end bins."""
    with get_default_graph().name_scope(name or "histogram_fixed_width") as scope:
        places = histogram_fixed_width_bins(values, value_range, nbins)
        inputs = (places, convert_to_tensor(nbins, int32), constant([], as_dtype(dtype)))
        return add_op("Bincount", inputs, {"by_row": False}, scope)


def _unravel_rule(inputs: Inputs, attrs: Attrs) -> list[Signature]:
    indices, sizes = inputs
    count = sizes.dims[0] if sizes.dims else None
    dims = None if indices.dims is None else (count, *indices.dims)
    return [Signature(indices.dtype, dims)]


def _unravel(indices: Any, sizes: Any, numpy: Any = jnp) -> Any:
    parts = []
    for size in sizes_of(sizes)[::-1]:
        divisor = np.asarray(size, indices.dtype)
        parts.append(indices % divisor)
        indices = indices // divisor
    return numpy.stack(parts[::-1])


define_op("UnravelIndex", _unravel_rule, _unravel, static=(1,), numpy=partial(_unravel, numpy=np), differentiable=False)


def unravel_index(indices: Any, dims: Any, name: str | None = None) -> Tensor:
    """Coordinates ``[rank, ...]`` in a tensor of shape ``dims`` from flat indices."""
    return add_op("UnravelIndex", (convert_to_tensor(indices), convert_to_tensor(dims)), None, name)


def confusion_matrix(
    labels: Any, predictions: Any, num_classes: Any = None, dtype: Any = int32, name: str | None = None,
    weights: Any = None,
) -> Tensor:  # fmt: skip
    """``[num_classes, num_classes]``: how often label i (row) was predicted as j, or the sum of weights.

    Without ``num_classes`` its size depends on values, see ``tf.where``. Classes outside of it are not counted.
    """
    with get_default_graph().name_scope(name or "confusion_matrix"):
        truth, guess = convert_to_tensor(labels, name="labels"), convert_to_tensor(predictions, name="predictions")
        if truth.dims is not None and guess.dims is not None and len(truth.dims) != len(guess.dims):
            truth, guess = (squeeze(t, [-1]) if len(t.dims or ()) == 2 else t for t in (truth, guess))
        truth, guess = cast(truth, int64), cast(guess, int64)
        if num_classes is None:
            largest = add_op(
                "Maximum", (reduce("Max", truth, None, False, None), reduce("Max", guess, None, False, None))
            )
            num_classes = largest + 1
        count = cast(convert_to_tensor(num_classes), int32)
        amounts = add_op("OnesLike", (guess,), {"dtype": as_dtype(dtype)}) if weights is None else cast(weights, dtype)
        return add_op("ScatterNd", (stack([truth, guess], 1), amounts, stack([count, count])))
