"""The engine of several towers: one trace of a function runs at every position of a mesh axis."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

from towerstrat.graph.eager.positions import ShardedTensor
from towerstrat.graph.ir import nest
from towerstrat.graph.ir.device_names import canonical
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Block, Tensor
from towerstrat.graph.ir.indexed_slices import IndexedSlices
from towerstrat.graph.ir.mesh import Axis
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.graph.ops.array.arrays import identity
from towerstrat.graph.ops.collectives import all_reduce
from towerstrat.graph.ops.control.branches import region_is_uniform
from towerstrat.graph.variables.variables import (
    Variable,
    VariableAggregation,
    VariableSynchronization,
    default_creator,
)
from towerstrat.platform import messages
from towerstrat.towers.engine import tower_contexts
from towerstrat.towers.engine.cross_tower_ops import CrossTowerOps, ReductionToOneDeviceCrossTowerOps
from towerstrat.towers.engine.distributed_values import (
    DistributedValues,
    LazySelections,
    MapOutput,
    Mirrored,
    OwnDevice,
    PerDevice,
    map_parts,
    mirrored,
    select_device_mirrored,
    value_container,
)
from towerstrat.towers.engine.distributed_variables import HOW, Component, DistributedVariableMixin
from towerstrat.towers.engine.engine import Engine
from towerstrat.towers.engine.step_context import MultiStepContext
from towerstrat.towers.engine.step_tracing import trace_step_loop
from towerstrat.towers.engine.strategy_api import StrategyApi
from towerstrat.towers.engine.strategy_scope import colocated
from towerstrat.towers.engine.symbolic_tower_id import TowerId
from towerstrat.towers.engine.tower_reductions import reduced

_ONE_BY_ONE = ReductionToOneDeviceCrossTowerOps()


class SpmdEngine(Engine):
    """One tower at each position of a mesh axis.

    A function of the towers is traced once, and the trace runs at every position. Its operations carry the axis; what
    is made in tower context leaves as a per-device value.

    Args:
      axis: its positions are the towers; a tower is named by the first of its devices.
      surface: the surface that the strategy belongs to.
    """

    axis: Axis
    cross_tower_ops: CrossTowerOps | None = None
    """How values of the towers are combined, where a program says it; None: each by one collective."""

    def __init__(self, axis: Axis, surface: StrategyApi):
        super().__init__()
        self.axis = axis
        self.surface = surface
        self.word = surface.word
        self._devices = [canonical(f"/device:TPU:{i * axis.logical}") for i in range(axis.size)]

    @classmethod
    def on(cls, devices: Sequence[Any], surface: StrategyApi) -> SpmdEngine:
        """Towers on devices: one for each, or a list of logical devices for each."""
        several = bool(devices) and isinstance(devices[0], list | tuple)
        flat = [device for own in devices for device in own] if several else devices
        return cls(Axis(surface.word, flat, len(devices[0]) if several else 1), surface)

    @property
    def divides_losses(self) -> bool:
        return self.surface.divides_losses or self.trains_estimator

    # ---- variables -------------------------------------------------------------------------------------------

    def create_variable(self, next_creator: Callable[..., Any], **kwargs: Any) -> Any:
        kwargs.pop("colocate_with", None)
        kwargs.pop("caching_device", None)
        synchronization = kwargs.get("synchronization", VariableSynchronization.AUTO)
        if synchronization == VariableSynchronization.NONE:
            raise ValueError(
                f"`NONE` variable synchronization mode is not supported with {self.surface.kind} strategy. Please "
                f"change the `synchronization` for variable: {kwargs.get('name')}"
            )
        local = synchronization == VariableSynchronization.ON_READ
        make = self.surface.variable_maker(self, self._devices, self.axis, local)
        if next_creator is default_creator:
            return _with_maker(make, next_creator, kwargs)
        return self._through_creators(make, next_creator, kwargs)

    def _through_creators(
        self, make: Callable[..., Any], next_creator: Callable[..., Any], arguments: dict[str, Any]
    ) -> Any:
        """A variable made by creators that were entered outside of the scope: they are called for each copy."""
        made: list[Any] = []

        def first(**kwargs: Any) -> Any:
            made.append(make(**kwargs))
            return made[0]

        result = _with_maker(first, next_creator, arguments)
        if made and isinstance(made[0], DistributedVariableMixin):
            for copy in list(made[0]._index.values())[1:]:
                named = {**arguments, "name": f"{copy.op.name}/"}
                _with_maker(lambda *, _copy=copy, **kwargs: _copy, next_creator, named)
        return result

    def colocate_vars_with(self, colocate_with_variable: Variable) -> AbstractContextManager[Any]:
        return colocated(self, colocate_with_variable)

    def read_var(self, v: Any) -> Any:
        return identity(v)

    def written(self, variable: Variable, type: str, inputs: Sequence[Tensor]) -> Sequence[Tensor]:
        return self.surface.written(self, self.axis, variable, type, inputs) if self.mapped else inputs

    # ---- running ---------------------------------------------------------------------------------------------

    def call_for_each_tower(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        graph = get_default_graph()
        with graph.under(self.axis), _TowerTrace(self, graph.block):
            result = fn(*self.local_of(args), **self.local_of(kwargs))
        return self.leaving(result)

    def run_steps(
        self, fn: Callable[..., Any], iterator: Any, iterations: Any, initial_loop_values: Any
    ) -> MultiStepContext:
        axis = self.axis if self.mapped else None
        return trace_step_loop(
            self.surface, axis, self._devices, fn, iterator, iterations, initial_loop_values, fixed_shapes=True
        )

    def map(self, map_over: Any, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        return MapOutput([fn(m, *args, **kwargs) for m in map_over])

    def per_tower(self, local: Any) -> PerDevice:
        return self.surface.per_tower(local, self._devices, self.axis)

    def local_of(self, structure: Any) -> Any:
        return nest.map_structure(self._local, structure)

    def _local(self, value: Any) -> Any:
        if isinstance(value, Variable) or not isinstance(value, DistributedValues):
            return value
        if value.local is not None:
            return value.local
        if isinstance(value, Mirrored):
            return value.primary
        parts = [value.get(d) for d in self._devices]
        if not self.mapped:
            return parts[0]
        return all_reduce.distribute([convert_to_tensor(p) for p in parts], self.axis)

    def leaving(self, structure: Any) -> Any:
        return map_parts(self._left, structure) if self.mapped else structure

    def _left(self, value: Any) -> Any:
        if isinstance(value, PerDevice) and isinstance(value.local, ShardedTensor):
            # A value from outside that the function returned: an operation of the towers hands it on.
            with get_default_graph().under(self.axis):
                value = identity(value.local)
        if isinstance(value, TowerId):
            return self.per_tower(value)
        if isinstance(value, Tensor | IndexedSlices) and _in_towers(value):
            return self.per_tower(value)
        return value_container(value)

    # ---- combining -------------------------------------------------------------------------------------------

    def broadcast(self, tensor: Any, destinations: Any) -> Any:
        devices = self._devices if destinations is None else self._destinations(destinations)
        if isinstance(tensor, DistributedValues):
            raise ValueError(f"Expected one tensor to broadcast, got {tensor!r}.")
        return mirrored(convert_to_tensor(tensor), devices, self.axis) if self.mapped else tensor

    def reduce(self, aggregation: VariableAggregation, value: Any, destinations: Any) -> Any:
        devices = self._destinations(destinations)
        if isinstance(value, MapOutput):
            return value.reduced(aggregation)
        if isinstance(value, Variable) and isinstance(value, PerDevice):
            return identity(value)
        if isinstance(value, Mirrored) and not isinstance(value, Variable):
            raise ValueError(
                f"{value!r} is the same on all towers already: reducing it again is refused. Use it as it is."
            )
        if not isinstance(value, DistributedValues):
            if not (isinstance(value, Tensor | IndexedSlices) and _in_towers(value)):
                return self._reduce_plain(aggregation, value)
            value = self.per_tower(value)
        if isinstance(value, PerDevice) and not isinstance(value._index, LazySelections):
            if aggregation == VariableAggregation.ONLY_FIRST_TOWER:
                return mirrored(value.get(self._devices[0]), devices, self.axis)
            return (self.cross_tower_ops or _ONE_BY_ONE).reduce(aggregation, value, destinations)
        if not self.mapped:
            return self.local_of(value)
        if self.cross_tower_ops is not None and aggregation != VariableAggregation.ONLY_FIRST_TOWER:
            return self.cross_tower_ops.reduce(aggregation, value, destinations=destinations)
        return mirrored(self._combined(HOW[aggregation], value), devices, self.axis)

    def _combined(self, how: str, value: Any) -> Any:
        """The towers' values as one: ``how`` is "sum", "mean" or "first"."""
        return reduced(how, self.local_of(value), self.axis, self.own_gradients)

    def batch_reduce(self, aggregation: VariableAggregation, value_destination_pairs: Sequence[Any]) -> list[Any]:
        ops = self.cross_tower_ops
        pairs = [(self._leaving_batch(value), destinations) for value, destinations in value_destination_pairs]
        alone = any(isinstance(v, Variable) or not isinstance(v, PerDevice) for v, _ in pairs) and self.mapped
        if ops is None or alone or aggregation == VariableAggregation.ONLY_FIRST_TOWER:
            return super().batch_reduce(aggregation, pairs)
        return ops.batch_reduce(aggregation, pairs)

    def _leaving_batch(self, value: Any) -> Any:
        return self.per_tower(value) if isinstance(value, Tensor | IndexedSlices) and _in_towers(value) else value

    def rows_together(self, aggregation: VariableAggregation, indices: Any, updates: Any) -> IndexedSlices:
        """The rows that all towers have, as one value; with ONLY_FIRST_TOWER those of the first."""
        own = [convert_to_tensor(self.local_of(value)) for value in (indices, updates)]
        rows = IndexedSlices(own[1], own[0])
        if not self.mapped:
            return rows
        found: IndexedSlices = reduced(HOW[aggregation], rows, self.axis, self.own_gradients)
        return found

    def _reduce_plain(self, aggregation: VariableAggregation, value: Any) -> Any:
        """A value that all towers share. Raises ValueError for the sum of one."""
        if isinstance(value, int | float) and value == 0:
            return 0
        if aggregation in (VariableAggregation.MEAN, VariableAggregation.ONLY_FIRST_TOWER) or not self.mapped:
            return value
        raise ValueError(
            f"A non-DistributedValues value {value} cannot be reduced with the given aggregation {aggregation}."
        )

    def concatenated(self, local: Any, axis: int) -> Tensor:
        if not self.mapped:
            return convert_to_tensor(local)
        with get_default_graph().under(None):
            return all_reduce.all_concat(convert_to_tensor(local), self.axis, dim=axis, own=self.own_gradients)

    def _destinations(self, destinations: Any) -> list[str]:
        """The names of the devices that ``destinations`` stands for. Raises ValueError for none, and for others."""
        if isinstance(destinations, DistributedValues):
            return destinations.devices
        if isinstance(destinations, str):
            return [canonical(destinations)]
        if isinstance(destinations, list | tuple) and all(isinstance(d, str) for d in destinations):
            if not destinations:
                raise ValueError("destinations can not be empty")
            return [canonical(d) for d in destinations]
        if isinstance(destinations, Tensor | Variable | Component | IndexedSlices):
            return [canonical(destinations.device)] if destinations.device else list(self._devices)
        if not destinations:
            raise ValueError("destinations can not be empty")
        raise ValueError(
            "destinations must be one of a DistributedValues object, a tf.Variable object, or a device string or list, "
            f"got {destinations!r}."
        )

    # ---- updating --------------------------------------------------------------------------------------------

    def update(self, var: Any, fn: Callable[..., Any], *args: Any, grouped: bool = True, **kwargs: Any) -> Any:
        var = value_container(var)
        if not isinstance(var, Variable):
            raise TypeError(f"Expected a variable to update, got {var!r}.")
        axis = self.axis if isinstance(var, PerDevice) else None
        return self._updated(lambda *a, **k: fn(var, *a, **k), args, kwargs, grouped, axis)

    def update_non_slot(
        self, colocate_with: Any, fn: Callable[..., Any], *args: Any, grouped: bool = True, **kwargs: Any
    ) -> Any:
        return self._updated(fn, args, kwargs, grouped)

    def _updated(self, fn: Callable[..., Any], args: Any, kwargs: Any, grouped: bool, axis: Axis | None = None) -> Any:
        """The result of an update; along ``axis`` if each tower updates a value of its own."""
        device = self._devices[0]
        args, kwargs = select_device_mirrored(device, (args, kwargs))
        with get_default_graph().under(axis), tower_contexts.UpdateContext(device):
            result = fn(*args, **kwargs)

        def merged(value: Any) -> Any:
            if not self.mapped or not isinstance(value, Tensor):
                return value
            return mirrored(value, self._devices, self.axis) if axis is None else Mirrored(self.per_tower(value)._index)

        result = map_parts(merged, result)
        return result if grouped else map_parts(self.tower_view.unwrap, result)

    # ---- parts -----------------------------------------------------------------------------------------------

    def unwrap(self, value: Any) -> list[Any]:
        if isinstance(value, DistributedValues):
            return [value.get(d) for d in value.devices]
        if isinstance(value, list):
            return value
        return [value]

    def value_container(self, value: Any) -> Any:
        return value_container(value)

    # ---- what it is ------------------------------------------------------------------------------------------

    @property
    def is_single_tower(self) -> bool:
        return not self.mapped

    @property
    def num_towers(self) -> int:
        return self.axis.size

    @property
    def worker_devices(self) -> list[str]:
        return TowerDevices(self._devices) if self.mapped else list(self._devices)

    @property
    def parameter_devices(self) -> list[str]:
        return list(self._devices)

    def non_slot_devices(self, var_list: Sequence[Variable]) -> list[str]:
        return list(self._devices)

    @property
    def worker_device_index(self) -> Any:
        return self.per_tower(TowerId(self.axis)) if self.mapped else 0

    def configure(self, session_config: messages.ConfigProto | None) -> None:
        """Sessions of several towers share no state."""
        if session_config:
            session_config.isolate_session_state = True

    def __repr__(self) -> str:
        return f"<Towers: {self.axis.size}>"


class TowerDevices(list[str]):
    """The devices of towers, in their order; by a tower's own number the one that it runs on."""

    def __getitem__(self, index: Any) -> Any:
        return OwnDevice(self[0]) if isinstance(index, TowerId) else super().__getitem__(index)


def _with_maker(make: Callable[..., Any], creator: Callable[..., Any], arguments: Mapping[str, Any]) -> Any:
    """The variable of a creator where the innermost one calls ``make``."""
    graph = get_default_graph()
    outer, graph.variable_scopes.maker = graph.variable_scopes.maker, make
    try:
        return creator(**arguments)
    finally:
        graph.variable_scopes.maker = outer


def _in_towers(value: Tensor | IndexedSlices) -> bool:
    """Whether a value was made in tower context, or is each tower's part of an input."""
    tensor = value.values if isinstance(value, IndexedSlices) else value
    return tensor.varies or tensor.op.axis is not None


class _TowerTrace(tower_contexts.TowerContext):
    """The tower context of a function that is traced once for all towers."""

    def __init__(self, towers: SpmdEngine, block: Block):
        super().__init__(towers, TowerId(towers.axis) if towers.mapped else 0)
        self._towers = towers
        self._block = block

    @property
    def device(self) -> str:
        tower_contexts.require_tower_context(self)
        device = self._towers.worker_devices[0]
        return OwnDevice(device) if self._towers.mapped else device

    def _merge_call(self, merge_fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        towers = self._towers
        graph = get_default_graph()
        if graph.block is not self._block and not region_is_uniform(self._block, graph.block):
            raise RuntimeError(
                "merge_call() inside a tf.cond or tf.while_loop whose condition may differ between "
                f"{towers.word}s: the {towers.word}s would wait for each other forever. Call it outside, or make "
                "the condition the same everywhere (reduce it first).\n"
                f"  the condition's region was created at: {graph.block.line}"
            )
        args, kwargs = towers.leaving(args), towers.leaving(kwargs)
        with graph.under(None):
            result = super()._merge_call(merge_fn, *args, **kwargs)
        return towers.local_of(result)
