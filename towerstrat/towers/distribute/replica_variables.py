"""Variables of the later surface's strategies: kept equal when written, or combined when read."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from towerstrat.errors import UnsupportedError
from towerstrat.graph.eager.context import context
from towerstrat.graph.eager.variable import EagerVariable
from towerstrat.graph.functions.polymorphic import Function
from towerstrat.graph.ir.default_graph import init_scope
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.indexed_slices import IndexedSlices
from towerstrat.graph.ir.mesh import Axis
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.graph.ir.types import string
from towerstrat.graph.ops.array.arrays import identity
from towerstrat.graph.ops.collectives import all_reduce
from towerstrat.graph.ops.indexing.gather_scatter import gather
from towerstrat.graph.ops.math.arithmetic import cast, truediv
from towerstrat.graph.variables.variables import (
    Variable,
    VariableAggregation,
    VariableSynchronization,
    create_variable,
)
from towerstrat.towers.distribute.per_replica_values import per_replica
from towerstrat.towers.distribute.reduce_op import ReduceOp
from towerstrat.towers.distribute.replica_context import strategy_of, strategy_shown
from towerstrat.towers.engine import tower_contexts
from towerstrat.towers.engine.distributed_values import Mirrored, PerDevice
from towerstrat.towers.engine.distributed_variables import DistributedVariableMixin
from towerstrat.towers.engine.engine import CrossTower, Engine

_SUMMED = (VariableAggregation.SUM, VariableAggregation.MEAN)


class ReplicaVariable(DistributedVariableMixin):
    """A variable of a strategy: a mixin in front of a class of variables.

    Args:
      engine: whose towers hold its copies.
      devices: canonical names, in the order of the replicas.
      aggregation: how values that several replicas assign become one.
      towers: the axis of the replicas.
      axis: the axis it has a value at each position of from the beginning, or None.
      **kwargs: as of ``tf.Variable``.

    Raises:
      ValueError: the mean of whole numbers.
    """

    shown_as: str

    def __init__(
        self, engine: Engine, devices: Sequence[str], aggregation: VariableAggregation, towers: Axis,
        axis: Axis | None = None, **kwargs: Any,
    ):  # fmt: skip
        self._towers = towers
        self._changes: dict[Hashable, Function] = {}
        super().__init__(engine, devices, aggregation, axis, **kwargs)

    def _build(self, *args: Any, **kwargs: Any) -> None:
        super()._build(*args, **kwargs)
        if self._aggregation == VariableAggregation.MEAN and not (self.dtype.is_floating or self.dtype.is_complex):
            raise ValueError(
                "creating distributed tf.Variable with aggregation=MEAN and a non-floating dtype is not supported, "
                f"please use a different aggregation or dtype: {self._cell.name} is {self.dtype.name}."
            )

    @property
    def distribute_strategy(self) -> Any:
        """The strategy that made it."""
        return self._engine.replica_view

    @property
    def is_distributed_variable(self) -> bool:
        return True

    @property
    def values(self) -> tuple[Any, ...]:
        """Its copies, in the order of the replicas."""
        return tuple([self._index[device] for device in self._index])

    def __repr__(self) -> str:
        copies = ",\n".join(f"  {i}: {copy!r}" for i, copy in enumerate(self.values))
        return f"{self.shown_as}:{{\n{copies}\n}}"

    def __deepcopy__(self, memo: Any) -> Any:
        """A variable of the same strategy whose copies have the values of these.

        Raises:
          NotImplementedError: in a graph.
        """
        if not isinstance(self, EagerVariable):
            raise NotImplementedError("__deepcopy__() is only available when eager execution is enabled.")
        with init_scope(), self.distribute_strategy.scope():
            made = create_variable(
                initial_value=self._component_value(0), trainable=self.trainable, name=self._cell.name,
                constraint=self.constraint, synchronization=self.synchronization, aggregation=self.aggregation,
                shape=self.shape,
            )  # fmt: skip
            state = context().session.state
            made.cell.axis, made.cell.combine = self._cell.axis, self._cell.combine
            state.update({made.cell: state.share_buffer(self._cell)})
            state.shared_buffers.add(made.cell)
        return made

    # ---- where code stands -----------------------------------------------------------------------------------

    def _in_replica(self) -> bool:
        """Whether a replica's code runs: a context of its own strategy is current."""
        mode = tower_contexts.current_mode()
        return mode.engine is self._engine and mode.tower is not None

    def _check_strategy(self) -> None:
        """Raises RuntimeError in the scope of another strategy."""
        mode = tower_contexts.current_mode()
        if mode.engine is not self._engine and tower_contexts.has_distribution_strategy():
            raise RuntimeError(
                f"Mixing different tf.distribute.Strategy objects: {strategy_shown(mode.engine)} is not "
                f"{self.distribute_strategy}. Variable {self.name} (made at {self.created_at}) belongs to the latter, "
                "and only there it can be changed."
            )

    def _locally(self) -> bool:
        """Whether code changes each replica's copy: a replica's code, or an update of the copies one by one."""
        return self._in_replica() or (tower_contexts.get_update_device() is not None and self._within())

    def _within(self) -> bool:
        graph = get_default_graph()
        return graph.axis is not None or graph.running_index is not None

    # ---- reading ---------------------------------------------------------------------------------------------

    def _own_read(self) -> Tensor:
        """Each replica's copy, along the axis."""
        with get_default_graph().under(self._towers):
            return Variable._read(self)

    def sparse_read(self, indices: Any, name: str | None = None) -> Tensor:
        if self._within() or not self._cell.is_varying:
            return super().sparse_read(indices, name)
        return gather(self.value(), indices, name=name)

    def _component_value(self, position: int) -> Tensor:
        if not self._cell.is_varying:
            return Variable._read(self)
        if get_default_graph().executing_eagerly:
            return self._whole(self._towers).part(position)
        return all_reduce.select(self._own_read(), self._towers, position)

    # ---- changing --------------------------------------------------------------------------------------------

    def _operand(self, value: Any) -> Any:
        """The value of an assignment as a tensor; in cross-replica context per-replica values stay as they are."""
        if isinstance(value, Mirrored) and not isinstance(value, Variable):
            value = value.primary
        elif isinstance(value, PerDevice) and not isinstance(value, Variable):
            if not self._within():
                return value
            value = self._engine.local_of(value)
        return super()._operand(value)

    def _copies(self) -> Any:
        """Its copies' values, as a per-replica value."""
        local = self._whole(self._towers) if get_default_graph().executing_eagerly else self._own_read()
        return per_replica(local, list(self._index), self._towers)

    def _on_copies(
        self, key: Hashable, change: Callable[..., Any], values: Sequence[Any], read_value: bool = True
    ) -> Any:
        """``change(*values)`` on each replica's copy, with its part of the values: from cross-replica context.

        Args:
          key: what the change does, besides its values.
          read_value: whether the changed variable is returned, where operations are executed eagerly.
        """

        def changed(*given: Any) -> Any:
            with get_default_graph().under(self._towers):
                local = [self._engine.local_of(value) for value in given]
                return change(*local)

        if not get_default_graph().executing_eagerly:
            result = changed(*values)
            return self._engine.leaving(result) if isinstance(result, Tensor) else result
        found = self._changes.get(key)
        if found is None:
            found = self._changes[key] = Function(changed, "change", autograph=False)
        found(*values)
        return self if read_value else None

    def _scatter_slices(self, kind: str, slices: Any, name: str | None) -> Any:
        if isinstance(slices, PerDevice) and isinstance(slices.local, IndexedSlices):
            local = slices.local
            if self._within():
                return self.scatter(kind, local.indices, local.values, name)
            indices, values = (per_replica(t, list(self._index), self._towers) for t in (local.indices, local.values))
            return self.scatter(kind, indices, values, name)
        return super()._scatter_slices(kind, slices, name)

    def scatter(self, kind: str, indices: Any, updates: Any, name: str | None = None) -> Any:
        """``Variable.scatter``, where the variable's copies can be changed by it.

        Raises:
          NotImplementedError: they cannot.
        """
        self._check_strategy()
        if tower_contexts.get_update_device() is None:
            self._check_scatter(kind, f"scatter_{kind.replace('Nd', 'nd_').lower()}")
        inputs = [indices if isinstance(indices, PerDevice) else convert_to_tensor(indices), self._operand(updates)]
        return self._change(f"ResourceScatter{kind}", inputs, name or f"Scatter{kind}")

    def _check_scatter(self, kind: str, method: str) -> None:
        raise NotImplementedError

    def assign_slice(self, bounds: Sequence[Tensor], masks: Mapping[str, int], value: Tensor, name: str | None) -> Any:
        self._check_strategy()
        plain = super().assign_slice

        def change(*given: Any) -> Any:
            return plain(given[:-1], masks, given[-1], name)

        if self._locally() or not self._engine.mapped:
            return change(*bounds, value)
        if self._cell.is_varying:
            return self._on_copies(("slice", tuple(masks.items())), change, [*bounds, value])
        return change(*bounds, value)


class OnWrite(ReplicaVariable):
    """A variable whose copies are equal after each write, unless replicas write their own (aggregation NONE).

    In a replica's context an assignment combines the replicas' values by the variable's aggregation; with NONE each
    replica writes its own copy, and from outside the first one is seen. In cross-replica context it sets all copies; a
    per-replica value gives each its part.
    """

    shown_as = "MirroredVariable"

    def _build(self, *args: Any, **kwargs: Any) -> None:
        super()._build(*args, **kwargs)
        self._cell.own = self._towers if self._towers.size > 1 else None

    def _read(self) -> Tensor:
        graph = get_default_graph()
        if not self._cell.is_varying or graph.executing_eagerly or graph.axis is not None:
            return super()._read()
        return all_reduce.select(self._own_read(), self._towers, 0)

    def _operand(self, value: Any) -> Any:
        """Plain Python values reach the aggregation as they are: they are one value for all replicas."""
        if self._aggregates() and not isinstance(value, Tensor | np.ndarray | PerDevice | Mirrored):
            return value
        if self._aggregates() and isinstance(value, OnWrite) and value._engine is self._engine:
            return value
        if isinstance(value, OnRead) and value._engine.mapped and not self._within():
            return value._copies()
        return super()._operand(value)

    def _aggregates(self) -> bool:
        """Whether replicas' values become one when they are assigned here."""
        return self._aggregation != VariableAggregation.NONE and self._engine.mapped and self._in_replica()

    def _change(self, type: str, inputs: Any, name: str | None, read_value: bool = True) -> Any:
        self._check_strategy()
        plain = super()._change

        def change(*given: Any) -> Any:
            return plain(type, given, name, read_value)

        if self._aggregates():
            return self._aggregated(type, inputs, change)
        if not self._engine.mapped:
            return change(*(self._engine.local_of(value) for value in inputs))
        if self._locally():
            return change(*inputs)
        whole = type == "AssignVariableOp" and get_default_graph().executing_eagerly
        if any(isinstance(value, PerDevice) for value in inputs):
            return self._on_copies((type, read_value), change, inputs, read_value)
        if not self._cell.is_varying or whole:
            return change(*inputs)
        result = self._on_copies((type, read_value), change, inputs, read_value)
        if type == "AssignVariableOp" and isinstance(result, PerDevice):
            return all_reduce.select(result.local, self._towers, 0)
        return result

    def _aggregated(self, type: str, inputs: Sequence[Any], change: Callable[..., Any]) -> Any:
        rows = type.startswith("ResourceScatter")
        value = IndexedSlices(inputs[1], inputs[0]) if rows else inputs[0]

        def merge_fn(distribution: CrossTower, value: Any) -> Any:
            combined = self._combined(distribution, value)
            if rows:
                return change(combined.indices, combined.values)
            return change(self._operand(combined))

        result = tower_contexts.merge_call(merge_fn, value)
        if result is self:
            result = self.value()  # eagerly: a tensor for each replica
        return identity(result) if isinstance(result, Tensor) else result

    def _combined(self, distribution: CrossTower, value: Any) -> Any:
        """One value from those of all replicas."""
        if self._aggregation not in _SUMMED:
            found = distribution.reduce(self._aggregation, value, self) if isinstance(value, PerDevice) else value
        elif isinstance(value, Variable):
            if self._aggregation == VariableAggregation.SUM:
                raise ValueError(
                    f"{value.name} (made at {value.created_at}) has one value for all replicas, and is assigned to "
                    f"{self.name} (made at {self.created_at}), whose aggregation is SUM. Pass its value, "
                    "tf.identity(variable), to add it up once for each replica."
                )
            found = value
        else:
            reduce_op = ReduceOp.from_variable_aggregation(self._aggregation)
            found = strategy_of(self._engine).extended._combine(reduce_op, value, self)
        return found.primary if isinstance(found, Mirrored) and not isinstance(found, Variable) else found

    def _check_scatter(self, kind: str, method: str) -> None:
        if kind.startswith("Nd"):
            raise NotImplementedError(
                f"{method} of {self.name} (made at {self.created_at}): variables of a strategy have it only in the "
                "function that strategy.extended.update calls."
            )
        if kind in ("Update", "Max", "Min") and self._aggregation in _SUMMED:
            raise NotImplementedError(
                f"{method} is only supported for mirrored variable (variable created within certain "
                "`tf.distribute.Strategy` scope) with NONE or `ONLY_FIRST_REPLICA` aggregation, got: "
                f"{self._aggregation}. Variable {self.name} was made at {self.created_at}."
            )


class OnRead(ReplicaVariable):
    """A variable of which every replica has its own value; from outside it is their sum, mean or the first.

    Not trainable by default. In a replica's context it is read and written locally.

    Raises:
      UnsupportedError: strings; replicas' devices have none.
    """

    shown_as = "SyncOnReadVariable"

    def _build(self, *args: Any, **kwargs: Any) -> None:
        super()._build(*args, **kwargs)
        if self.dtype is string and self._towers.size > 1:
            raise UnsupportedError(
                f"Variable {self._cell.name} holds strings, and with synchronization ON_READ every replica would have "
                "its own; replicas' devices have no strings. Leave the synchronization out."
            )

    def _read(self) -> Tensor:
        if self._within() or not self._cell.is_varying:
            return super()._read()
        self._check_combines()
        if get_default_graph().executing_eagerly:
            return super()._read()
        return all_reduce.all_reduce(self._own_read(), self._towers, self._cell.combine, f"{self.op.name}/aggregate")

    def initialized_value(self) -> Tensor:
        if self._within() or not self._cell.is_varying:
            return super().initialized_value()
        with get_default_graph().under(self._towers):
            own = super().initialized_value()
        return all_reduce.all_reduce(own, self._towers, self._cell.combine)

    def numpy(self) -> Any:
        """The copies combined to one array."""
        if get_default_graph().executing_eagerly and not self._within():
            self._check_combines()
        return super().numpy()  # type: ignore[misc]

    def _check_combines(self) -> None:
        """Raises ValueError where nothing says what the copies are together."""
        if self._aggregation == VariableAggregation.NONE and self._engine.mapped:
            raise ValueError(
                f"Could not convert from `tf.VariableAggregation` {self._aggregation} to `tf.distribute.ReduceOp` "
                f"type: variable {self.name} (made at {self.created_at}) has a value on every replica, and no "
                "aggregation that makes one of them. Read it in a replica's context, or give it one."
            )

    def _change(self, type: str, inputs: Any, name: str | None, read_value: bool = True) -> Any:
        self._check_strategy()
        plain = super()._change

        def change(*given: Any) -> Any:
            return plain(type, given, name, read_value)

        if self._locally() or not self._engine.mapped:
            return change(*inputs)
        for value in inputs:
            if isinstance(value, PerDevice):
                raise ValueError(
                    f"A per-replica value cannot be assigned to {self.name} (made at {self.created_at}) in "
                    "cross-replica context: it is combined when read. Assign in a function that strategy.run calls."
                )
        method = _METHODS.get(type, type)
        if method in ("assign_add", "assign_sub") and self._aggregation == VariableAggregation.SUM:
            raise ValueError(
                f"SyncOnReadVariable does not support `{method}` in cross-replica context when aggregation is set to "
                f"`tf.VariableAggregation.SUM`. Change {self.name} (made at {self.created_at}) in a function that "
                "strategy.run calls."
            )
        if method == "assign":
            inputs = [self._share(value) for value in inputs]
        eager = get_default_graph().executing_eagerly
        whole = method == "assign" and eager
        result = change(*inputs) if whole else self._on_copies((type, read_value), change, inputs, read_value)
        if not read_value or self._aggregation == VariableAggregation.NONE:
            return result
        return self._read() if eager else all_reduce.all_reduce(result.local, self._towers, self._cell.combine)

    def _check_scatter(self, kind: str, method: str) -> None:
        raise NotImplementedError(
            f"Variables with `synchronization=ON_READ` doesn't support `{method}`: {self.name} was made at "
            f"{self.created_at}."
        )

    def load(self, value: Any, session: Any = None) -> None:
        if not self._engine.mapped or isinstance(self, EagerVariable):
            super().load(value, session)
        else:
            super().load(self._share(np.asarray(value, self.dtype.np)), session)

    def _share(self, value: Any) -> Any:
        """Each replica's value where the replicas' values add up to ``value``: integers lose their remainder."""
        if self._aggregation != VariableAggregation.SUM or self.dtype.is_bool:
            return value
        count = len(self._index)
        if not self.dtype.is_integer:
            return value * (1.0 / count)
        return (
            (value / count).astype(value.dtype)
            if isinstance(value, np.ndarray)
            else cast(truediv(value, count), self.dtype)
        )


_METHODS = {
    "AssignVariableOp": "assign",
    "AssignAddVariableOp": "assign_add",
    "AssignSubVariableOp": "assign_sub",
}


class GraphMirroredVariable(OnWrite, Variable, Mirrored):
    """A mirrored variable of a graph."""


class GraphSyncOnReadVariable(OnRead, Variable, PerDevice):
    """A variable of a graph that is combined when read."""


class MirroredVariable(OnWrite, EagerVariable, Mirrored):
    """A mirrored variable of the eager context."""


class SyncOnReadVariable(OnRead, EagerVariable, PerDevice):
    """A variable of the eager context that is combined when read."""


def variable_maker(engine: Engine, devices: Sequence[str], axis: Axis, on_read: bool) -> Callable[..., Any]:
    """A function that makes a strategy's variable; ``on_read``: one that is combined when it is read."""

    def make(**kwargs: Any) -> Any:
        aggregation = kwargs.pop("aggregation", VariableAggregation.NONE)
        eager = get_default_graph().variable_class is EagerVariable
        if on_read:
            kind: Any = SyncOnReadVariable if eager else GraphSyncOnReadVariable
            return kind(engine, devices, aggregation, axis, axis, **kwargs)
        kwargs["synchronization"] = VariableSynchronization.ON_WRITE
        kind = MirroredVariable if eager else GraphMirroredVariable
        return kind(engine, devices, aggregation, axis, **kwargs)

    return make


def written_in_turn(
    engine: Engine, axis: Axis, variable: Variable, type: str, inputs: Sequence[Tensor]
) -> Sequence[Tensor]:
    """The inputs of one write that has the effect of the writes of all replicas, one after the other.

    Args:
      variable: one that belongs to no strategy and so has one value; variables of a strategy combine values themselves.

    Raises:
      ValueError: each replica assigns a value of its own.
    """
    if isinstance(variable, DistributedVariableMixin):
        return inputs
    if _METHODS.get(type) in ("assign_add", "assign_sub"):
        with get_default_graph().under(None):
            return [all_reduce.all_reduce(value, axis, "sum") for value in inputs]
    if any(value.varies for value in inputs):
        raise ValueError(
            f"Replicas assign different values to variable {variable.name} (made at {variable.created_at}), which "
            f"belongs to no strategy and has one value. Make it within the scope of {engine.replica_view}, or "
            "combine the values first."
        )
    return inputs
