"""Variables of 1.12's strategies: mirrored on all towers, or one per tower."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.mesh import Axis
from towerstrat.graph.ops.collectives import all_reduce
from towerstrat.graph.variables.variables import Variable, VariableAggregation
from towerstrat.towers.engine import tower_contexts
from towerstrat.towers.engine.distributed_values import DistributedValues, Mirrored, PerDevice
from towerstrat.towers.engine.distributed_variables import DistributedVariableMixin
from towerstrat.towers.engine.engine import CrossTower, Engine


class DistributedVariable(DistributedVariableMixin, Variable, DistributedValues):
    """A variable of a graph with a copy on each tower."""


class _Aggregating(Variable):
    """A variable that all towers share: in tower context an assignment combines the towers' values.

    Attributes:
      _called: what messages call it.
    """

    _called: str

    def _change(self, type: str, inputs: Any, name: str | None, read_value: bool = True) -> Any:
        change = super()._change
        if not tower_contexts.in_tower_context():
            return change(type, inputs, name, read_value)
        if self._aggregation == VariableAggregation.NONE:
            raise ValueError(
                f"You must specify an aggregation method to update a {self._called} in Tower Context. "
                f"Variable {self.name}, created at {self.created_at}: pass aggregation=tf.VariableAggregation.MEAN (or "
                "SUM, ONLY_FIRST_TOWER) when it is made, or update it in a merge_call."
            )

        if type.startswith("ResourceScatter"):
            return self._scatter_together(change, type, inputs, name, read_value)

        def merge_fn(distribution: CrossTower, *values: Any) -> Any:
            combined = [distribution.reduce(self._aggregation, v, destinations=self) for v in values]
            return distribution.update(self, lambda _, *c: change(type, c, name, read_value), *combined)

        return self._assigned(tower_contexts.merge_call(merge_fn, *inputs))

    def _assigned(self, result: Any) -> Any:
        """What an assignment in tower context returns."""
        return result

    def _scatter_together(
        self, change: Callable[..., Any], type: str, inputs: Any, name: str | None, read_value: bool
    ) -> Any:
        """A scatter of the rows of all towers, or of the first one's. Raises ValueError where they do not add up."""
        if type not in _ADDING and self._aggregation != VariableAggregation.ONLY_FIRST_TOWER:
            raise ValueError(
                f"{type} of {self.name} (created at {self.created_at}) in tower context: rows of several towers "
                "add up with scatter_add and scatter_sub only. Make it with ONLY_FIRST_TOWER, or use a merge_call."
            )

        def merge_fn(distribution: CrossTower, indices: Any, updates: Any) -> Any:
            rows = distribution.engine.rows_together(self._aggregation, indices, updates)
            return distribution.update(self, lambda _, r: change(type, [r.indices, r.values], name, read_value), rows)

        return self._assigned(tower_contexts.merge_call(merge_fn, *inputs))

    def _assign(self, type: str, value: Any, name: str, read_value: bool) -> Any:
        """An assignment; plain Python values reach the aggregation as they are."""
        if (
            not tower_contexts.in_tower_context()
            or isinstance(value, Tensor | DistributedValues)
            or self._aggregation == VariableAggregation.NONE
        ):
            return self._change(type, [self._operand(value)], name, read_value)

        change = super()._change

        def merge_fn(distribution: CrossTower, value: Any) -> Any:
            combined = distribution.reduce(self._aggregation, value, destinations=self)
            return distribution.update(self, lambda v, c: change(type, [v._operand(c)], name, read_value), combined)

        return self._assigned(tower_contexts.merge_call(merge_fn, value))

    def assign(self, value: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True) -> Any:
        return self._assign("AssignVariableOp", value, name or "Assign", read_value)

    def assign_add(
        self, delta: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True
    ) -> Any:
        return self._assign("AssignAddVariableOp", delta, name or "AssignAdd", read_value)

    def assign_sub(
        self, delta: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True
    ) -> Any:
        return self._assign("AssignSubVariableOp", delta, name or "AssignSub", read_value)


class MirroredVariable(_Aggregating, DistributedVariable, Mirrored):
    """A variable whose copies are kept equal.

    In tower context an assignment combines the towers' values by the variable's aggregation. In cross-tower context and
    in ``update``, it sets all copies.
    """

    _called = "MirroredVariable"

    def _component_value(self, position: int) -> Tensor:
        return self.value()

    def _component_element(self, position: int) -> Tensor:
        return self._handle


class AggregatingVariable(_Aggregating):
    """A variable of which there is one copy for all towers, on a parameter device.

    Args:
      engine: the towers.
      aggregation: how values that several towers assign become one.
      **kwargs: as of ``tf.Variable``.
    """

    _called = "variable"

    def __init__(self, engine: Engine, aggregation: VariableAggregation, **kwargs: Any):
        super().__init__(aggregation=aggregation, **kwargs)
        self._engine = engine

    def get(self) -> AggregatingVariable:
        """The variable itself."""
        return self


class TowerLocalVariable(DistributedVariable, PerDevice):
    """A variable of which every tower has its own; outside, it is their sum or mean. Never trainable."""

    def __init__(
        self, engine: Engine, devices: Sequence[str], aggregation: VariableAggregation, axis: Axis, **kwargs: Any
    ):
        super().__init__(engine, devices, aggregation, axis, **kwargs)
        self._axis = axis

    def _within(self) -> bool:
        """Whether code runs for one tower."""
        graph = get_default_graph()
        return graph.axis is not None or graph.running_index is not None

    def _own_read(self) -> Tensor:
        with get_default_graph().under(self._axis):
            return super()._read()

    def _read(self) -> Tensor:
        if self._within() or get_default_graph().executing_eagerly:
            return super()._read()
        own = self._own_read()
        return all_reduce.all_reduce(own, self._axis, self._cell.combine, f"{self.op.name}/aggregate")

    def read_value(self) -> Tensor:
        """Its value; where towers are called one by one the combined one in tower context too, as ``read_var``."""
        if not self._engine.reads_together or get_default_graph().axis is None:
            return super().read_value()

        def merge_fn(distribution: CrossTower, own: Any) -> Tensor:
            return all_reduce.all_reduce(own.local, self._axis, self._cell.combine, f"{self.op.name}/aggregate")

        found: Tensor = tower_contexts.merge_call(merge_fn, self._own_read())
        return found

    def initialized_value(self) -> Tensor:
        if self._within():
            return super().initialized_value()
        with get_default_graph().under(self._axis):
            own = super().initialized_value()
        return all_reduce.all_reduce(own, self._axis, self._cell.combine)

    def _component_value(self, position: int) -> Tensor:
        if get_default_graph().executing_eagerly:
            return self._whole(self._axis).part(position) if self._cell.is_varying else super()._read()
        return all_reduce.select(self._own_read(), self._axis, position)

    def _change(self, type: str, inputs: Any, name: str | None, read_value: bool = True) -> Any:
        if not self._within():
            raise RuntimeError(
                f"Tower-local variables may only be assigned in a tower context. Variable {self.name}, created at "
                f"{self.created_at}."
            )
        return super()._change(type, inputs, name, read_value)

    def assign(self, value: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True) -> Any:
        """In tower context this tower's own value; outside every tower's, a SUM is divided among them."""
        if self._within():
            return super().assign(value, use_locking, name, read_value)
        tensor = self._share(self._operand(value))
        graph = get_default_graph()
        op = graph.add("AssignVariableOp", (self._handle, tensor), None, name or "Assign", axis=self._axis)
        return self._changed(op, read_value) if graph.executing_eagerly else op

    def load(self, value: Any, session: Any = None) -> None:
        super().load(self._share(np.asarray(value, self.dtype.np)), session)

    def _share(self, value: Any) -> Any:
        """Each tower's value where the towers' values add up to ``value``."""
        if self._aggregation != VariableAggregation.SUM or self.dtype.is_bool:
            return value
        return value // len(self._index) if self.dtype.is_integer else value * (1.0 / len(self._index))


_ADDING = ("ResourceScatterAdd", "ResourceScatterSub")


def central_variable_maker(engine: Engine) -> Callable[..., Any]:
    """A function that makes a variable that towers share."""

    def make(**kwargs: Any) -> AggregatingVariable:
        return AggregatingVariable(engine, kwargs.pop("aggregation", VariableAggregation.NONE), **kwargs)

    return make
