"""Distributed values: per-device ones have a part on every tower, mirrored ones are equal everywhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from towerstrat.graph.ir import nest
from towerstrat.graph.ir.composite_values import Argument, Convertible, Fetchable
from towerstrat.graph.ir.constant_folding import constant_value
from towerstrat.graph.ir.device_names import canonical
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.graph.ir.indexed_slices import IndexedSlices
from towerstrat.graph.ir.mesh import Axis
from towerstrat.graph.ir.python_operators import Operators
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor, is_tensor
from towerstrat.graph.ir.types import DType, string
from towerstrat.graph.ops.array.arrays import identity
from towerstrat.graph.ops.collectives import all_reduce
from towerstrat.graph.variables.variables import Variable, VariableAggregation
from towerstrat.towers.engine import tower_contexts
from towerstrat.towers.engine.symbolic_tower_id import TowerId


class OwnDevice(str):
    """The device's name in a tower context whose trace runs on all towers: it stands for each tower's own device."""


@cache
def _positions(devices: tuple[str, ...]) -> Mapping[str, int]:
    """Device -> position; one for all values, as there may be hundreds on thousands of devices."""
    return {canonical(device): position for position, device in enumerate(devices)}


class LazySelections(Mapping[str, Any]):
    """Device -> the value of the tower there, selected from the tensor of a trace that runs on all towers.

    The operation that selects a part is added to the graph when the part is first asked for, once for each block.

    Args:
      local: the value in tower context.
      devices: canonical device names in tower order.
      axis: the axis of the towers.
    """

    def __init__(self, local: Any, devices: Sequence[str], axis: Axis):
        self.local = local
        self.positions = _positions(tuple(devices))
        self.axis = axis
        self._made: dict[tuple[int, Any], Any] = {}

    def __getitem__(self, device: str) -> Any:
        position = self.positions[device]
        if isinstance(self.local, TowerId):
            return position
        key = (position, get_default_graph().block)
        if key not in self._made:
            self._made[key] = _at_position(self.local, self.axis, position)
        return self._made[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.positions)

    def __len__(self) -> int:
        return len(self.positions)


def _at_position(local: Any, axis: Axis, position: int) -> Any:
    with get_default_graph().under(None):
        if isinstance(local, IndexedSlices):
            parts = [all_reduce.select(t, axis, position) for t in (local.values, local.indices)]
            return IndexedSlices(parts[0], parts[1], local.dense_shape)
        if isinstance(local, Operation):
            return local
        return all_reduce.select(convert_to_tensor(local), axis, position)


class DistributedValues:
    """A value with a part on each of some devices.

    Args:
      index: device name -> part.
    """

    def __init__(self, index: Mapping[str, Any]):
        if isinstance(index, LazySelections):
            self._index: Mapping[str, Any] = index
        else:
            self._index = {canonical(device): value for device, value in index.items()}

    @property
    def local(self) -> Any:
        """The value in tower context; None where it was made of separate parts."""
        return self._index.local if isinstance(self._index, LazySelections) else None

    def get(self, device: str | None = None) -> Any:
        """The part on a device; by default the current tower's.

        Raises:
          ValueError: there is none on that device, or none is current.
        """
        if device is None:
            tower = tower_contexts.get_tower_context()
            device = tower.device if tower is not None else tower_contexts.get_update_device()
            if device is None:
                return self._get_cross_tower()
        if isinstance(device, OwnDevice) and self.local is not None:
            return self.local
        name = canonical(device)
        if name not in self._index:
            raise ValueError(f"Device {name} not found in {list(self._index)}.")
        return self._index[name]

    def _get_cross_tower(self) -> Any:
        raise ValueError(
            f"{self!r} has a value on every device; name one (get(device)), or combine them with "
            "distribution.reduce or distribution.unwrap."
        )

    def on_device(self, device: str) -> bool:
        return canonical(device) in self._index

    @property
    def devices(self) -> list[str]:
        return list(self._index)

    @property
    def is_tensor_like(self) -> bool:
        """Whether every part can be used as a tensor."""
        if self.local is not None:
            return is_tensor(self.local)
        return all(is_tensor(v) for v in self._index.values())

    def __repr__(self) -> str:
        what = repr(self.local) if self.local is not None else repr(dict(self._index))
        return f"{type(self).__name__}({what} on {len(self._index)} devices)"


class PerDevice(Argument, Convertible, Fetchable, DistributedValues):
    """A value that may differ between towers."""

    def _to_tensor(self, dtype: DType | None, name: str | None) -> Any:
        raise TypeError(
            f"{self!r} has a value on every tower and is no single tensor. Combine it with distribution.reduce, take "
            "distribution.unwrap(value)[i], or use it inside call_for_each_tower or merge_call."
        )

    def _fetch_parts(self) -> tuple[list[Any], Callable[[list[Any]], Any]]:
        return [self.get(device) for device in self.devices], list

    def _tensors(self) -> list[Tensor]:
        """The towers' own tensors, known to differ by tower; of a variable its value."""
        if isinstance(self, Variable):
            return self._leaves()
        return [_varying(t, self._argument_axis()) for t in self._leaves()]

    def _tensor_count(self) -> int:
        return len(self._leaves())

    def _leaves(self) -> list[Any]:
        if isinstance(self, Variable):
            return [convert_to_tensor(self)]
        local = self.local
        if local is None:
            parts = [self.get(device) for device in self.devices]
            raise TypeError(
                f"{parts!r} are values of single replicas and cannot cross the border of a function or loop."
            )
        if isinstance(local, IndexedSlices):
            return [local.values, local.indices, *([] if _dense(local) is not None else [local.dense_shape])]
        if isinstance(local, Operation):
            return []
        return [local.tensor() if isinstance(local, TowerId) else local]

    def _like(self, tensors: Sequence[Tensor]) -> Any:
        if isinstance(self, Variable):
            return tensors[0]
        index: Any = self._index
        local = self.local
        if isinstance(local, IndexedSlices):
            local = IndexedSlices(tensors[0], tensors[1], tensors[2] if len(tensors) > 2 else local.dense_shape)
        elif not isinstance(local, Operation):
            (local,) = tensors
        return type(self)(LazySelections(local, list(index), index.axis))

    def _argument_key(self) -> Any:
        return self._argument_axis(), _dense(self.local) if isinstance(self.local, IndexedSlices) else False

    def _argument_axis(self) -> Axis:
        index: Any = self._index
        axis: Axis = index.axis
        return axis


def _dense(slices: IndexedSlices) -> tuple[int, ...] | None:
    """The shape that slices belong to, () where they have none; None where it is not known before it is computed."""
    known = () if slices.dense_shape is None else constant_value(slices.dense_shape)
    return None if known is None else tuple(known)


def _varying(tensor: Tensor, axis: Axis) -> Tensor:
    if tensor.varies:
        return tensor
    if tensor.dtype is not string:
        return all_reduce.pcast_varying(tensor, axis)
    with get_default_graph().under(axis):
        own = identity(tensor)
    own.varies = True
    return own


class Mirrored(Operators, Convertible, Fetchable, DistributedValues):
    """A value that is the same on all of its devices; used as a tensor it is that value."""

    @property
    def primary(self) -> Any:
        """The one value; where an update left a part on each device, the first one."""
        return next(iter(self._index.values()))

    def _get_cross_tower(self) -> Any:
        return self.primary

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") and name != "_as_graph_element":
            raise AttributeError(name)
        return getattr(self.primary, name)

    def _as_graph_element(self) -> Any:
        value = self.primary
        convert = getattr(value, "_as_graph_element", None)
        return convert() if convert is not None else value

    __array_priority__ = 150

    def _overloaded(self) -> Tensor:
        return convert_to_tensor(self.primary)

    def _to_tensor(self, dtype: DType | None, name: str | None) -> Tensor:
        return convert_to_tensor(self.primary, dtype, name)

    def _fetch_parts(self) -> tuple[list[Any], Callable[[list[Any]], Any]]:
        return [self.primary], lambda values: values[0]


class _Everywhere(LazySelections):
    """Device -> the one value that all devices share."""

    def __getitem__(self, device: str) -> Any:
        if device not in self.positions:
            raise KeyError(device)
        return self.local


def per_device(local: Any, devices: Sequence[str], axis: Axis) -> PerDevice:
    """The per-device value over a value of tower context."""
    return PerDevice(LazySelections(local, devices, axis))


def mirrored(value: Any, devices: Sequence[str], axis: Axis) -> Mirrored:
    """One value, mirrored on devices."""
    return Mirrored(_Everywhere(value, devices, axis))


def regroup(per_device_values: Mapping[str, Any], wrap_class: Callable[..., Any] = PerDevice) -> Any:
    """Device -> structure, as one structure of distributed values.

    The same object from every device stays itself; different ones become ``wrap_class``.

    Raises:
      ValueError: the structures differ between devices.
    """
    parts = list(per_device_values.values())
    first = parts[0]
    if nest.is_sequence(first):
        for other in parts[1:]:
            try:
                nest.assert_same_structure(_shallow(first), _shallow(other))
            except (ValueError, TypeError) as error:
                raise ValueError(f"Towers returned different structures: {error}") from None
        columns = zip(*(nest.children(p) for p in parts), strict=True)
        return _remade(
            first, [regroup(dict(zip(per_device_values, column, strict=True)), wrap_class) for column in columns]
        )
    if all(p is first for p in parts[1:]) and (len(parts) > 1 or container_of(first) is None):
        return first
    container = container_of(first)
    if container is not None and all(container_of(p) is container for p in parts):
        return container
    return wrap_class(per_device_values)


def map_parts(function: Callable[[Any], Any], structure: Any) -> Any:
    """``function`` applied to the leaves of what towers return; keys of a dictionary need not sort."""
    if structure.__class__ is dict:
        return {key: map_parts(function, child) for key, child in structure.items()}
    if not nest.is_sequence(structure):
        return function(structure)
    return _remade(structure, [map_parts(function, child) for child in nest.children(structure)])


def _remade(like: Any, children: Sequence[Any]) -> Any:
    """A structure with other children. A namedtuple's own ``__new__``, which may check them, is not called."""
    return like._make(children) if hasattr(like, "_make") else nest.rebuild(like, children)


def _shallow(value: Any) -> Any:
    return _remade(value, [0 for _ in nest.children(value)])


def container_of(value: Any) -> Any:
    """The distributed value that a component belongs to, or None."""
    find = getattr(value, "_distributed_container", None)
    return find() if callable(find) and not isinstance(value, DistributedValues) else None


def value_container(value: Any) -> Any:
    """The container of a component, otherwise the value itself."""
    container = container_of(value)
    return value if container is None else container


def select_device(device: str, structured: Any) -> Any:
    """Each distributed value in a structure replaced by its part on a device."""
    return nest.map_structure(lambda x: x.get(device) if isinstance(x, DistributedValues) else x, structured)


def select_device_mirrored(device: str, structured: Any) -> Any:
    """Likewise, and everything distributed must be mirrored.

    Raises:
      TypeError: it is per-device.
    """

    def get(value: Any) -> Any:
        if not isinstance(value, DistributedValues):
            return value
        if not isinstance(value, Mirrored):
            raise TypeError(
                f"Expected value to be mirrored across towers: {value!r} in {structured!r}. "
                "Reduce it first: distribution.reduce(aggregation, value, destinations=var)."
            )
        if isinstance(value, Variable):
            return value
        return value.get(device) if value.on_device(device) else value.primary

    return nest.map_structure(get, structured)


class MapOutput:
    """The results of ``DistributionStrategy.map``, in order."""

    def __init__(self, values: Sequence[Any]):
        self._values = list(values)

    def get(self) -> list[Any]:
        return self._values

    def reduced(self, aggregation: VariableAggregation) -> Any:
        """Their sum, their mean or the first of them. Raises ValueError where there are none."""
        if not self._values:
            raise ValueError("Cannot reduce the output of map() over nothing.")
        if aggregation == VariableAggregation.ONLY_FIRST_TOWER:
            return self._values[0]
        total = sum(self._values[1:], self._values[0])
        return total / len(self._values) if aggregation == VariableAggregation.MEAN else total
