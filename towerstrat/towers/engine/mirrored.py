"""The engine of towers whose function is called for each of them: a tower's number is an integer there."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from towerstrat.graph.functions.polymorphic import Function
from towerstrat.graph.ir import nest
from towerstrat.graph.ir.convert import convert_to_tensor
from towerstrat.graph.ir.core import get_default_graph
from towerstrat.graph.ir.device import canonical
from towerstrat.graph.ir.elements import Operation, Tensor
from towerstrat.graph.ir.indexed_slices import IndexedSlices
from towerstrat.graph.ir.mesh import Axis
from towerstrat.graph.ir.parts import Part, PartTensor, Place, part_of, whole_of
from towerstrat.graph.ops import collectives
from towerstrat.graph.ops.control_flow import group
from towerstrat.graph.variables.variables import Variable
from towerstrat.towers.cluster.local import devices_named
from towerstrat.towers.engine.lockstep import Lockstep, LockstepEngine
from towerstrat.towers.engine.surface import Surface
from towerstrat.towers.engine.towers import Towers
from towerstrat.towers.engine.values import (
    DistributedValues,
    MapOutput,
    Mirrored,
    PerDevice,
    Selections,
    regroup,
    select_device_mirrored,
)


class Parts(Selections):
    """Device -> what the tower there has made.

    Args:
      parts: tensors, ``IndexedSlices`` or operations, in the order of the towers.
    """

    def __init__(self, parts: Sequence[Any], devices: Sequence[str], axis: Axis):
        self._parts = list(parts)
        self._local: Any = None
        super().__init__(None, devices, axis)

    @property
    def local(self) -> Any:
        """The value in tower context, made when it is first asked for."""
        if self._local is None:
            self._local = together(self._parts, self.axis)
        return self._local

    @local.setter
    def local(self, value: Any) -> None:
        assert value is None

    def __getitem__(self, device: str) -> Any:
        return self._parts[self.positions[device]]


def together(parts: Sequence[Any], axis: Axis) -> Any:
    """What all positions run of what each has made: one tensor, ``IndexedSlices`` or operation."""
    if any(isinstance(p, IndexedSlices) for p in parts):
        if not all(isinstance(p, IndexedSlices) for p in parts):
            raise ValueError(f"Expected IndexedSlices from all towers or from none, got {list(parts)}.")
        values, indices = (together([getattr(p, name) for p in parts], axis) for name in ("values", "indices"))
        return IndexedSlices(values, indices, whole_of(parts[0].dense_shape))
    wholes = [whole_of(p) for p in parts]
    own = all(isinstance(p, Part | PartTensor) for p in parts)
    graph = get_default_graph()
    if own and all(w is wholes[0] for w in wholes):
        return wholes[0]
    with graph.under(axis), graph.control_dependencies(None):
        if all(isinstance(w, Operation) for w in wholes):
            return group(*dict.fromkeys(wholes))
        tensors = [graph.own(convert_to_tensor(w)) for w in wholes]
        if all(t.op.axis is None and not t.varies and t.shape == tensors[0].shape for t in tensors):
            return collectives.distribute(tensors, axis)
        return collectives.own_of(tensors, axis)


class MirroredTowers(Towers, LockstepEngine):
    """Towers at the positions of a mesh axis; their function is called for each, one after the other.

    What all of them do alike is one program that runs at every position. Where they differ, each position runs what its
    own tower made.

    Args:
      axis: its positions are the towers.
      surface: the surface that the strategy belongs to.
      devices: the towers' devices, as the program calls them.
    """

    def __init__(self, axis: Axis, surface: Surface, devices: Sequence[str]):
        super().__init__(axis, surface)
        self._devices = [canonical(device) for device in devices]
        self.hands_controls_on = surface.hands_controls_on
        self._places = [Place(axis, position) for position in range(axis.size)]

    @classmethod
    def named(cls, names: Sequence[str], surface: Surface) -> MirroredTowers:
        """Towers on devices that a program names.

        Raises:
          ValueError: no device, one of them twice, or one that is not here.
        """
        if not names:
            raise ValueError("Must specify at least one device: the list of devices is empty.")
        if len(set(names)) < len(names):
            raise ValueError(f"No duplicates allowed in `devices` argument: {list(names)}.")
        return cls(Axis(surface.word, devices_named(names)), surface, names)

    own_gradients = True
    uneven_input = True
    reads_together = True

    # ---- running ---------------------------------------------------------------------------------------------

    def call_for_each_tower(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        if not self.mapped:
            return super().call_for_each_tower(fn, *args, **kwargs)
        if isinstance(fn, Function):
            fn = fn.body  # towers meet in it, as the original has it too
        count = self.axis.size
        of_towers = [(self._select(args, k), self._select(kwargs, k)) for k in range(count)]
        given = [a for a, _ in of_towers], [k for _, k in of_towers]
        return Lockstep(self, self._places, fn, *given, self._regroup, self._select).run()

    def map(self, map_over: Any, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> PerDevice:
        made: dict[str, list[Any]] = {}
        for i, m in enumerate(map_over):
            device = self._devices[i % len(self._devices)]
            given, named = select_device_mirrored(device, (args, kwargs))
            with get_default_graph().device(device):
                made.setdefault(device, []).append(fn(m, *given, **named))
        return PerDevice({device: MapOutput(results) for device, results in made.items()})

    def _select(self, structure: Any, tower: int) -> Any:
        return nest.map_structure(lambda value: self._part(value, tower), structure)

    def _part(self, value: Any, tower: int) -> Any:
        """A tower's part of a value."""
        if isinstance(value, Variable) or not isinstance(value, DistributedValues):
            return value
        if isinstance(value, Mirrored):
            return self._copy(value, tower)
        local = value.local
        if isinstance(value, PerDevice) and not isinstance(value._index, Parts):
            if isinstance(local, IndexedSlices):
                values, indices = (self._part_of(t, tower) for t in (local.values, local.indices))
                return IndexedSlices(values, indices, local.dense_shape)
            if isinstance(local, Tensor):
                return self._part_of(local, tower)
        return value.get(self._devices[tower])

    def _copy(self, value: Mirrored, tower: int) -> Any:
        """A tower's copy of a mirrored value: for each device it is on another tensor, as programs compare them."""
        several = len(value.devices) > 1 and value.on_device(self._devices[tower])
        return self._part_of(value.primary, tower) if several and isinstance(value.primary, Tensor) else value.primary

    def _part_of(self, tensor: Tensor, tower: int) -> Tensor:
        graph = get_default_graph()
        if graph.executing_eagerly:
            return tensor
        graph.has_parts = True
        return part_of(graph.own(tensor), self._places[tower])

    def _regroup(self, of_towers: Sequence[Any]) -> Any:
        return regroup(dict(zip(self._devices, of_towers, strict=True)), self._differing)

    def _differing(self, index: Mapping[str, Any]) -> PerDevice:
        """Different values of the towers as one per-device value."""
        parts = list(index.values())
        differing = self.surface.differing
        if any(isinstance(whole_of(p), Tensor | IndexedSlices | Operation) for p in parts):
            return differing(Parts(parts, self._devices, self.axis))
        return differing(index)

    @property
    def worker_device_index(self) -> Any:
        return PerDevice(dict(zip(self._devices, range(self.axis.size), strict=True)))

    @property
    def worker_devices(self) -> list[str]:
        return [self.surface.shown(device) for device in self._devices]

    @property
    def parameter_devices(self) -> list[str]:
        return self.worker_devices

    def non_slot_devices(self, var_list: Sequence[Variable]) -> list[str]:
        return self.worker_devices

    def __repr__(self) -> str:
        return f"<MirroredTowers: {self.axis.size}>"
