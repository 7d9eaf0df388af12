"""Eager tensors that vary along a mesh axis: one row per replica.

``strategy.run`` of a function takes and returns them: a program along the axis gives its values stacked, and they stay
where the devices have them until somebody looks. Elsewhere ``part`` gives single rows; eager operations refuse the
whole (``EagerContext.add``). Where replicas have values of several shapes the array is an ``UnevenShards``, padded to
the largest.

>>> from towerstrat.graph.eager.context import context
>>> from towerstrat.graph.ir.types import float32
>>> sharded = ShardedTensor(context(), np.float32([[1, 2], [3, 4]]), float32, None, (2,))
>>> sharded.dims, sharded.part(1).numpy()
((2,), array([3., 4.], dtype=float32))
"""

from __future__ import annotations

import jax
import numpy as np

from towerstrat.graph.eager.context import EagerContext
from towerstrat.graph.eager.tensor import EagerTensor, _maker
from towerstrat.graph.ir.graph_elements import Operation
from towerstrat.graph.ir.mesh import Axis, everywhere
from towerstrat.graph.ir.shapes import Dims
from towerstrat.graph.ir.types import Array, DType
from towerstrat.graph.ir.uneven_shards import UnevenShards


class ShardedTensor(EagerTensor):
    """The values of all replicas: one array ``[axis size, *dims]``, or an ``UnevenShards``.

    Functions that run along the axis take and return it. Eager operations refuse it; ``part`` gives one row.

    Args:
      dims: the shape at one replica; None for sizes that may differ from call to call.
    """

    __slots__ = ("axis",)

    def __init__(self, context: EagerContext, array: Array | UnevenShards, dtype: DType, axis: Axis, dims: Dims):
        # Not by ``EagerTensor.__init__``, whose ``dims`` are those of the array: here it has a row per replica.
        self._context = context
        self.array = array
        self.dtype = dtype
        self.dims = dims
        self.varies = True
        self.value_index = 0
        self._op = None
        self.axis = axis

    @property
    def op(self) -> Operation:  # type: ignore[override]
        if self._op is None:
            self._op = _maker(self, "PositionInput", {"axis": self.axis, "dtype": self.dtype, "shape": self.dims})
        return self._op

    @property
    def name(self) -> str:
        return "per_replica:0"

    def part(self, position: int) -> EagerTensor:
        """The value at one replica."""
        array = self.array
        if isinstance(array, UnevenShards):
            return EagerTensor(self._context, array.part(position), self.dtype)
        if isinstance(array, jax.Array) and not array.is_fully_addressable:
            array = self.array = everywhere(array)
        if isinstance(array, jax.Array) and not array.is_fully_replicated:
            # The shard of this position is on one device already: indexing the whole array would gather it first.
            (part,) = [s.data for s in array.addressable_shards if s.index[0].start == position and s.replica_id == 0]
            return EagerTensor(self._context, np.asarray(part)[0, ...], self.dtype)
        return EagerTensor(self._context, np.asarray(array)[position, ...], self.dtype)

    def __repr__(self) -> str:
        return f"<PositionTensor {self.dtype.name} {self.dims} at {self.axis.size} positions>"

    __str__ = __repr__
