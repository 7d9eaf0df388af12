"""Moving averages of variables and values."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from towerstrat.graph.ir.default_graph import colocate_with, control_dependencies, init_scope, name_scope
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.shard_operations import ShardTensor
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.graph.ir.types import bfloat16, float16, float32, float64
from towerstrat.graph.ops.control.branches import group
from towerstrat.graph.ops.math.arithmetic import cast, div, minimum, pow, truediv
from towerstrat.graph.scopes.initializers import zeros_initializer
from towerstrat.graph.scopes.variable_scope import get_variable, get_variable_scope, variable_scope
from towerstrat.graph.variables.variables import GraphKeys, Variable, VariableAggregation
from towerstrat.towers.engine.distributed_values import Mirrored, PerDevice
from towerstrat.towers.engine.engine import CrossTower
from towerstrat.towers.engine.tower_contexts import in_tower_context, merge_call
from towerstrat.training.base.slots import create_slot, create_zeros_slot

_AVERAGED = (bfloat16, float16, float32, float64)


def assign_moving_average(
    variable: Any, value: Any, decay: Any, zero_debias: bool = True, name: str | None = None
) -> Any:
    """``variable -= (1 - decay) * (variable - value)``; the new value.

    In tower context, a mirrored variable without an aggregation of its own takes the mean of the towers' values; of a
    variable of which every tower has its own, what it is for all of them.

    Args:
      variable: holds the average.
      value: a tensor of its shape.
      decay: how much is kept, a number or tensor.
      zero_debias: take the average as one that started from zero, and divide that start out (two variables beside
        ``variable`` count for it).
    """
    with name_scope(name, "AssignMovingAvg") as scope, colocate_with(variable):
        rate = convert_to_tensor(1.0 - decay, name="decay")
        if rate.dtype is not variable.dtype:
            rate = cast(rate, variable.dtype)
        if _needs_merge(variable):
            return _assign_in_towers(variable, value, rate, zero_debias, scope)
        return variable.assign_sub(_delta(variable, value, rate, zero_debias), name=scope)


def _needs_merge(variable: Any) -> bool:
    own = isinstance(variable, Mirrored) and variable.aggregation is VariableAggregation.NONE
    return own and in_tower_context()


def _assign_in_towers(variable: Any, value: Any, rate: Tensor, zero_debias: bool, scope: str) -> Any:
    def update(v: Any, mean: Any) -> Any:
        return v.assign_sub(_delta(v, mean, rate, zero_debias), name=scope)

    def merge_fn(distribution: CrossTower, v: Any, value: Any) -> Any:
        if not isinstance(value, Variable):
            value = distribution.reduce(VariableAggregation.MEAN, value, destinations=v)
        elif isinstance(value, PerDevice):
            value = distribution.read_var(value)
        return distribution.update(v, update, value)

    return merge_call(merge_fn, variable, value)


def _delta(variable: Any, value: Any, rate: Tensor, zero_debias: bool) -> Tensor:
    if zero_debias:
        return _debiased_delta(variable, value, rate)
    return (variable.value() - value) * rate


def _debiased_delta(variable: Any, value: Any, rate: Tensor) -> Tensor:
    """What to subtract from an average so that it is the mean of what came so far, weighted by age."""
    with variable_scope(variable.op.name, values=[variable, value, rate]) as scope, colocate_with(variable):
        biased = get_variable(
            _unused("biased"), variable.get_shape(), variable.dtype, zeros_initializer(), trainable=False
        )
        count = get_variable(_unused("local_step"), [], variable.dtype, zeros_initializer(), trainable=False)
        updates = [biased.assign_sub((biased.value() - value) * rate, name=scope.name), count.assign_add(1)]
        with control_dependencies(updates):
            return variable.value() - biased.read_value() / (1 - pow(1.0 - rate, count.read_value()))


def _unused(name: str) -> str:
    """The name, or with ``_1``, ``_2``, ... where the current variable scope has it and does not reuse."""
    scope = get_variable_scope()
    if scope.reuse:
        return name
    taken = {v.op.name for v in scope.global_variables()}
    candidate, count = name, 0
    while f"{scope.name}/{candidate}" in taken:
        count += 1
        candidate = f"{name}_{count}"
    return candidate


def weighted_moving_average(
    value: Any,
    decay: Any,
    weight: Any,
    truediv: bool = True,
    collections: Iterable[Any] | None = None,
    name: str | None = None,
) -> Tensor:
    """``moving average of value * weight / moving average of weight``, after taking this value in.

    Args:
      value, weight: tensors whose product is defined.
      decay: how much the averages keep at each update.
      truediv: False divides as the types imply (integers without fraction).
      collections: where the two averages go; default ``[GraphKeys.GLOBAL_VARIABLES]``.
    """
    keys = [GraphKeys.GLOBAL_VARIABLES] if collections is None else list(collections)
    with variable_scope(name, "WeightedMovingAvg", [value, weight, decay]) as scope:
        averages = []
        for label, tensor in (("value_x_weight", value), ("weight", weight)):
            averages.append(
                get_variable(
                    label, tensor.get_shape(), tensor.dtype, zeros_initializer(), trainable=False, collections=keys
                )
            )
        numerator = assign_moving_average(averages[0], value * weight, decay, zero_debias=False)
        denominator = assign_moving_average(averages[1], weight, decay, zero_debias=False)
        return (_truediv if truediv else div)(numerator, denominator, name=scope.name)


_truediv = truediv


class ExponentialMovingAverage:
    """Keeps a moving average beside each variable: ``average -= (1 - decay) * (average - variable)``.

    Args:
      decay: how much is kept, close to 1.
      num_updates: the number of steps so far (usually the global step): the decay is then
        ``min(decay, (1 + num_updates) / (10 + num_updates))``, so that averages start fast.
      zero_debias: averages of tensors start from zero; True divides that start out.
      name: end of the averages' names, ``w/ExponentialMovingAverage``.

    >>> from towerstrat.graph.variables.variables import Variable
    >>> weight = Variable(1.0, name="weight")
    >>> average = ExponentialMovingAverage(decay=0.999)
    >>> update = average.apply([weight])
    >>> average.average(weight).op.name
    'weight/ExponentialMovingAverage'
    """

    def __init__(
        self,
        decay: Any,
        num_updates: Any = None,
        zero_debias: bool = False,
        name: str = "ExponentialMovingAverage",
    ):
        self._decay = decay
        self._num_updates = num_updates
        self._zero_debias = zero_debias
        self._name = name
        self._averages: dict[Any, Any] = {}
        self._debiased: set[Any] = set()

    @property
    def name(self) -> str:
        return self._name

    def apply(self, var_list: Iterable[Any] | None = None) -> Any:
        """Makes averages where there are none yet, and an operation that updates them.

        Args:
          var_list: variables (whose averages start from their initial values) or tensors (from zero); default the
            trainable variables.

        Raises:
          TypeError: something is not of a floating type; eagerly, something that is no variable.
        """
        variables = (
            get_default_graph().get_collection(GraphKeys.TRAINABLE_VARIABLES) if var_list is None else list(var_list)
        )
        for var in variables:
            if get_default_graph().executing_eagerly and not isinstance(var, Variable):
                raise TypeError(
                    "tf.train.ExponentialMovingAverage does not support non-Variable tensors when eager execution is "
                    f"enabled: {var!r}. Keep the value in a tf.Variable."
                )
            if var.dtype.base_dtype not in _AVERAGED:
                raise TypeError(f"The variables must be half, float, or double: {var.name}")
            if var not in self._averages:
                with init_scope():
                    self._averages[var] = self._create(var)
        with name_scope(self._name) as scope:
            decay = convert_to_tensor(self._decay, name="decay")
            if self._num_updates is not None:
                steps = cast(self._num_updates, float32, name="num_updates")
                decay = minimum(decay, (1.0 + steps) / (10.0 + steps))
            updates = []
            for var in variables:
                average = self._averages[var]
                updates.append(assign_moving_average(average, var, decay, zero_debias=average in self._debiased))
            return group(*updates, name=scope)

    def _create(self, var: Any) -> Any:
        if isinstance(var, Variable):
            several = isinstance(var, PerDevice) and in_tower_context()
            average = merge_call(self._of_all, var) if several else self._beside_variable(var)
            get_default_graph().add_to_collection(GraphKeys.MOVING_AVERAGE_VARIABLES, var)
            return average
        average = merge_call(self._of_first, var) if isinstance(var, ShardTensor) else self._beside_tensor(var)
        if self._zero_debias:
            self._debiased.add(average)
        return average

    def _of_all(self, distribution: CrossTower, var: Any) -> Any:
        """The average of a variable of which each tower has its own: one, of what it is for all of them."""
        return self._beside_variable(var)

    def _of_first(self, distribution: CrossTower, tensors: Any) -> Any:
        """The average of a tensor that each tower has for itself: one variable, named after the first tower's."""
        return self._beside_tensor(distribution.unwrap(tensors)[0])

    def _beside_variable(self, var: Any) -> Any:
        return create_slot(var, var.initialized_value(), self._name)

    def _beside_tensor(self, tensor: Any) -> Any:
        return create_zeros_slot(tensor, self._name, colocate_with_primary=tensor.op.type == "VarHandleOp")

    def average(self, var: Any) -> Any:
        """The variable that holds the average of ``var``, or None."""
        return self._averages.get(var)

    def average_name(self, var: Any) -> str:
        """The name that the average of ``var`` has, or would get."""
        if var in self._averages:
            name: str = self._averages[var].op.name
            return name
        return get_default_graph().unique_name(f"{var.op.name}/{self._name}", mark_as_used=False)

    def variables_to_restore(self, moving_avg_variables: Iterable[Any] | None = None) -> dict[str, Any]:
        """Name in a checkpoint -> variable, so that restoring puts averages into the variables they are of.

        Args:
          moving_avg_variables: the variables to restore from averages; default the trainable ones and those that were
            averaged.
        """
        graph = get_default_graph()
        if moving_avg_variables is None:
            moving_avg_variables = graph.get_collection(GraphKeys.TRAINABLE_VARIABLES)
            moving_avg_variables += graph.get_collection(GraphKeys.MOVING_AVERAGE_VARIABLES)
            moving_avg_variables += [v for v in self._averages if isinstance(v, Variable)]
        averaged = list(dict.fromkeys(moving_avg_variables))
        names = {self.average_name(v): v for v in averaged}
        known = {v.name for v in averaged}
        for v in graph.get_collection(GraphKeys.GLOBAL_VARIABLES):
            if v.name not in known:
                names.setdefault(v.op.name, v)
        return names
