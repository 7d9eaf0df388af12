"""Convert kernels' results to outputs of operations, and check that these are as declared.

``Lowering`` has every result of a kernel, of numpy's form or of JAX's, made a list of outputs here, and every output
checked. A value whose dtype or static shape is not what the graph says is an InternalError at once, at the operation
that made it, rather than a wrong number later: programs were planned by the declared ones.

>>> import towerstrat.compat.v1 as tf
>>> with tf.Graph().as_default():
...     x = tf.constant([1.0, 2.0], name="x")
>>> [array.tolist() for array in to_output_list(x.op, np.float32([1, 2]), np.asarray)]      # x.op has one output
[[1.0, 2.0]]
>>> check_declared(x, np.float32([1, 2]))
>>> check_declared(x, np.float32([1, 2, 3]))                # doctest: +ELLIPSIS
Traceback (most recent call last):
towerstrat.errors.InternalError: x (type Const, ...) gave float32[3]; it was declared as float32, shape (2,). ...
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias, TypeVar

import jax
import numpy as np

from towerstrat.errors import InternalError
from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.graph.ir.types import Array, resource

FOLD_LIMIT = 4096
"""Elements up to which constants are folded with numpy while lowering, rather than by the compiler."""
KernelResult: TypeAlias = Array | tuple[Array, ...] | list[Array] | None
"""The return value of a kernel: a sequence where the type has several outputs, None where it has none."""
V = TypeVar("V")


def to_output_list(op: Operation, result: KernelResult, each: Callable[[Array], V]) -> list[V]:
    """A kernel's result, an array or a tuple of them, as one value per output; ``each`` is applied to every value."""
    if result is None:
        return []
    if len(op.outputs) == 1 and not isinstance(result, tuple | list):
        return [each(result)]
    return [each(r) for r in result]


def check_declared(tensor: Tensor, value: object) -> None:
    """Raises InternalError where a value is not of the element type and static shape that its tensor has."""
    if not isinstance(value, jax.Array | np.ndarray) or tensor.dtype is resource:
        return
    dims = tensor.dims
    fits = dims is None or (
        len(dims) == value.ndim and all(d is None or d == n for d, n in zip(dims, value.shape, strict=True))
    )
    if value.dtype != tensor.dtype.np or not fits:
        op = tensor.op
        raise InternalError(
            None,
            op,
            f"{op.name} (type {op.type}, created at {op.line}) gave {value.dtype.name}{list(value.shape)}; it was "
            f"declared as {tensor.dtype.name}, shape {tensor.shape}. This is an error of towerstrat: please report it.",
        )


def all_known(args: Sequence[Array], large: bool = False) -> bool:
    """Whether numpy can compute an operation of these inputs: all are known, and small unless ``large`` is set."""
    return all(isinstance(a, np.ndarray | np.generic) and (large or a.size <= FOLD_LIMIT) for a in args)
