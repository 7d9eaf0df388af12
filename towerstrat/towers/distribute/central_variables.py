"""Variables of which replicas share one copy, on a parameter device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from towerstrat.graph.eager.variable import EagerVariable
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.mesh import Axis
from towerstrat.graph.variables.variables import Variable, VariableAggregation
from towerstrat.towers.distribute.replica_variables import OnWrite, ReplicaVariable
from towerstrat.towers.engine import tower_contexts
from towerstrat.towers.engine.engine import Engine


class _OneCopy(OnWrite):
    """A variable with one copy: in a replica's context an assignment combines the replicas' values."""

    shown_as = "AggregatingVariable"

    def _build(self, *args: Any, **kwargs: Any) -> None:
        ReplicaVariable._build(self, *args, **kwargs)

    def get(self, device: str | None = None) -> Any:
        return self

    def _change(self, type: str, inputs: Any, name: str | None, read_value: bool = True) -> Any:
        if (
            self._aggregation == VariableAggregation.NONE
            and self._in_replica()
            and not tower_contexts.get_update_device()
        ):
            raise ValueError(
                "You must specify an aggregation method to update a AggregatingVariable in Replica Context: variable "
                f"{self.name}, made at {self.created_at}. Pass aggregation=tf.VariableAggregation.MEAN (or SUM, "
                "ONLY_FIRST_REPLICA) when it is made."
            )
        return super()._change(type, inputs, name, read_value)


class GraphAggregatingVariable(_OneCopy, Variable):
    """A variable of a graph with one copy."""

    __repr__ = Variable.__repr__


class AggregatingVariable(_OneCopy, EagerVariable):
    """A variable of the eager context with one copy."""

    __repr__ = EagerVariable.__repr__


def central_variable_maker(engine: Engine, axis: Axis, device: str) -> Callable[..., Any]:
    """A function that makes a variable that replicas share."""

    def make(**kwargs: Any) -> Any:
        aggregation = kwargs.pop("aggregation", VariableAggregation.NONE)
        eager = get_default_graph().variable_class is EagerVariable
        kind: Any = AggregatingVariable if eager else GraphAggregatingVariable
        return kind(engine, [device], aggregation, axis, **kwargs)

    return make
