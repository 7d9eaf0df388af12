"""``ReduceOp``: the operation that reduces the values of several replicas to one."""

from __future__ import annotations

import enum
from typing import Any

from towerstrat.graph.variables.variables import VariableAggregation
from towerstrat.towers.engine import tower_contexts


class ReduceOp(enum.Enum):
    """The operation that reduces the values of several replicas to one."""

    SUM = "SUM"
    MEAN = "MEAN"

    @staticmethod
    def from_variable_aggregation(aggregation: VariableAggregation) -> ReduceOp:
        """The operation that a variable's aggregation means. Raises ValueError where it means none."""
        found = _OF_VARIABLES.get(aggregation)
        if found is None:
            raise ValueError(
                f"Could not convert from `tf.VariableAggregation` {aggregation} to `tf.distribute.ReduceOp` type"
            )
        return found


_OF_VARIABLES = {VariableAggregation.SUM: ReduceOp.SUM, VariableAggregation.MEAN: ReduceOp.MEAN}
AGGREGATIONS = {op: aggregation for aggregation, op in _OF_VARIABLES.items()}


def get_loss_reduction() -> ReduceOp:
    """How the losses of replicas make one: SUM; for estimators, whose optimizers divide them, that of the last loss."""
    divided = tower_contexts.current_engine().trains_estimator
    return _OF_VARIABLES[tower_contexts.get_loss_reduction()] if divided else ReduceOp.SUM


def reduce_op_of(value: Any) -> ReduceOp:
    """A ``ReduceOp`` from one or the name of one.

    Raises:
      ValueError: another name. TypeError: something else.
    """
    if isinstance(value, str):
        try:
            return ReduceOp(value.upper())
        except ValueError:
            raise ValueError(
                f"{value!r} is not a valid ReduceOp: expected tf.distribute.ReduceOp.SUM or MEAN, or their names. For "
                "another combination gather the values, and reduce them along the new axis."
            ) from None
    if not isinstance(value, ReduceOp):
        raise TypeError(f"Expected reduce_op to be tf.distribute.ReduceOp.SUM or MEAN, got {value!r}.")
    return value
