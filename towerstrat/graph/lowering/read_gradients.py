"""Gradient rules of variable reads: dense for a whole read, sparse (``RowCotangent``) for a row lookup.

They are the ``backward`` of ``ReadVariableOp`` and ``ResourceGather`` (``variables/state_ops.py``), and give the
cotangent of the variable's handle. JAX's derivative of a lookup would be an array as large as the table, zero but for
the rows of a batch: here it is these rows with their indices.

>>> from types import SimpleNamespace
>>> import towerstrat.compat.v1 as tf
>>> with tf.Graph().as_default():
...     table = tf.get_variable("table", [1000, 2], use_resource=True)
...     rows = tf.gather(table, [3, 1])
>>> lowering = SimpleNamespace(value=lambda indices: np.array([3, 1]))
>>> gradient = gather_backward(lowering, rows.op, [np.float32([[5, 6], [7, 8]])], None)[table.handle]
>>> gradient.values.tolist(), gradient.indices.tolist()
([[5.0, 6.0], [7.0, 8.0]], [3, 1])
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import jax.numpy as jnp
import numpy as np

from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.graph.ir.types import Array
from towerstrat.graph.lowering.lowering import Lowering
from towerstrat.graph.lowering.tape import RowCotangent


def read_backward(
    lowering: Lowering, op: Operation, cotangents: Sequence[Array], outer: Operation
) -> Mapping[Tensor, Array]:
    """The gradient rule of a read: the handle's cotangent is the value's."""
    return {op.inputs[0]: cotangents[0]}


def gather_backward(
    lowering: Lowering, op: Operation, cotangents: Sequence[Array], outer: Operation
) -> Mapping[Tensor, RowCotangent]:
    """The gradient rule of a row lookup: a sparse cotangent of the handle, non-zero in the rows that were read.

    Source: ``_GatherGrad`` in ``tensorflow/python/ops/resource_variable_ops.py``.
    """
    (cotangent,) = cotangents
    indices = lowering.value(op.inputs[1])
    flat = jnp.reshape(jnp.asarray(indices), (-1,))
    tail = cotangent.shape[np.ndim(indices) - (op.type == "GatherNd") :]
    return {op.inputs[0]: RowCotangent(jnp.reshape(cotangent, (flat.shape[0], *tail)), flat)}
