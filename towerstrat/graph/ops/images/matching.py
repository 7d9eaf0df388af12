"""Connected parts of images, and pairs of what is near: ``tf.contrib.image``.

Source: ``segmentation_ops.cc`` and ``bipartite_match_op.cc`` of ``tensorflow/contrib/image``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from towerstrat.graph.ir.check_definitions import CheckResult, InputCheck
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.graph.ir.mesh import alike
from towerstrat.graph.ir.op_registry import Attrs, Signature, define_op
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.graph.ir.types import (
    Array,
    bool_,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
)
from towerstrat.graph.lowering import input_checks
from towerstrat.graph.ops.array import arrays
from towerstrat.graph.ops.building.op_builder import add, add_op

Inputs = Sequence[Tensor]
_KINDS = (int64, int32, uint16, int16, uint8, int8, float16, float32, float64, bool_)


def _components_rule(inputs: Inputs, attrs: Attrs) -> list[Signature]:
    if inputs[0].dtype not in _KINDS:
        raise TypeError(f"Expected images of {', '.join(k.name for k in _KINDS)}, got {inputs[0].dtype.name}.")
    return [Signature(int32, inputs[0].dims)]


def _components(images: Array) -> Array:
    """Each pixel takes the least number among its own and its like neighbours' until nothing changes.

    Numbers are places plus 1. A pixel also takes what the pixel that its number stands for has, so that a component
    needs about as many rounds as the logarithm of its length.
    """
    images = jnp.asarray(images)
    count = images.size
    if not count:
        return jnp.zeros(images.shape, jnp.int32)
    some = images != np.zeros((), images.dtype)
    places = jnp.arange(count, dtype=jnp.int32).reshape(images.shape)
    last = np.int32(count)
    joined = []
    for axis in (1, 2):
        first, second = (lax.slice_in_dim(images, a, b, axis=axis) for a, b in ((0, -1), (1, images.shape[axis])))
        both = (first == second) & lax.slice_in_dim(some, 0, -1, axis=axis)
        joined.append((axis, both))

    def nearest(numbers: jax.Array) -> jax.Array:
        for axis, both in joined:
            size = images.shape[axis]
            for before, after, offset in ((0, size - 1, 1), (1, size, -1)):
                beside = lax.slice_in_dim(numbers, before, after, axis=axis)
                beside = jnp.where(both, beside, last)
                pad = [(0, 0)] * 3
                pad[axis] = (1, 0) if offset == 1 else (0, 1)
                numbers = jnp.minimum(numbers, jnp.pad(beside, pad, constant_values=count))
        return numbers

    def further(carry: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        numbers, _ = carry
        found = nearest(numbers)
        found = jnp.minimum(found, found.reshape(-1)[found])
        return found, jnp.any(found != numbers)

    start = alike(places, jnp.any(some))
    numbers, _ = lax.while_loop(lambda carry: carry[1], further, (start[0], start[1]))
    firsts = jnp.cumsum(((numbers == places) & some).reshape(-1), dtype=jnp.int32)
    return jnp.where(some, firsts[numbers], np.int32(0))


define_op("ImageConnectedComponents", _components_rule, _components, differentiable=False)


def connected_components(images: Any) -> Tensor:
    """The number of the component that each pixel belongs to, int32; 0 for pixels that are 0. Not differentiable.

    A component is what is connected upwards, downwards and sideways and has one value. Numbers begin with 1, in the
    order of first pixels, and go on from one image to the next.

    Args:
      images: ``[height, width]`` or ``[batch, height, width]``, booleans or numbers.

    Raises:
      TypeError: another rank or type. ValueError: a rank that is not known.
    """
    with get_default_graph().name_scope("connected_components"):
        images = convert_to_tensor(images, name="images")
        rank = images.shape.ndims
        if rank is None:
            raise ValueError("connected_components needs the rank of its images while the graph is built.")
        if rank not in (2, 3):
            raise TypeError(f"images should have rank 2 (HW) or 3 (NHW). Static shape is {images.shape}")
        found = add_op("ImageConnectedComponents", [images if rank == 3 else arrays.expand_dims(images, 0)])
        return found if rank == 3 else found[0]


# ---- pairs -----------------------------------------------------------------------------------------------------------


def _match_rule(inputs: Inputs, attrs: Attrs) -> list[Signature]:
    rows, columns = inputs[0].shape.with_rank(2).as_list()
    if not any(inputs[1].shape.is_compatible_with(dims) for dims in ([], [1])):
        raise ValueError(f"num_valid_rows should be a scalar or a vector of one number, got shape {inputs[1].shape}.")
    return [Signature(int32, (rows,)), Signature(int32, (columns,))]


def _match(distances: Array, valid: Array, *, top_k: int) -> tuple[Array, Array]:
    """Takes the least distance again and again, and no row or column twice. Of equal ones the first row's."""
    rows, columns = distances.shape
    most = min(rows, columns)
    start = jnp.full(rows, -1, jnp.int32), jnp.full(columns, -1, jnp.int32)
    if not most:
        return start
    far = np.float32(np.inf)
    count = jnp.asarray(valid).reshape(-1)[0]
    kept = jnp.where(count < 0, rows, count.astype(jnp.int32))
    left = jnp.where(np.arange(rows)[:, None] < kept, jnp.asarray(distances), far)

    def choose(i: Any, carry: tuple[jax.Array, ...]) -> tuple[jax.Array, ...]:
        left, of_rows, of_columns = carry
        best = jnp.argmin(left).astype(jnp.int32)
        row, column = best // columns, best % columns
        found = left[row, column] < far
        of_rows = of_rows.at[row].set(jnp.where(found, column, of_rows[row]))
        of_columns = of_columns.at[column].set(jnp.where(found, row, of_columns[column]))
        return left.at[row].set(far).at[:, column].set(far), of_rows, of_columns

    _, of_rows, of_columns = lax.fori_loop(0, min(most, top_k) if top_k > 0 else most, choose, alike(left, *start))
    return of_rows, of_columns


def _check_rows(op: Operation, values: Sequence[Any]) -> CheckResult | None:
    rows, valid = values[0].shape[0], values[1]
    return input_checks.first_of(
        valid > rows, valid,
        message=lambda where, count: f"There should be at least {int(count)} rows in distance_mat, but only got {rows} "
        "rows.",
    )  # fmt: skip


define_op("BipartiteMatch", _match_rule, _match, differentiable=False, check=InputCheck(_check_rows, (1,)))


def bipartite_match(
    distance_mat: Any, num_valid_rows: Any, top_k: int = -1, name: str | None = "bipartite_match"
) -> tuple[Tensor, Tensor]:
    """Pairs of rows and columns of least distance, chosen greedily: (column of each row, row of each column), int32.

    What has no partner has -1. Not differentiable.

    Args:
      distance_mat: ``[rows, columns]``, float32.
      num_valid_rows: a scalar or ``[1]``, float32: only so many rows, all if it is negative.
      top_k: so many pairs at most, if it is positive.

    Raises:
      InvalidArgumentError: there are fewer rows.
    """
    inputs = [convert_to_tensor(distance_mat, float32), convert_to_tensor(num_valid_rows, float32)]
    rows, columns = add("BipartiteMatch", inputs, {"top_k": top_k}, name or "bipartite_match")
    return rows, columns
