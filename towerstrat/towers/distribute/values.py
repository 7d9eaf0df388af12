"""What a replica function gives back: values with a part on every replica."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from towerstrat.errors import UnsupportedError
from towerstrat.graph.eager.context import context
from towerstrat.graph.eager.positions import PositionTensor
from towerstrat.graph.eager.tensor import EagerTensor
from towerstrat.graph.functions.arguments import register_argument
from towerstrat.graph.ir import nest
from towerstrat.graph.ir.convert import convert_to_tensor, register_tensor_conversion_function
from towerstrat.graph.ir.core import get_default_graph
from towerstrat.graph.ir.elements import Operation, Tensor
from towerstrat.graph.ir.indexed_slices import IndexedSlices
from towerstrat.graph.ir.mesh import Axis
from towerstrat.graph.ir.static import constant_value
from towerstrat.graph.ir.types import string
from towerstrat.graph.ir.uneven import Uneven
from towerstrat.graph.ops import collectives
from towerstrat.graph.ops.array import identity
from towerstrat.graph.ops.regions import register_composite
from towerstrat.graph.variables.variables import Variable
from towerstrat.towers.engine import contexts
from towerstrat.towers.engine import values as tower_values
from towerstrat.towers.engine.tower_id import TowerId
from towerstrat.towers.engine.values import PerDevice, Selections


class PerReplica(PerDevice):
    """A value that may differ between replicas. ``values`` are its parts, in the order of the replicas."""

    def __init__(self, index: Any):
        super().__init__(index)

    @property
    def values(self) -> tuple[Any, ...]:
        """The parts. In a function each one used there is taken from its replica by a collective."""
        return tuple([self._index[device] for device in self._index])

    @property
    def is_tensor_like(self) -> bool:
        """Whether it can be used as a tensor: its parts can, in a replica's context."""
        return False

    def __repr__(self) -> str:
        return self._described(repr)

    def __str__(self) -> str:
        return self._described(str)

    def _described(self, describe: Callable[[Any], str]) -> str:
        parts = ",\n".join(f"  {i}: {describe(value)}" for i, value in enumerate(self._shown()))
        return f"PerReplica:{{\n{parts}\n}}"

    def _shown(self) -> Iterator[Any]:
        if self.local is None or isinstance(self.local, PositionTensor):
            yield from self.values
        else:
            yield from (self.local for _ in self._index)


def per_replica(local: Any, devices: Sequence[str], axis: Axis) -> PerReplica:
    """What the replicas see of a value, as one value."""
    return PerReplica(Selections(local, devices, axis))


class Mirrored(tower_values.Mirrored):
    """One value on the devices of all replicas. ``values`` are its copies."""

    @property
    def values(self) -> tuple[Any, ...]:
        """The value, once for each replica."""
        return (self.primary,) * len(self._index)

    def __repr__(self) -> str:
        return f"Mirrored({self.primary!r} on {len(self._index)} devices)"


def mirrored_values(value: Any, devices: Sequence[str], axis: Axis) -> Mirrored:
    """One value on the devices of all replicas."""
    return Mirrored(tower_values.mirrored(value, devices, axis)._index)


def from_parts(parts: Sequence[Any], devices: Sequence[str], axis: Axis, dims: Any = None) -> PerReplica:
    """A value from one array, tensor or ``IndexedSlices`` for each replica.

    Args:
      dims: the shape that functions see; default that of the parts, None for sizes in which they differ.
    """
    if all(isinstance(p, IndexedSlices) for p in parts):
        values, indices = (_joined([getattr(p, name) for p in parts], axis, None) for name in ("values", "indices"))
        return per_replica(IndexedSlices(values, indices, parts[0].dense_shape), devices, axis)
    return per_replica(_joined(parts, axis, dims), devices, axis)


def of_replicas(value: Any, devices: Sequence[str], axis: Axis) -> Any:
    """A per-replica value of other replicas as one of these, which take the first parts. What is not is returned.

    Raises:
      IndexError: it has fewer parts.
    """
    if not isinstance(value, PerReplica) or not isinstance(value.local, PositionTensor) or value.local.axis is axis:
        return value
    parts = value.values
    if len(parts) < axis.size:
        raise IndexError(f"A per-replica value of {len(parts)} replicas was passed to a function of {axis.size}.")
    return from_parts(parts[: axis.size], devices, axis)


def _joined(parts: Sequence[Any], axis: Axis, dims: Any) -> Tensor:
    tensors = [convert_to_tensor(p) for p in parts]
    dtype = tensors[0].dtype
    if any(t.dtype is not dtype for t in tensors):
        raise TypeError(f"Expected values of one type from all replicas, got {[t.dtype.name for t in tensors]}.")
    arrays: list[Any] = [t.host() if isinstance(t, EagerTensor) else constant_value(t) for t in tensors]
    if any(a is None for a in arrays):
        return collectives.distribute(tensors, axis)
    shapes = [a.shape for a in arrays]
    if dims is None:
        if len({len(s) for s in shapes}) > 1:
            raise ValueError(f"Expected values of one rank from all replicas, got shapes {shapes}.")
        dims = tuple([sizes[0] if len(set(sizes)) == 1 else None for sizes in zip(*shapes, strict=True)])
    array: Any = np.stack(arrays) if all(s == shapes[0] for s in shapes) else Uneven.of(arrays)
    return PositionTensor(context(), array, dtype, axis, dims)


def _converted(value: PerReplica, dtype: Any = None, name: str | None = None, as_ref: bool = False) -> Any:
    """In a function that replicas run: the own part."""
    index: Any = value._index
    mode = contexts.current_mode()
    if value.local is None or mode.tower is None or mode.engine.axis is not index.axis:
        raise ValueError(
            "It looks like you are using a PerReplica object while not inside a replica context, which is not "
            "supported. Try running your op or function inside a replica context by using `strategy.run`"
        )
    return convert_to_tensor(value.local, dtype, name)


register_tensor_conversion_function(PerReplica, _converted, priority=10)


# ---- in loops, branches and functions ------------------------------------------------------------------------------


def _leaves(value: PerDevice) -> list[Any]:
    if isinstance(value, Variable):
        return [convert_to_tensor(value)]
    local = value.local
    if local is None:
        parts = [value.get(device) for device in value.devices]
        raise TypeError(f"{parts!r} are values of single replicas and cannot cross the border of a function or loop.")
    if isinstance(local, IndexedSlices):
        return [local.values, local.indices, *([] if _dense(local) is not None else [local.dense_shape])]
    if isinstance(local, Operation):
        return []
    return [local.tensor() if isinstance(local, TowerId) else local]


def _dense(slices: IndexedSlices) -> tuple[int, ...] | None:
    """The shape that slices belong to, () where they have none; None where it is not known before it is computed."""
    known = () if slices.dense_shape is None else constant_value(slices.dense_shape)
    return None if known is None else tuple(known)


def _axis(value: PerDevice) -> Axis:
    index: Any = value._index
    axis: Axis = index.axis
    return axis


def _parts(value: PerDevice) -> list[Tensor]:
    """Its tensors, each known to differ by replica; of a variable its value."""
    if isinstance(value, Variable):
        return _leaves(value)
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


def _rebuilt(value: PerDevice, tensors: Sequence[Tensor]) -> Any:
    if isinstance(value, Variable):
        return tensors[0]
    index: Any = value._index
    local = value.local
    if isinstance(local, IndexedSlices):
        local = IndexedSlices(tensors[0], tensors[1], tensors[2] if len(tensors) > 2 else local.dense_shape)
    elif not isinstance(local, Operation):
        (local,) = tensors
    return type(value)(Selections(local, index.order, index.axis))


register_composite(PerDevice, _parts, _rebuilt, lambda value: len(_leaves(value)))
register_argument(
    PerDevice,
    lambda value: (_axis(value), _dense(value.local) if isinstance(value.local, IndexedSlices) else False),
    _parts,
    _rebuilt,
    _axis,
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
