"""What a replica function gives back: values with a part on every replica."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from towerstrat.errors import UnsupportedError
from towerstrat.graph import nest
from towerstrat.graph.convert import convert_to_tensor
from towerstrat.graph.core import get_default_graph
from towerstrat.graph.eager.context import context
from towerstrat.graph.eager.positions import PositionTensor
from towerstrat.graph.eager.tensor import EagerTensor
from towerstrat.graph.elements import Operation, Tensor
from towerstrat.graph.functions.arguments import register_argument
from towerstrat.graph.indexed_slices import IndexedSlices
from towerstrat.graph.mesh import Axis
from towerstrat.graph.ops import collectives
from towerstrat.graph.ops.array import identity
from towerstrat.graph.ops.regions import register_composite
from towerstrat.graph.types import string
from towerstrat.graph.uneven import Uneven
from towerstrat.towers.tower_id import TowerId
from towerstrat.towers.values import PerDevice, Selections


class PerReplica(PerDevice):
    """A value that may differ between replicas. ``values`` are its parts, in the order of the replicas."""

    def __init__(self, index: Any):
        super().__init__(index)

    @property
    def values(self) -> tuple[Any, ...]:
        """The parts. In a function each one used there is taken from its replica by a collective."""
        return tuple([self._index[device] for device in self._index])

    def __repr__(self) -> str:
        parts = ",\n".join(f"  {i}: {value}" for i, value in enumerate(self._shown()))
        return f"PerReplica:{{\n{parts}\n}}"

    def _shown(self) -> Iterator[Any]:
        if self.local is None or isinstance(self.local, PositionTensor):
            yield from self.values
        else:
            yield from (self.local for _ in self._index)


def per_replica(local: Any, devices: Sequence[str], axis: Axis) -> PerReplica:
    """What the replicas see of a value, as one value."""
    return PerReplica(Selections(local, devices, axis))


def from_parts(parts: Sequence[Any], devices: Sequence[str], axis: Axis, dims: Any = None) -> PerReplica:
    """A value of the eager context from one array or tensor for each replica.

    Args:
      dims: the shape that functions see; default that of the parts, None for sizes in which they differ.
    """
    tensors = [convert_to_tensor(p) for p in parts]
    arrays = [t.host() for t in tensors]  # type: ignore[attr-defined]
    shapes = [a.shape for a in arrays]
    dtype = tensors[0].dtype
    if any(t.dtype is not dtype for t in tensors):
        raise TypeError(f"Expected values of one type from all replicas, got {[t.dtype.name for t in tensors]}.")
    if dims is None:
        if len({len(s) for s in shapes}) > 1:
            raise ValueError(f"Expected values of one rank from all replicas, got shapes {shapes}.")
        dims = tuple([sizes[0] if len(set(sizes)) == 1 else None for sizes in zip(*shapes, strict=True)])
    array: Any = np.stack(arrays) if all(s == shapes[0] for s in shapes) else Uneven.of(arrays)
    return per_replica(PositionTensor(context(), array, dtype, axis, dims), devices, axis)


# ---- in loops, branches and functions ------------------------------------------------------------------------------


def _leaves(value: PerDevice) -> list[Any]:
    local = value.local
    if local is None:
        parts = [value.get(device) for device in value.devices]
        raise TypeError(f"{parts!r} are values of single replicas and cannot cross the border of a function or loop.")
    if isinstance(local, IndexedSlices):
        return [local.values, local.indices, *([] if local.dense_shape is None else [local.dense_shape])]
    if isinstance(local, Operation):
        return []
    return [local.tensor() if isinstance(local, TowerId) else local]


def _axis(value: PerDevice) -> Axis:
    index: Any = value._index
    axis: Axis = index.axis
    return axis


def _parts(value: PerDevice) -> list[Tensor]:
    """Its tensors, each known to differ by replica."""
    return [_varying(t, _axis(value)) for t in _leaves(value)]


def _varying(tensor: Any, axis: Axis) -> Tensor:
    if tensor.varies:
        return tensor
    if tensor.dtype is not string:
        return collectives.spread(tensor, axis)
    with get_default_graph().under(axis):
        own = identity(tensor)
    own.varies = True
    return own


def _rebuilt(value: PerDevice, tensors: Sequence[Tensor]) -> PerDevice:
    index: Any = value._index
    local = value.local
    if isinstance(local, IndexedSlices):
        local = IndexedSlices(*tensors)
    elif not isinstance(local, Operation):
        (local,) = tensors
    return type(value)(Selections(local, index.order, index.axis))


register_composite(PerDevice, _parts, _rebuilt, lambda value: len(_leaves(value)))
register_argument(
    PerDevice, lambda value: (_axis(value), isinstance(value.local, IndexedSlices)), _parts, _rebuilt, _axis
)


def is_eager(value: Any) -> bool:
    """Whether a value has its parts already."""
    return isinstance(value, EagerTensor) or (isinstance(value, PerDevice) and isinstance(value.local, PositionTensor))


def require_numbers(structure: Any) -> None:
    """Raises UnsupportedError for strings that differ by replica, which no replica's device can hold."""
    for leaf in nest.flatten(structure):
        local = leaf.local if isinstance(leaf, PerDevice) else None
        if isinstance(local, Tensor) and local.dtype is string and local.varies:
            raise UnsupportedError(
                f"{local!r} holds strings that differ by replica, and functions of replicas run on devices, which have "
                "no strings. Make numbers of them in the input (dataset.map), or take the replicas' parts with "
                "strategy.experimental_local_results(value)."
            )
