"""Variables of the later surface's strategies: kept equal when written, or combined when read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from towerstrat.graph.core import get_default_graph
from towerstrat.graph.eager.positions import PositionTensor
from towerstrat.graph.eager.variable import EagerVariable
from towerstrat.graph.elements import Tensor
from towerstrat.graph.mesh import Axis
from towerstrat.graph.ops import collectives
from towerstrat.graph.ops.regions import remark
from towerstrat.graph.state import layouts
from towerstrat.graph.variables import Variable, VariableAggregation
from towerstrat.towers import contexts
from towerstrat.towers.values import Mirrored, PerDevice
from towerstrat.towers.variables import Shared


class ReplicaVariable(Shared):
    """What the variables of a strategy have in common. A mixin in front of a class of variables.

    Args:
      strategy: the towers that hold its copies.
      devices: canonical names, in the order of the replicas.
      aggregation: how values that several replicas assign become one.
      axis: the axis it has a value at each position of from the beginning, or None.
      towers: the axis of the replicas.
      **kwargs: as of ``tf.Variable``.
    """

    def __init__(
        self, strategy: Any, devices: list[str], aggregation: VariableAggregation, towers: Axis,
        axis: Axis | None = None, **kwargs: Any,
    ):  # fmt: skip
        self._towers = towers
        super().__init__(strategy, devices, aggregation, axis, **kwargs)

    @property
    def distribute_strategy(self) -> Any:
        """The strategy that made it."""
        return self._strategy.surface

    @property
    def values(self) -> tuple[Any, ...]:
        """Its copies, in the order of the replicas."""
        return tuple([self._index[device] for device in self._index])

    def _in_replica(self) -> bool:
        """Whether a replica's code runs: a context of its own strategy is current."""
        mode = contexts.current_mode()
        return mode.tower is not None and mode.strategy is self._strategy

    def _own_read(self) -> Tensor:
        """Each replica's copy, along the axis."""
        with get_default_graph().under(self._towers):
            return Variable._read(self)

    def _by_replica(self, change: Callable[[], Any]) -> Any:
        """Carries a change out on every replica's copy."""
        surface = self._strategy.surface
        return surface.extended._on_copies(self, change)

    def _component_value(self, position: int) -> Tensor:
        if not self._cell.per_position:
            return self.value()
        if get_default_graph().executing_eagerly:
            return self._whole().part(position)
        return collectives.select(self._own_read(), self._towers, position)

    def _whole(self) -> PositionTensor:
        """All copies, eagerly."""
        eager: Any = get_default_graph()
        stored = self._cell.stacked(eager.session.state.lend(self._cell))
        return PositionTensor(eager, stored, self.dtype, self._towers, self._cell.dims)


class OnWrite(ReplicaVariable):
    """A variable whose copies are equal after each write, unless replicas write their own (aggregation NONE).

    In a replica's context an assignment combines the replicas' values by the variable's aggregation; with NONE each
    replica writes its own copy, and from outside the first one is seen. In cross-replica context it sets all copies.
    """

    def _read(self) -> Tensor:
        if not self._cell.per_position or get_default_graph().executing_eagerly:
            return super()._read()
        if get_default_graph().axis is not None:
            return super()._read()
        return collectives.select(self._own_read(), self._towers, 0)

    def _change(self, type: str, inputs: Any, name: str | None, read_value: bool = True) -> Any:
        plain = super()._change
        inputs = [self._given(value) for value in inputs]
        if not self._in_replica():
            if self._cell.per_position and get_default_graph().axis is None:
                return self._by_replica(lambda: plain(type, inputs, name, read_value))
            return plain(type, inputs, name, read_value)
        if self._aggregation == VariableAggregation.NONE or not self._strategy.mapped:
            if self._strategy.mapped and any(t.varies for t in inputs):
                self._spread()
            return plain(type, inputs, name, read_value)
        if type.startswith("ResourceScatter") and self._aggregation != VariableAggregation.ONLY_FIRST_REPLICA:
            raise NotImplementedError(
                f"{type[len('Resource') :]} of {self.name} (made at {self.created_at}) in a replica's context: "
                "scatter methods on mirrored variables support the aggregations NONE and ONLY_FIRST_REPLICA, not "
                f"{self._aggregation.name}. Use merge_call and strategy.extended.update."
            )

        def merge_fn(strategy: Any, *values: Any) -> Any:
            combined = [strategy.reduce(self._aggregation, v, destinations=self) for v in values]
            return strategy.update(self, lambda v, *c: plain(type, c, name, read_value), *combined)

        return contexts.get_tower_context().merge_call(merge_fn, *inputs)

    def _given(self, value: Any) -> Any:
        """What is assigned, as a tensor. Raises ValueError for a value that differs by replica, across replicas."""
        if isinstance(value, Mirrored) and not isinstance(value, Variable):
            return value.primary
        if isinstance(value, PerDevice) and not isinstance(value, Variable):
            raise ValueError(
                f"{value!r} differs by replica and cannot be assigned to {self.name} (made at {self.created_at}) in "
                "cross-replica context. Reduce it first, or assign in a function that strategy.run calls."
            )
        return value

    def _operand(self, value: Any) -> Tensor:
        return super()._operand(self._given(value))

    def _spread(self) -> None:
        """From now on every replica has a value of its own."""
        if self._cell.per_position:
            return
        self._cell.axis, self._cell.combine = self._towers, "first"
        layouts.changed()
        graph: Any = get_default_graph()
        while graph is not None and not graph.executing_eagerly:
            remark(graph.root)
            graph = getattr(graph, "outer", None)


class OnRead(ReplicaVariable):
    """A variable of which every replica has its own value; from outside it is their sum, mean or the first.

    Never trainable. In a replica's context it is read and written locally.
    """

    def _read(self) -> Tensor:
        graph = get_default_graph()
        if graph.axis is not None or graph.executing_eagerly or not self._cell.per_position:
            return super()._read()
        return collectives.all_reduce(self._own_read(), self._towers, self._cell.combine, f"{self.op.name}/aggregate")

    def _change(self, type: str, inputs: Any, name: str | None, read_value: bool = True) -> Any:
        plain = super()._change
        if self._in_replica() or get_default_graph().axis is not None or not self._strategy.mapped:
            return plain(type, inputs, name, read_value)
        if type != "AssignVariableOp" and self._aggregation == VariableAggregation.SUM:
            raise ValueError(
                f"SyncOnReadVariable {self.name} (made at {self.created_at}) does not support "
                f"`{_METHODS.get(type, type)}` in cross-replica context when aggregation is set to "
                "`tf.VariableAggregation.SUM`: change it in a "
                "function that strategy.run calls."
            )
        return self._by_replica(lambda: plain(type, inputs, name, read_value))

    def assign(self, value: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True) -> Any:
        """In a replica's context this replica's own value; outside every replica's, a SUM is divided among them."""
        if not self._in_replica() and get_default_graph().axis is None:
            value = self._share(self._operand(value))
        return super().assign(value, use_locking, name, read_value)

    def load(self, value: Any, session: Any = None) -> None:
        super().load(self._share(np.asarray(value, self.dtype.np)), session)

    def _share(self, value: Any) -> Any:
        """What each replica holds so that together they are ``value``."""
        if self._aggregation != VariableAggregation.SUM or self.dtype.is_bool:
            return value
        return value // len(self._index) if self.dtype.is_integer else value * (1.0 / len(self._index))


_METHODS = {"AssignAddVariableOp": "assign_add", "AssignSubVariableOp": "assign_sub"}


class MirroredVariable(OnWrite, Variable, Mirrored):
    """A mirrored variable of a graph."""


class SyncOnReadVariable(OnRead, Variable, PerDevice):
    """A variable of a graph that is combined when read."""


class EagerMirroredVariable(OnWrite, EagerVariable, Mirrored):
    """A mirrored variable of the eager context."""


class EagerSyncOnReadVariable(OnRead, EagerVariable, PerDevice):
    """A variable of the eager context that is combined when read."""


def make_variable(strategy: Any, towers: Axis, devices: list[str], on_read: bool) -> Callable[..., Any]:
    """How the end of the creators' chain makes a strategy's variable."""

    def make(**kwargs: Any) -> Any:
        aggregation = kwargs.pop("aggregation", VariableAggregation.NONE)
        eager = get_default_graph().variable_class is EagerVariable
        if on_read:
            kwargs["trainable"] = False
            kind: Any = EagerSyncOnReadVariable if eager else SyncOnReadVariable
            return kind(strategy, devices, aggregation, towers, towers, **kwargs)
        kind = EagerMirroredVariable if eager else MirroredVariable
        return kind(strategy, devices, aggregation, towers, **kwargs)

    return make
