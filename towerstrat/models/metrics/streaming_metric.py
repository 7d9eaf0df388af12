"""What all metrics are made of: local variables per tower, and values over all towers."""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

from towerstrat.graph.eager.mode import refuse_eager
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.graph.ops.array import arrays
from towerstrat.graph.ops.math import arithmetic
from towerstrat.graph.variables.variables import (
    GraphKeys,
    VariableAggregation,
    VariableSynchronization,
    create_variable,
)
from towerstrat.models.shape_matching import fitted, squeezed
from towerstrat.towers.engine.engine import CrossTower
from towerstrat.towers.engine.tower_contexts import get_tower_context


def of_graphs(metric: Callable[..., Any]) -> Callable[..., Any]:
    """Decorates a metric: where programs run eagerly it raises RuntimeError."""

    @functools.wraps(metric)
    def made(*args: Any, **kwargs: Any) -> Any:
        refuse_eager(
            f"tf.metrics.{metric.__name__}", "Compute the value from the tensors, or the metric inside a tf.Graph."
        )
        return metric(*args, **kwargs)

    return made


def metric_variable(shape: Any, dtype: Any, validate_shape: bool = True, name: str | None = None) -> Any:
    """A local variable that starts at zeros. Each tower has one of its own; read outside they are summed.

    It is in the collections ``GraphKeys.LOCAL_VARIABLES`` and ``GraphKeys.METRIC_VARIABLES``.
    """
    return create_variable(
        initial_value=lambda: arrays.zeros(shape, dtype),
        trainable=False,
        collections=[GraphKeys.LOCAL_VARIABLES, GraphKeys.METRIC_VARIABLES],
        validate_shape=validate_shape,
        synchronization=VariableSynchronization.ON_READ,
        aggregation=VariableAggregation.SUM,
        name=name,
    )


def across_towers(collections: Any, function: Callable[..., Any], *args: Any) -> Any:
    """``function(distribution, *args)`` for all towers together, where ``args`` are read as sums over the towers.

    It stands outside of a step loop: fetched after the run it is the value by then, and a step that uses it too has
    what it was before the run, in every step.

    Raises:
      RuntimeError: not in tower context.
    """

    def merge(distribution: CrossTower, *merged: Any) -> Any:
        graph = get_default_graph()
        with graph.outside() if graph.block.in_steps else nullcontext():
            value = function(distribution, *merged)
        collect(collections, value)
        return value

    context = get_tower_context()
    if context is None:
        raise RuntimeError(
            "A metric was made in cross-tower context; make it in a tower: inside the function given to "
            "call_for_each_tower, or outside of the strategy's scope."
        )
    return context.merge_call(merge, *args)


def total_of(variable: Any, collections: Any) -> Any:
    """A metric variable's value over all towers."""
    return across_towers(collections, lambda distribution, value: distribution.read_var(value), variable)


def collect(collections: Any, value: Any) -> None:
    if collections:
        get_default_graph().add_to_collections(collections, value)


def quotient(numerator: Any, denominator: Any, name: str | None = None) -> Tensor:
    """``numerator / denominator``, 0 where the denominator is not positive."""
    numerator, denominator = convert_to_tensor(numerator), convert_to_tensor(denominator)
    found = arithmetic.truediv(numerator, denominator)
    zeros = arrays.zeros_like(found, dtype=denominator.dtype)
    return arrays.where(arithmetic.greater(denominator, zeros), found, arithmetic.cast(zeros, found.dtype), name=name)


def aligned(predictions: Any, labels: Any, weights: Any) -> tuple[Tensor, Any, Any]:
    """Predictions, labels and weights, superfluous last dimensions of 1 taken off, missing ones of weights put on.

    Raises:
      ValueError: predictions and labels of different shapes.
    """
    predictions = convert_to_tensor(predictions)
    if labels is not None:
        labels, predictions = squeezed(labels, predictions)
        predictions.shape.assert_is_compatible_with(labels.shape)
    if weights is None:
        return predictions, labels, None
    return predictions, labels, fitted(convert_to_tensor(weights), predictions, expands=True)


def flat(values: Any) -> Tensor:
    """A vector of all elements."""
    values = convert_to_tensor(values)
    return values if values.dims is not None and len(values.dims) <= 1 else arrays.reshape(values, [-1])
