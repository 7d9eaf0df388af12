"""Images bent by flows and by control points, and values between the points of a grid: ``tf.contrib.image``.

Source: ``dense_image_warp.py``, ``interpolate_spline.py`` and ``sparse_image_warp.py`` of ``tensorflow/contrib/image``,
``resampler_ops.cc`` of ``tensorflow/contrib/resampler``.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import jax.numpy as jnp
import numpy as np

from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.op_registry import Attrs, Signature, define_op
from towerstrat.graph.ir.shapes import Dims, TensorShape
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.graph.ir.types import Array, bfloat16, float16, float32, float64, int32
from towerstrat.graph.ops.array import arrays
from towerstrat.graph.ops.building.op_builder import add_op
from towerstrat.graph.ops.control.branches import with_dependencies
from towerstrat.graph.ops.images.image_shapes import dimensions, ensure, is_tensor, shaped
from towerstrat.graph.ops.indexing.gather_scatter import gather
from towerstrat.graph.ops.linalg.decompositions import eye, matrix_diag_part, matrix_solve
from towerstrat.graph.ops.linalg.products import matmul
from towerstrat.graph.ops.math import arithmetic, reductions

# ---- values between the pixels ---------------------------------------------------------------------------------------


def _between(grid: Tensor, points: Tensor) -> Tensor:
    """Values ``[batch, n, channels]`` of a grid at points ``[batch, n, 2]`` (row, column); outside the edge's."""
    batch, height, width, channels = dimensions(grid, 4)
    count = dimensions(points, 3)[1]
    for size in (height, width):
        large = arithmetic.greater_equal(size, 2) if is_tensor(size) else size >= 2
        checks = ensure(large, f"Grid must be at least batch_size x 2 x 2 in size. Received size: {grid.shape}")
        grid = with_dependencies(checks, grid)
    floors, parts = [], []
    for place, size in zip(arrays.unstack(points, 2, axis=2), (height, width), strict=True):
        last = arithmetic.cast(size - 2, points.dtype)
        floor = arithmetic.minimum(
            arithmetic.maximum(convert_to_tensor(0, points.dtype), arithmetic.floor(place)), last
        )
        floors.append(arithmetic.cast(floor, int32))
        part = arithmetic.cast(place - floor, grid.dtype)
        part = arithmetic.minimum(
            arithmetic.maximum(convert_to_tensor(0, grid.dtype), part), convert_to_tensor(1, grid.dtype)
        )
        parts.append(arrays.expand_dims(part, 2))
    flat = arrays.reshape(grid, [-1, channels])
    starts = arrays.reshape(arrays.range(batch) * height * width, [-1, 1])

    def pixels(row: Tensor, column: Tensor) -> Tensor:
        return arrays.reshape(gather(flat, starts + row * width + column), [batch, count, channels])

    top, left = floors
    down, right = parts
    corners = [[pixels(row, column) for column in (left, left + 1)] for row in (top, top + 1)]
    above, below = (right * (second - first) + first for first, second in corners)
    return down * (below - above) + above


def dense_image_warp(image: Any, flow: Any, name: str | None = "dense_image_warp") -> Tensor:
    """Images whose pixel (j, i) is the input's at ``(j, i) - flow[j, i]``, bilinearly; beyond an edge that of the edge.

    Differentiable by both.

    Args:
      image: ``[batch, height, width, channels]``, floating; height and width at least 2.
      flow: ``[batch, height, width, 2]``, floating, of the same type or another one.

    Raises:
      ValueError: other ranks, or an image of one row or column.
    """
    with get_default_graph().name_scope(name or "dense_image_warp"):
        image, flow = convert_to_tensor(image, name="image"), convert_to_tensor(flow, name="flow")
        batch, height, width, channels = dimensions(image, 4)
        rows, columns = arrays.expand_dims(arrays.range(height), 1), arrays.expand_dims(arrays.range(width), 0)
        grid = arrays.stack([rows + arrays.zeros_like(columns), columns + arrays.zeros_like(rows)], axis=2)
        points = arrays.expand_dims(arithmetic.cast(grid, flow.dtype), 0) - flow
        found = _between(image, arrays.reshape(points, [batch, height * width, 2]))
        return arrays.reshape(found, [batch, height, width, channels])


# ---- splines ---------------------------------------------------------------------------------------------------------

_LEAST = 1e-10
"""Squared distances are at least this: the logarithm and the slope of the root at 0 are not finite."""


def _radial(squares: Tensor, order: int) -> Tensor:
    """The polyharmonic basis of an order at squared distances."""
    kept = arithmetic.maximum(squares, convert_to_tensor(_LEAST, squares.dtype))
    if order == 1:
        return arithmetic.sqrt(kept)
    if order in (2, 4):
        return 0.5 * (squares if order == 2 else arithmetic.square(squares)) * arithmetic.log(kept)
    powers = arithmetic.pow(kept, 0.5 * order)
    return powers if order % 2 else 0.5 * powers * arithmetic.log(kept)


def _products(x: Tensor, y: Tensor) -> Tensor:
    return matmul(x, y, adjoint_b=True)


def _with_ones(points: Tensor) -> Tensor:
    return arrays.concat([points, arrays.ones_like(points[..., :1])], 2)


def interpolate_spline(
    train_points: Any, train_values: Any, query_points: Any, order: int, regularization_weight: float = 0.0,
    name: str | None = "interpolate_spline",
) -> Tensor:  # fmt: skip
    """Values at points by the polyharmonic spline through others: ``[batch, m, k]``. Differentiable by all tensors.

    ``f(x) = sum_i w_i phi(|x - c_i|) + v x + b`` with ``f(c_i) = f_i``, weights of sum 0 that are orthogonal to the
    centers; ``phi(r)`` is r to the power of ``order``, times its logarithm where that is even. Duchon, "Splines
    minimizing rotation-invariant semi-norms in Sobolev spaces", 1977.

    Args:
      train_points: the centers, ``[batch, n, d]``, floating.
      train_values: ``[batch, n, k]``. d and k must be known while the graph is built.
      query_points: ``[batch, m, d]``.
      order: 1, 2 (the thin plate), 3, ...
      regularization_weight: above 0 the spline is smoother and goes near the values.

    Raises:
      ValueError: d or k is not known. InvalidArgumentError: centers that determine no spline.
    """
    with get_default_graph().name_scope(name or "interpolate_spline"):
        centers, values = convert_to_tensor(train_points), convert_to_tensor(train_values)
        points = convert_to_tensor(query_points)
        for what, tensor in (("input points (d)", centers), ("output values (k)", values)):
            if not tensor.dims or tensor.dims[-1] is None:
                raise ValueError(
                    f"The dimensionality of the {what} must be statically-inferrable, got shape {tensor.shape}."
                )
        batch, count, dims = dimensions(centers, 3)
        together = _products(centers, centers)
        squares = arrays.expand_dims(matrix_diag_part(together), 2)
        matrix = _radial(squares - 2 * together + arrays.matrix_transpose(squares), order)
        if regularization_weight > 0:
            matrix += regularization_weight * arrays.expand_dims(eye(count, dtype=centers.dtype), 0)
        linear = _with_ones(centers)
        left = arrays.concat([matrix, arrays.matrix_transpose(linear)], 1)
        right = arrays.concat([linear, arrays.zeros([batch, dims + 1, dims + 1], centers.dtype)], 1)
        kinds = dimensions(values, 3)[2]
        wanted = arrays.concat([values, arrays.zeros([batch, dims + 1, kinds], centers.dtype)], 1)
        solved = matrix_solve(arrays.concat([left, right], 2), wanted)
        lengths = [
            arrays.expand_dims(reductions.reduce_sum(arithmetic.square(x), 2), i)
            for x, i in ((points, 2), (centers, 1))
        ]
        across = _radial(lengths[0] - 2 * _products(points, centers) + lengths[1], order)
        return matmul(across, solved[:, :count]) + matmul(_with_ones(points), solved[:, count:])


def _edge_points(height: int, width: int, between: int) -> Array:
    """Points at even distances along the edges of an image, ``[n, 2]``: the corners, and so many between two."""
    rows, columns = (np.linspace(0, size - 1, between + 2) for size in (height, width))
    points = np.stack(np.meshgrid(rows, columns, indexing="ij"), -1).reshape(-1, 2)
    return points[((points == 0) | (points == [height - 1, width - 1])).any(1)]


def sparse_image_warp(
    image: Any, source_control_point_locations: Any, dest_control_point_locations: Any, interpolation_order: int = 2,
    regularization_weight: float = 0.0, num_boundary_points: int = 0, name: str | None = "sparse_image_warp",
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Images bent so that control points come from one place to another: (images, flow ``[batch, height, width, 2]``).

    The flow is the spline (``interpolate_spline``) through what the points move by; ``dense_image_warp`` applies it.

    Args:
      image: ``[batch, height, width, channels]``, floating; the sizes must be known while the graph is built.
      source_control_point_locations: ``[batch, points, 2]``, (row, column).
      dest_control_point_locations: likewise, where they go.
      interpolation_order, regularization_weight: of the spline.
      num_boundary_points: keeps the edges in place: 1 the corners, n also n - 1 points along each edge.

    Raises:
      ValueError: sizes of the image that are not known.
    """
    image = convert_to_tensor(image)
    source = convert_to_tensor(source_control_point_locations)
    target = convert_to_tensor(dest_control_point_locations)
    moves = target - source
    with get_default_graph().name_scope(name or "sparse_image_warp"):
        batch, height, width, _ = image.shape.with_rank(4).as_list()
        if batch is None or height is None or width is None:
            raise ValueError(
                "sparse_image_warp needs the batch, height and width of its images while the graph is built, got shape "
                f"{image.shape}. Use Tensor.set_shape."
            )
        grid = np.stack(np.meshgrid(np.arange(height), np.arange(width), indexing="ij"), -1).reshape(1, -1, 2)
        if num_boundary_points > 0:
            edge = np.tile(_edge_points(height, width, num_boundary_points - 1), [batch, 1, 1])
            target = arrays.concat([target, convert_to_tensor(edge, target.dtype)], 1)
            moves = arrays.concat([moves, convert_to_tensor(np.zeros_like(edge), target.dtype)], 1)
        points = convert_to_tensor(np.tile(grid, [batch, 1, 1]), image.dtype)
        flows = interpolate_spline(target, moves, points, interpolation_order, regularization_weight)
        flow = arrays.reshape(flows, [batch, height, width, 2])
        return dense_image_warp(image, flow), flow


# ---- resampling ------------------------------------------------------------------------------------------------------


def _resampler_rule(inputs: Sequence[Tensor], attrs: Attrs) -> list[Signature]:
    data, warp = inputs
    if data.dtype not in (bfloat16, float16, float32, float64):
        raise TypeError(f"Expected data of a floating type, got {data.dtype.name}.")
    if data.dtype is not warp.dtype:
        raise TypeError(f"Expected data and warp of one type, got {data.dtype.name} and {warp.dtype.name}.")
    return [Signature(data.dtype, _resampled(data, warp.dims))]


def _resampled(data: Tensor | Array, warp: Dims) -> Dims:
    """The shape of the values. Raises ValueError for shapes that do not go together."""
    batch, _, _, channels = shaped(data, [None] * 4, "data")
    if warp is None:
        return None
    if len(warp) < 2 or warp[-1] not in (2, None):
        raise ValueError(f"Expected a warp of shape [batch, ..., 2], got {TensorShape(warp)}.")
    if None not in (batch, warp[0]) and batch != warp[0]:
        raise ValueError(f"Batch size of data and warp must be the same, got {batch} and {warp[0]}.")
    return (*warp[:-1], channels)


def _resample(data: Array, warp: Array) -> Array:
    """Bilinear values at (x, y); pixels outside of the image are 0."""
    _resampled(data, warp.shape)
    data, warp = jnp.asarray(data), jnp.asarray(warp)
    batch, height, width, channels = data.shape
    points = warp.reshape(batch, prod(warp.shape[1:-1]), 2)
    x, y = points[..., 0], points[..., 1]
    left, top = jnp.floor(x), jnp.floor(y)
    images = np.arange(batch, dtype=np.int32)[:, None]

    def pixels(row: Array, column: Array) -> Array:
        inside = (row >= 0) & (row < height) & (column >= 0) & (column < width)
        places = [jnp.clip(p, 0, n - 1).astype(jnp.int32) for p, n in ((row, height), (column, width))]
        return jnp.where(inside[..., None], data[images, places[0], places[1]], np.zeros((), data.dtype))

    right, below = (x - left)[..., None], (y - top)[..., None]
    above = pixels(top, left) * (1 - right) + pixels(top, left + 1) * right
    under = pixels(top + 1, left) * (1 - right) + pixels(top + 1, left + 1) * right
    return (above * (1 - below) + under * below).reshape(*warp.shape[:-1], channels)


define_op("Resampler", _resampler_rule, _resample)


def resampler(data: Any, warp: Any, name: str | None = "resampler") -> Tensor:
    """Values of images at places between their pixels, bilinearly: ``[batch, ..., channels]``. Differentiable by both.

    Args:
      data: ``[batch, height, width, channels]``, floating.
      warp: ``[batch, ..., 2]`` of the same type: x (of the width) and y; what lies outside is 0.

    Raises:
      TypeError: other types, or two. ValueError: other shapes.
    """
    with get_default_graph().name_scope(name or "resampler"):
        return add_op("Resampler", [convert_to_tensor(data, name="data"), convert_to_tensor(warp, name="warp")])
