"""``extended`` of strategies whose replicas' function is called for each, where operations are executed eagerly."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from towerstrat.graph.ir import nest
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.indexed_slices import IndexedSlices
from towerstrat.graph.ops.array import arrays
from towerstrat.graph.tapes.custom_gradients import custom_gradient
from towerstrat.graph.variables.variables import Variable
from towerstrat.towers.distribute.per_replica_values import PerReplica
from towerstrat.towers.distribute.python_results import is_traced
from towerstrat.towers.distribute.replica_context import ReplicaContext
from towerstrat.towers.distribute.strategy_extended import StrategyExtendedV1
from towerstrat.towers.engine.distributed_values import PerDevice, value_container
from towerstrat.towers.engine.eager_tower_values import of_one_array
from towerstrat.towers.engine.one_by_one_engine import OneByOneEngine, Parts


class OneByOneExtended(StrategyExtendedV1):
    """``StrategyExtended`` over a ``OneByOneEngine``."""

    _engine: OneByOneEngine

    def _calls_each(self, fn: Callable[..., Any]) -> bool:
        return self._executes() and not is_traced(fn)

    def _executes(self) -> bool:
        return self._mapped and get_default_graph().executing_eagerly

    def _carried(self, key: Any, function: Callable[..., Any], *args: Any) -> Any:
        """Combines by a function what replicas have: one array on their devices, separate parts one by one."""
        if key[0] != "run" and self._executes() and not any(_in_one_array(leaf) for leaf in nest.flatten(args)):
            return function(*args)
        return super()._carried(key, function, *args)

    def _on_copies(self, var: Any, fn: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        if not self._executes():
            return super()._on_copies(var, fn, args, kwargs)
        own = value_container(var)
        given = nest.flatten((args, kwargs))
        if not (isinstance(own, Variable) and own.cell.is_varying) and all(map(_is_shared, given)):
            args, kwargs = nest.map_structure(lambda v: v.values[0] if isinstance(v, PerReplica) else v, (args, kwargs))
            return self._engine.update(own, fn, *args, **kwargs)
        return self._engine.for_each_copy(lambda *a, **k: fn(own, *a, **k), args, kwargs)

    def _all_reduce(self, context: ReplicaContext, reduce_op: Any, value: Any, options: Any) -> Any:
        flat = nest.flatten(value)
        if not self._executes() or any(isinstance(v, IndexedSlices) for v in flat):
            return super()._all_reduce(context, reduce_op, value, options)
        reduce = super()._all_reduce

        @custom_gradient
        def reduced(*values: Any) -> Any:
            return reduce(context, reduce_op, list(values), options), lambda *of_results: self._all_reduce(
                context, reduce_op, list(of_results), options
            )

        return nest.pack_sequence_as(value, reduced(*[self._own(v) for v in flat]))

    def _all_gather(self, context: ReplicaContext, value: Any, axis: int, options: Any) -> Any:
        flat = nest.flatten(value)
        if not self._executes() or any(isinstance(v, IndexedSlices) for v in flat):
            return super()._all_gather(context, value, axis, options)
        gather = super()._all_gather

        def gathered(value: Any) -> Any:
            def grad(of_result: Any) -> Any:
                total = self._all_reduce(context, "SUM", of_result, options)
                sizes = gather(context, arrays.shape(value)[axis][None], 0, options)
                return arrays.split(total, sizes, axis)[context._tower.tower_id]

            return gather(context, value, axis, options), grad

        return nest.pack_sequence_as(value, [custom_gradient(gathered)(self._own(v)) for v in flat])


def _in_one_array(value: Any) -> bool:
    """Whether replicas' values are in one array, or copies of a variable that differ."""
    value = value_container(value)
    if isinstance(value, Variable):
        return value.cell.is_varying
    return isinstance(value, PerDevice) and not isinstance(value._index, Parts)


def _is_shared(value: Any) -> bool:
    """Whether all replicas have the same."""
    return not isinstance(value, PerReplica) or of_one_array(value.values)
