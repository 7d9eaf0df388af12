"""``tf.test.compute_gradient``: gradients beside differences of values, in a graph with a session."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from towerstrat.graph.ir.context_stacks import get_default_session
from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.graph.ir.indexed_slices import IndexedSlices
from towerstrat.graph.ir.tensor_conversion import constant
from towerstrat.graph.ops.array.arrays import identity
from towerstrat.graph.ops.gradients.gradients import gradients
from towerstrat.graph.runtime.sessions.session import BaseSession

Array = npt.NDArray[Any]
_TYPES = {"float16", "bfloat16", "float32", "float64", "complex64", "complex128"}


class _Problem(NamedTuple):
    """What is differentiated: ``y`` by ``x`` at ``at``; ``dx`` is the gradient where ``dy`` is that of the result."""

    session: BaseSession
    x: Tensor
    y: Tensor
    dx: Tensor | IndexedSlices
    dy: Tensor
    at: Array
    feeds: Mapping[Any, Any]

    def run(self, fetches: Any, at: Array, **feeds: Array) -> Any:
        named = {self.dy: feeds["dy"]} if feeds else {}
        return self.session.run(fetches, {**self.feeds, self.x: at, **named})


def _reals(array: Array) -> Array:
    """The numbers of an array in a row; of complex ones both parts. A view where the array allows it."""
    flat = array.reshape(-1)
    return flat.view(flat.real.dtype) if np.iscomplexobj(flat) else flat


def _theoretical(problem: _Problem) -> Array:
    dy = np.zeros([size or 0 for size in problem.dy.shape.as_list()], problem.dy.dtype.as_numpy_dtype)
    columns = []
    for place in range(len(_reals(dy))):
        _reals(dy)[place] = 1
        found = problem.run(problem.dx, problem.at, dy=dy)
        if isinstance(problem.dx, IndexedSlices):
            dense = np.zeros_like(problem.at)
            np.add.at(dense, found.indices, found.values)
            found = dense
        columns.append(_reals(np.ascontiguousarray(found)))
        _reals(dy)[place] = 0
    return np.stack(columns, axis=1) if columns else np.zeros((len(_reals(problem.at)), 0), problem.at.real.dtype)


def _numeric(problem: _Problem, delta: float) -> Array:
    rows = []
    for place in range(len(_reals(problem.at))):
        sides = []
        for step in (delta, -delta):
            moved = problem.at.copy()
            _reals(moved)[place] += step
            sides.append(_reals(np.ascontiguousarray(problem.run(problem.y, moved))))
        above, below = (side.astype(np.promote_types(side.dtype, np.float32)) for side in sides)
        rows.append((above - below) / (2 * delta))
    return np.stack(rows) if rows else np.zeros((0, problem.y.shape.num_elements() or 0), problem.at.real.dtype)


def _compared(
    session: BaseSession, x: Tensor, x_shape: Sequence[int], y: Tensor, gradient: tuple[Any, Tensor], at: Any,
    delta: float, feeds: Mapping[Any, Any],
) -> tuple[Array, Array]:  # fmt: skip
    if at is None:
        at = np.random.random_sample(x_shape).astype(x.dtype.as_numpy_dtype)
        if x.dtype.is_complex:
            at.imag = np.random.random_sample(x_shape)
    if list(at.shape) != list(x_shape):
        raise ValueError(f"compute_gradient: x_shape={list(x_shape)}, but x_init_value has the shape {list(at.shape)}.")
    dx, dy = gradient
    if dx is None:
        raise ValueError(f"compute_gradient: {y!r} does not depend on {x!r} by operations that have a gradient.")
    problem = _Problem(session, x, y, dx, dy, np.ascontiguousarray(at), feeds)
    return _theoretical(problem), _numeric(problem, delta)


def compute_gradient(
    x: Any,
    x_shape: Any,
    y: Tensor,
    y_shape: Sequence[int],
    x_init_value: Any = None,
    delta: float = 1e-3,
    init_targets: Sequence[Operation] | None = None,
    extra_feed_dict: Mapping[Any, Any] | None = None,
) -> Any:
    """The Jacobian of ``y`` by ``x``, ``[size of x, size of y]``, twice: of gradients, and of differences.

    A complex tensor counts twice: the real part of a number, then its imaginary part.

    Args:
      x: a tensor or a list of tensors; ``x_shape`` and ``x_init_value`` are lists too then.
      x_init_value: where; None: anywhere in [0, 1).
      delta: the step of the differences.
      init_targets: operations that are run first.
      extra_feed_dict: what else is fed.

    Returns:
      A pair, or a list of a pair for each of ``x``.

    Raises:
      RuntimeError: there is no default session. TypeError: not real or complex numbers.
      ValueError: shapes contradict each other, or ``y`` does not depend on ``x``.
    """
    session = get_default_session()
    if not isinstance(session, BaseSession):
        raise RuntimeError("compute_gradient needs a default session: call it inside of `with tf.Session():`.")
    several = isinstance(x, list)
    tensors, shapes = (x, x_shape) if several else ([x], [x_shape])
    for tensor in (*tensors, y):
        if tensor.dtype.base_dtype.name not in _TYPES:
            raise TypeError(f"compute_gradient: {tensor!r} must have one of the types {', '.join(sorted(_TYPES))}.")
    starts = x_init_value if several and x_init_value is not None else [x_init_value] * len(tensors)
    with y.graph.as_default():
        dys = [constant(1.0, shape=y_shape, dtype=y.dtype) for _ in tensors]
        found = [(gradients(y, t, identity(dy))[0], dy) for t, dy in zip(tensors, dys, strict=True)]
    for target in init_targets or ():
        session.run(target)
    pairs = [
        _compared(session, t, shape, y, gradient, start, delta, extra_feed_dict or {})
        for t, shape, gradient, start in zip(tensors, shapes, found, starts, strict=True)
    ]
    return pairs if several else pairs[0]


def compute_gradient_error(
    x: Any,
    x_shape: Any,
    y: Tensor,
    y_shape: Sequence[int],
    x_init_value: Any = None,
    delta: float = 1e-3,
    init_targets: Sequence[Operation] | None = None,
    extra_feed_dict: Mapping[Any, Any] | None = None,
) -> float:
    """The largest difference between the two Jacobians of ``compute_gradient``; its arguments."""
    found = compute_gradient(x, x_shape, y, y_shape, x_init_value, delta, init_targets, extra_feed_dict)
    pairs = found if isinstance(found, list) else [found]
    return max((float(np.abs(one - two).max()) for one, two in pairs if one.size), default=0.0)
