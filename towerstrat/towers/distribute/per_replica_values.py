"""Per-replica and mirrored values of ``tf.distribute``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from towerstrat.data.elements.structure import Structure
from towerstrat.errors import UnsupportedError
from towerstrat.graph.eager.positions import ShardedTensor
from towerstrat.graph.ir import nest
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.indexed_slices import IndexedSlices
from towerstrat.graph.ir.mesh import Axis
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.graph.ir.type_specs import HasTypeSpec, TensorSpec, TypeSpec
from towerstrat.graph.ir.types import DType, string
from towerstrat.graph.ops.collectives import all_reduce
from towerstrat.towers.engine import distributed_values as tower_values
from towerstrat.towers.engine import tower_contexts
from towerstrat.towers.engine.distributed_values import LazySelections, PerDevice
from towerstrat.towers.engine.eager_tower_values import stacked


class PerReplica(PerDevice, HasTypeSpec):
    """A value that may differ between replicas. ``values`` are its parts, in the order of the replicas."""

    def __init__(self, index: Any):
        super().__init__(index)

    @property
    def values(self) -> tuple[Any, ...]:
        """The parts. In a function each one used there is taken from its replica by a collective."""
        return tuple([self._index[device] for device in self._index])

    def _to_tensor(self, dtype: DType | None, name: str | None) -> Tensor:
        """In a function that replicas run: the own part."""
        mode = tower_contexts.current_mode()
        if self.local is None or mode.tower is None or mode.engine.axis is not self._argument_axis():
            raise ValueError(
                "It looks like you are using a PerReplica object while not inside a replica context, which is not "
                "supported. Try running your op or function inside a replica context by using `strategy.run`"
            )
        return convert_to_tensor(self.local, dtype, name)

    def _leaves(self) -> list[Any]:
        parts = self.values if self.local is None else ()
        if parts and all(isinstance(p, str | bytes) for p in parts):
            return []  # functions of replicas have no text: it is known already, and stays outside
        if parts and all(isinstance(p, int | float | np.generic) for p in parts):
            return [all_reduce.distribute([convert_to_tensor(p) for p in parts], self._argument_axis())]
        return super()._leaves()

    def _like(self, tensors: Sequence[Tensor]) -> Any:
        if tensors:
            return super()._like(tensors)
        return type(self)({device: convert_to_tensor(self._index[device]) for device in self._index})

    @property
    def _type_spec(self) -> TypeSpec:
        index: Any = self._index
        layout = Layout(list(index), index.axis)
        spec = TensorSpec(self.local.shape, self.local.dtype)
        return PerReplicaSpec(*[spec] * index.axis.size, layout=layout)

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
        if self.local is None or isinstance(self.local, ShardedTensor):
            yield from self.values
        else:
            yield from (self.local for _ in self._index)


class Layout:
    """The replicas that the elements of a dataset have parts for.

    Args:
      devices: the replicas' devices.
      axis: their axis.
    """

    def __init__(self, devices: Sequence[str], axis: Axis):
        self.devices = tuple(devices)
        self.axis = axis

    def pack(self, structure: Structure, tensors: Sequence[Tensor]) -> Any:
        """A structure of per-replica values."""
        return structure.pack([per_replica(t, self.devices, self.axis) for t in tensors])

    def specs(self, structure: Structure) -> Any:
        """The specifications of such a structure."""
        pairs = zip(structure.dims, structure.dtypes, strict=True)
        return structure.pack([PerReplicaSpec(*[TensorSpec(d, t)] * self.axis.size, layout=self) for d, t in pairs])


class PerReplicaSpec(TypeSpec):
    """The specification of a per-replica value.

    Args:
      value_specs: a ``TensorSpec`` for each replica's part.
      layout: the replicas.
    """

    def __init__(self, *value_specs: TensorSpec, layout: Layout | None = None):
        self._value_specs = value_specs
        self._layout = layout

    @property
    def value_type(self) -> type[PerReplica]:
        return PerReplica

    def _serialize(self) -> tuple[Any, ...]:
        return self._value_specs

    @property
    def _component_specs(self) -> TensorSpec:
        return self._value_specs[0]

    def _to_components(self, value: PerReplica) -> Any:
        return value.local

    def _from_components(self, components: Tensor) -> PerReplica:
        assert self._layout is not None
        return per_replica(components, self._layout.devices, self._layout.axis)

    @property
    def axis(self) -> Axis | None:
        """The replicas' axis."""
        return None if self._layout is None else self._layout.axis

    def is_compatible_with(self, spec_or_value: Any) -> bool:
        if isinstance(spec_or_value, PerReplica):
            return self._value_specs[0].is_compatible_with(spec_or_value.local)
        return isinstance(spec_or_value, PerReplicaSpec) and spec_or_value._value_specs == self._value_specs

    def __repr__(self) -> str:
        return f"PerReplicaSpec({', '.join(repr(s) for s in self._value_specs)})"


def per_replica(local: Any, devices: Sequence[str], axis: Axis) -> PerReplica:
    """The per-replica value over a value of replica context."""
    return PerReplica(LazySelections(local, devices, axis))


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
        values, indices = (stacked([getattr(p, name) for p in parts], axis, None) for name in ("values", "indices"))
        return per_replica(IndexedSlices(values, indices, parts[0].dense_shape), devices, axis)
    return per_replica(stacked(parts, axis, dims), devices, axis)


def of_replicas(value: Any, devices: Sequence[str], axis: Axis) -> Any:
    """A per-replica value of other replicas as one of these, which take the first parts. What is not is returned.

    Raises:
      IndexError: it has fewer parts.
    """
    if not isinstance(value, PerReplica) or not isinstance(value.local, ShardedTensor) or value.local.axis is axis:
        return value
    parts = value.values
    if len(parts) < axis.size:
        raise IndexError(f"A per-replica value of {len(parts)} replicas was passed to a function of {axis.size}.")
    return from_parts(parts[: axis.size], devices, axis)


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
