"""Engines whose towers' function can be called for each of them: a tower's number is an integer there."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from towerstrat.graph.eager.positions import ShardedTensor
from towerstrat.graph.eager.tensor import EagerTensor
from towerstrat.graph.functions.polymorphic import Function
from towerstrat.graph.ir import nest
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.graph.ir.indexed_slices import IndexedSlices
from towerstrat.graph.ir.mesh import Axis
from towerstrat.graph.ir.shard_operations import AxisIndex, ShardOperation, ShardTensor, replicated_of, shard_of
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.graph.ops.collectives import all_reduce
from towerstrat.graph.ops.control.branches import group
from towerstrat.graph.variables.variables import Variable
from towerstrat.towers.engine import tower_contexts
from towerstrat.towers.engine.distributed_values import (
    DistributedValues,
    LazySelections,
    Mirrored,
    PerDevice,
    map_parts,
    regroup,
    select_device_mirrored,
    value_container,
)
from towerstrat.towers.engine.eager_tower_values import combined, copied, joined, stacked
from towerstrat.towers.engine.spmd_engine import SpmdEngine
from towerstrat.towers.engine.step_context import MultiStepContext
from towerstrat.towers.engine.step_tracing import run_steps_eagerly
from towerstrat.towers.engine.strategy_api import StrategyApi
from towerstrat.towers.engine.tower_threads import LockstepEngine, TowerThreads


class Parts(LazySelections):
    """Device -> what the tower there has made.

    Args:
      parts: tensors, ``IndexedSlices``, operations or any Python values, in the order of the towers.
    """

    def __init__(self, parts: Sequence[Any], devices: Sequence[str], axis: Axis):
        self._parts = list(parts)
        self._local: Any = None
        super().__init__(None, devices, axis)

    @property
    def local(self) -> Any:
        """The value in tower context, made when it is first asked for; None where no tower has made a tensor."""
        if self._local is None and any(
            isinstance(replicated_of(p), Tensor | IndexedSlices | Operation) for p in self._parts
        ):
            self._local = together(self._parts, self.axis)
        return self._local

    @local.setter
    def local(self, value: Any) -> None:
        assert value is None

    def __getitem__(self, device: str) -> Any:
        return self._parts[self.positions[device]]


def together(parts: Sequence[Any], axis: Axis) -> Any:
    """The one tensor, ``IndexedSlices`` or operation of all positions for what each has made."""
    if any(isinstance(p, IndexedSlices) for p in parts):
        if not all(isinstance(p, IndexedSlices) for p in parts):
            raise ValueError(f"Expected IndexedSlices from all towers or from none, got {list(parts)}.")
        values, indices = (together([getattr(p, name) for p in parts], axis) for name in ("values", "indices"))
        return IndexedSlices(values, indices, replicated_of(parts[0].dense_shape))
    if all(isinstance(p, EagerTensor) for p in parts):
        return stacked(parts, axis)
    wholes = [replicated_of(p) for p in parts]
    own = all(isinstance(p, ShardOperation | ShardTensor) for p in parts)
    graph = get_default_graph()
    if own and all(w is wholes[0] for w in wholes):
        return wholes[0]
    with graph.under(axis), graph.control_dependencies(None):
        if all(isinstance(w, Operation) for w in wholes):
            return group(*dict.fromkeys(wholes))
        tensors = [graph.own(convert_to_tensor(w)) for w in wholes]
        if all(t.op.axis is None and not t.varies and t.shape == tensors[0].shape for t in tensors):
            return all_reduce.distribute(tensors, axis)
        return all_reduce.own_of(tensors, axis)


class OneByOneEngine(SpmdEngine, LockstepEngine):
    """Towers at the positions of a mesh axis, whose function can be called for each, one after the other.

    Where operations are executed eagerly values of towers are separate tensors, which single operations combine.

    Args:
      axis: its positions are the towers.
      surface: the surface that the strategy belongs to.
    """

    def __init__(self, axis: Axis, surface: StrategyApi):
        super().__init__(axis, surface)
        self.hands_controls_on = surface.hands_controls_on
        self.hands_tapes_on = surface.hands_tapes_on
        self._places = [AxisIndex(axis, position) for position in range(axis.size)]

    # ---- running ---------------------------------------------------------------------------------------------

    def call_one_by_one(self, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """``fn(*args, **kwargs)`` for one tower after the other, each with its part of distributed arguments."""
        if isinstance(fn, Function):
            fn = fn.body  # towers meet in it, as the original has it too
        count = self.axis.size
        of_towers = [(self._select(args, k), self._select(kwargs, k)) for k in range(count)]
        given = [a for a, _ in of_towers], [k for _, k in of_towers]
        return TowerThreads(self, self._places, fn, *given, self._regroup, self._select).run()

    def run_steps(
        self, fn: Callable[..., Any], iterator: Any, iterations: Any, initial_loop_values: Any
    ) -> MultiStepContext:
        if get_default_graph().executing_eagerly:
            return run_steps_eagerly(self.surface, fn, iterator.get_next, iterations, initial_loop_values)
        return super().run_steps(fn, iterator, iterations, initial_loop_values)

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
        if not several or not isinstance(value.primary, Tensor):
            return value.primary
        return copied(value.primary) if self._executes() else self._part_of(value.primary, tower)

    def _part_of(self, tensor: Tensor, tower: int) -> Tensor:
        if isinstance(tensor, ShardedTensor) and get_default_graph().executing_eagerly:
            return tensor.part(tower)
        graph = get_default_graph()
        if graph.executing_eagerly:
            return tensor
        graph.has_shard_operations = True
        return shard_of(graph.own(tensor), self._places[tower])

    def _regroup(self, of_towers: Sequence[Any]) -> Any:
        return regroup(dict(zip(self._devices, of_towers, strict=True)), self._differing)

    def _differing(self, index: Mapping[str, Any]) -> PerDevice:
        """Different values of the towers as one per-device value."""
        return self.surface.differing(Parts(list(index.values()), self._devices, self.axis))

    # ---- combining and updating, eagerly ---------------------------------------------------------------------

    def _local(self, value: Any) -> Any:
        if self._executes() and isinstance(value, PerDevice) and not isinstance(value, Variable):
            return stacked(self.unwrap(value), self.axis) if value.local is None else value.local
        return super()._local(value)

    def _executes(self) -> bool:
        """Whether what towers make are eager tensors."""
        return self.mapped and get_default_graph().executing_eagerly

    def _combined(self, how: str, value: Any) -> Any:
        if not self._executes() or isinstance(value, Variable):
            return super()._combined(how, value)
        return combined(how, self.unwrap(value))

    def concatenated(self, local: Any, axis: int) -> Tensor:
        if self._executes() and isinstance(local, ShardedTensor):
            return joined(local, axis)
        return super().concatenated(local, axis)

    def update(self, var: Any, fn: Callable[..., Any], *args: Any, grouped: bool = True, **kwargs: Any) -> Any:
        own = value_container(var)
        if not self._executes() or not (isinstance(own, Variable) and isinstance(own, PerDevice)):
            return super().update(var, fn, *args, grouped=grouped, **kwargs)
        given = select_device_mirrored(self._devices[0], (args, kwargs))
        result = self.for_each_copy(lambda *a, **k: fn(own, *a, **k), *given)
        return result if grouped else map_parts(self.tower_view.unwrap, result)

    def for_each_copy(self, fn: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """``fn(*args, **kwargs)`` for each tower's copies of variables, executed for one after the other."""
        graph = get_default_graph()
        results = []
        for tower, place in enumerate(self._places):
            outer, graph.running_index = graph.running_index, place
            try:
                with tower_contexts.UpdateContext(self._devices[tower]):
                    results.append(fn(*self._select(args, tower), **self._select(kwargs, tower)))
            finally:
                graph.running_index = outer
        return self._regroup(results)
