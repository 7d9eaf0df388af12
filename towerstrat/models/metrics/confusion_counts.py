"""Counts of right and wrong answers to yes-or-no questions, and what is made of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.tensor_conversion import constant, convert_to_tensor
from towerstrat.graph.ir.types import bool_, float32
from towerstrat.graph.ops.array import arrays
from towerstrat.graph.ops.control import assertions
from towerstrat.graph.ops.math import arithmetic, reductions
from towerstrat.graph.scopes.variable_scope import variable_scope
from towerstrat.models.metrics.means import Metric
from towerstrat.models.metrics.streaming_metric import (
    across_towers,
    aligned,
    collect,
    metric_variable,
    of_graphs,
    quotient,
    total_of,
)
from towerstrat.models.shape_matching import broadcast_weights, broadcastable

_KINDS = {
    "tp": ("true_positives", True, True),
    "fn": ("false_negatives", True, False),
    "tn": ("true_negatives", False, False),
    "fp": ("false_positives", False, True),
}
"""kind -> (name of the variable, label, prediction)."""


def _counted(
    kind: str, labels: Any, predictions: Any, weights: Any, metrics_collections: Any, updates_collections: Any,
    name: str | None,
) -> Metric:  # fmt: skip
    variable_name, label, prediction = _KINDS[kind]
    with variable_scope(name, variable_name, (predictions, labels, weights)):
        predictions, labels, weights = aligned(
            arithmetic.cast(predictions, bool_), arithmetic.cast(labels, bool_), weights
        )
        cases = arithmetic.logical_and(arithmetic.equal(labels, label), arithmetic.equal(predictions, prediction))
        count = metric_variable([], float32, name="count")
        values = arithmetic.to_float(cases)
        if weights is not None:
            values = arithmetic.multiply(values, arithmetic.to_float(broadcastable(weights, values)))
        value = total_of(count, metrics_collections)
        update = count.assign_add(reductions.reduce_sum(values))
        collect(updates_collections, update)
        return value, update


@of_graphs
def true_positives(
    labels: Any, predictions: Any, weights: Any = None, metrics_collections: Any = None,
    updates_collections: Any = None, name: str | None = None,
) -> Metric:  # fmt: skip
    """How often both the label and the prediction are true; see ``mean`` for the arguments, here and below."""
    return _counted("tp", labels, predictions, weights, metrics_collections, updates_collections, name)


@of_graphs
def false_negatives(
    labels: Any, predictions: Any, weights: Any = None, metrics_collections: Any = None,
    updates_collections: Any = None, name: str | None = None,
) -> Metric:  # fmt: skip
    """How often the label is true and the prediction is not."""
    return _counted("fn", labels, predictions, weights, metrics_collections, updates_collections, name)


@of_graphs
def true_negatives(
    labels: Any, predictions: Any, weights: Any = None, metrics_collections: Any = None,
    updates_collections: Any = None, name: str | None = None,
) -> Metric:  # fmt: skip
    """How often neither the label nor the prediction is true."""
    return _counted("tn", labels, predictions, weights, metrics_collections, updates_collections, name)


@of_graphs
def false_positives(
    labels: Any, predictions: Any, weights: Any = None, metrics_collections: Any = None,
    updates_collections: Any = None, name: str | None = None,
) -> Metric:  # fmt: skip
    """How often the prediction is true and the label is not."""
    return _counted("fp", labels, predictions, weights, metrics_collections, updates_collections, name)


def _ratio(a: Any, b: Any, name: str | None) -> Tensor:
    """``a / (a + b)``, 0 where both are 0."""
    a, b = convert_to_tensor(a), convert_to_tensor(b)
    both = arithmetic.add(a, b)
    return arrays.where(arithmetic.greater(both, 0.0), arithmetic.div(a, both), arrays.zeros_like(a), name=name)


def _share(
    function: Callable[..., Metric], default_name: str, labels: Any, predictions: Any, weights: Any,
    metrics_collections: Any, updates_collections: Any, name: str | None,
) -> Metric:  # fmt: skip
    """True positives among those and what another function counts."""
    with variable_scope(name, default_name, (predictions, labels, weights)):
        predictions, labels, weights = aligned(
            arithmetic.cast(predictions, bool_), arithmetic.cast(labels, bool_), weights
        )
        hits, more_hits = true_positives(labels, predictions, weights)
        misses, more_misses = function(labels, predictions, weights)
        value = across_towers(metrics_collections, lambda _, a, b: _ratio(a, b, "value"), hits, misses)
        update = _ratio(more_hits, more_misses, "update_op")
        collect(updates_collections, update)
        return value, update


@of_graphs
def precision(
    labels: Any, predictions: Any, weights: Any = None, metrics_collections: Any = None,
    updates_collections: Any = None, name: str | None = None,
) -> Metric:  # fmt: skip
    """How many of the true predictions are right; 0 where there are none."""
    return _share(
        false_positives, "precision", labels, predictions, weights, metrics_collections, updates_collections, name
    )


@of_graphs
def recall(
    labels: Any, predictions: Any, weights: Any = None, metrics_collections: Any = None,
    updates_collections: Any = None, name: str | None = None,
) -> Metric:  # fmt: skip
    """How many of the true labels are predicted; 0 where there are none."""
    return _share(
        false_negatives, "recall", labels, predictions, weights, metrics_collections, updates_collections, name
    )


# ---- at thresholds -------------------------------------------------------------------------------------------------


def counts_at_thresholds(
    labels: Any, predictions: Any, thresholds: Sequence[float], weights: Any = None,
    includes: Sequence[str] | None = None,
) -> tuple[dict[str, Any], dict[str, Any]]:  # fmt: skip
    """Counts per threshold, a prediction being true above it: (variables by kind, updates by kind).

    Args:
      includes: the kinds: "tp", "fn", "tn" and "fp"; None is all.

    Raises:
      ValueError: another kind.
    """
    kinds = tuple(_KINDS) if includes is None else includes
    for kind in kinds:
        if kind not in _KINDS:
            raise ValueError(f"Invalid key: {kind}. Expected those of {', '.join(_KINDS)}.")
    predictions = arithmetic.to_float(predictions)
    with get_default_graph().control_dependencies(
        [
            assertions.assert_greater_equal(predictions, 0.0, message="predictions must be in [0, 1]"),
            assertions.assert_less_equal(predictions, 1.0, message="predictions must be in [0, 1]"),
        ]
    ):
        predictions, labels, weights = aligned(predictions, arithmetic.cast(labels, bool_), weights)
        row = arrays.reshape(predictions, [1, -1])
    limits = constant(np.reshape(np.asarray(thresholds, np.float32), [-1, 1]))
    predicted = arithmetic.greater(row, limits)
    truth = arrays.reshape(labels, [1, -1])
    scale = None
    if weights is not None:
        scale = arrays.reshape(broadcast_weights(arithmetic.to_float(weights), predictions), [1, -1])
    variables: dict[str, Any] = {}
    updates: dict[str, Any] = {}
    for kind in kinds:
        name, label, prediction = _KINDS[kind]
        cases = arithmetic.logical_and(
            truth if label else arithmetic.logical_not(truth),
            predicted if prediction else arithmetic.logical_not(predicted),
        )
        counted = arithmetic.to_float(cases)
        if scale is not None:
            counted = arithmetic.multiply(counted, scale)
        variables[kind] = metric_variable([len(thresholds)], float32, name=name)
        updates[kind] = variables[kind].assign_add(reductions.reduce_sum(counted, 1))
    return variables, updates


def _counted_at(
    kind: str, labels: Any, predictions: Any, thresholds: Any, weights: Any, metrics_collections: Any,
    updates_collections: Any, name: str | None,
) -> Metric:  # fmt: skip
    with variable_scope(name, _KINDS[kind][0], (predictions, labels, weights)):
        variables, updates = counts_at_thresholds(labels, predictions, thresholds, weights, (kind,))
        value = total_of(variables[kind], metrics_collections)
        collect(updates_collections, updates[kind])
        return value, updates[kind]


@of_graphs
def true_positives_at_thresholds(
    labels: Any, predictions: Any, thresholds: Any, weights: Any = None, metrics_collections: Any = None,
    updates_collections: Any = None, name: str | None = None,
) -> Metric:  # fmt: skip
    """Counts for each threshold; predictions are in [0, 1] and true above it."""
    return _counted_at("tp", labels, predictions, thresholds, weights, metrics_collections, updates_collections, name)


@of_graphs
def false_negatives_at_thresholds(
    labels: Any, predictions: Any, thresholds: Any, weights: Any = None, metrics_collections: Any = None,
    updates_collections: Any = None, name: str | None = None,
) -> Metric:  # fmt: skip
    """Counts for each threshold; predictions are in [0, 1] and true above it."""
    return _counted_at("fn", labels, predictions, thresholds, weights, metrics_collections, updates_collections, name)


@of_graphs
def true_negatives_at_thresholds(
    labels: Any, predictions: Any, thresholds: Any, weights: Any = None, metrics_collections: Any = None,
    updates_collections: Any = None, name: str | None = None,
) -> Metric:  # fmt: skip
    """Counts for each threshold; predictions are in [0, 1] and true above it."""
    return _counted_at("tn", labels, predictions, thresholds, weights, metrics_collections, updates_collections, name)


@of_graphs
def false_positives_at_thresholds(
    labels: Any, predictions: Any, thresholds: Any, weights: Any = None, metrics_collections: Any = None,
    updates_collections: Any = None, name: str | None = None,
) -> Metric:  # fmt: skip
    """Counts for each threshold; predictions are in [0, 1] and true above it."""
    return _counted_at("fp", labels, predictions, thresholds, weights, metrics_collections, updates_collections, name)


def _made_of_counts(
    function: Callable[[Mapping[str, Any], str], Tensor], kinds: Sequence[str], labels: Any, predictions: Any,
    thresholds: Sequence[float], weights: Any, metrics_collections: Any, updates_collections: Any,
) -> Metric:  # fmt: skip
    variables, updates = counts_at_thresholds(labels, predictions, thresholds, weights, kinds)

    def value_of(_: Any, counts: Mapping[str, Any]) -> Tensor:
        return function({kind: convert_to_tensor(count) for kind, count in counts.items()}, "value")

    value = across_towers(metrics_collections, value_of, variables)
    update = function(updates, "update_op")
    collect(updates_collections, update)
    return value, update


@of_graphs
def precision_at_thresholds(
    labels: Any, predictions: Any, thresholds: Any, weights: Any = None, metrics_collections: Any = None,
    updates_collections: Any = None, name: str | None = None,
) -> Metric:  # fmt: skip
    """The precision for each threshold."""

    def function(counts: Mapping[str, Any], which: str) -> Tensor:
        return arithmetic.div(counts["tp"], 1e-7 + counts["tp"] + counts["fp"], name=f"precision_{which}")

    with variable_scope(name, "precision_at_thresholds", (predictions, labels, weights)):
        return _made_of_counts(
            function, ("tp", "fp"), labels, predictions, thresholds, weights, metrics_collections, updates_collections
        )


@of_graphs
def recall_at_thresholds(
    labels: Any, predictions: Any, thresholds: Any, weights: Any = None, metrics_collections: Any = None,
    updates_collections: Any = None, name: str | None = None,
) -> Metric:  # fmt: skip
    """The recall for each threshold."""

    def function(counts: Mapping[str, Any], which: str) -> Tensor:
        return arithmetic.div(counts["tp"], 1e-7 + counts["tp"] + counts["fn"], name=f"recall_{which}")

    with variable_scope(name, "recall_at_thresholds", (predictions, labels, weights)):
        return _made_of_counts(
            function, ("tp", "fn"), labels, predictions, thresholds, weights, metrics_collections, updates_collections
        )


def _spread(number: int, last: float = 1.0 + 1e-7) -> list[float]:
    """``number`` thresholds from just below 0 to just around 1."""
    return [-1e-7, *[(i + 1) * 1.0 / (number - 1) for i in range(number - 2)], last]


@of_graphs
def auc(
    labels: Any, predictions: Any, weights: Any = None, num_thresholds: int = 200, metrics_collections: Any = None,
    updates_collections: Any = None, curve: str = "ROC", name: str | None = None,
    summation_method: str = "trapezoidal", thresholds: Sequence[float] | None = None,
) -> Metric:  # fmt: skip
    """The area under a curve, approximated by sums over thresholds.

    Args:
      labels, predictions: of the same shape; predictions are in [0, 1].
      curve: "ROC", or "PR" for precision over recall.
      summation_method: "trapezoidal", "minoring" (a lower bound), "majoring" (an upper bound), or
        "careful_interpolation", the right one for "PR".
      thresholds: numbers in (0, 1) in place of ``num_thresholds`` evenly spaced ones; ends around them are added.

    Raises:
      ValueError: another curve or method.
    """
    if curve not in ("ROC", "PR"):
        raise ValueError(f"curve must be either ROC or PR, got {curve!r}.")
    if summation_method not in ("trapezoidal", "careful_interpolation", "minoring", "majoring"):
        raise ValueError(f"Invalid summation_method: {summation_method!r}.")

    def function(counts: Mapping[str, Any], which: str) -> Tensor:
        if curve == "PR" and summation_method == "careful_interpolation":
            return _interpolated(counts["tp"], counts["fp"], counts["fn"])
        return _area(counts, curve, summation_method, which)

    spread = _spread(num_thresholds) if thresholds is None else [-1e-7, *sorted(thresholds), 1.0 + 1e-7]
    with variable_scope(name, "auc", (labels, predictions, weights)):
        return _made_of_counts(
            function, ("tp", "fn", "tn", "fp"), labels, predictions, spread, weights,
            metrics_collections, updates_collections,
        )  # fmt: skip


def _area(counts: Mapping[str, Any], curve: str, method: str, name: str) -> Tensor:
    tp, fn, tn, fp = (counts[k] for k in ("tp", "fn", "tn", "fp"))
    small = 1.0e-6
    found = arithmetic.div(tp + small, tp + fn + small)
    if curve == "ROC":
        x, y = arithmetic.div(fp, fp + tn + small), found
    else:
        x, y = found, arithmetic.div(tp + small, tp + fp + small)
    left, right = y[:-1], y[1:]
    if method == "minoring":
        height = arithmetic.minimum(left, right)
    elif method == "majoring":
        height = arithmetic.maximum(left, right)
    else:
        height = (left + right) / 2.0
    return reductions.reduce_sum(arithmetic.multiply(x[:-1] - x[1:], height), name=name)


def _interpolated(tp: Tensor, fp: Tensor, fn: Tensor) -> Tensor:
    """The area under the precision-recall curve, true positives taken as linear in all positives between thresholds."""
    more = tp[:-1] - tp[1:]
    positives = tp + fp
    slope = quotient(more, positives[:-1] - positives[1:], "prec_slope")
    start = tp[1:] - arithmetic.multiply(slope, positives[1:])
    known = arithmetic.logical_and(positives[:-1] > 0.0, positives[1:] > 0.0)
    relative = quotient(positives[:-1], positives[1:], "recall_relative_ratio")
    ratio = arrays.where(known, relative, arrays.ones_like(positives[1:]))
    grown = slope * (more + start * arithmetic.log(ratio))
    return reductions.reduce_sum(quotient(grown, tp[1:] + fn[1:], "pr_auc_increment"), name="interpolate_pr_auc")


@of_graphs
def sensitivity_at_specificity(
    labels: Any, predictions: Any, specificity: float, weights: Any = None, num_thresholds: int = 200,
    metrics_collections: Any = None, updates_collections: Any = None, name: str | None = None,
) -> Metric:  # fmt: skip
    """The recall at the threshold whose share of recognized negatives comes nearest to ``specificity``."""
    if specificity < 0 or specificity > 1:
        raise ValueError(f"`specificity` must be in the range [0, 1], got {specificity}.")

    def function(counts: Mapping[str, Any], which: str) -> Tensor:
        found = arithmetic.div(counts["tn"], counts["tn"] + counts["fp"] + 1e-7)
        index = arithmetic.cast(reductions.argmin(arithmetic.abs(found - specificity), 0), "int32")
        hits = counts["tp"][index]
        return arithmetic.div(hits, hits + counts["fn"][index] + 1e-7, name=which)

    with variable_scope(name, "sensitivity_at_specificity", (predictions, labels, weights)):
        return _made_of_counts(
            function, ("tp", "fn", "tn", "fp"), labels, predictions, _spread(num_thresholds), weights,
            metrics_collections, updates_collections,
        )  # fmt: skip


@of_graphs
def specificity_at_sensitivity(
    labels: Any, predictions: Any, sensitivity: float, weights: Any = None, num_thresholds: int = 200,
    metrics_collections: Any = None, updates_collections: Any = None, name: str | None = None,
) -> Metric:  # fmt: skip
    """The share of recognized negatives at the last threshold whose recall comes nearest to ``sensitivity``."""
    if sensitivity < 0 or sensitivity > 1:
        raise ValueError(f"`sensitivity` must be in the range [0, 1], got {sensitivity}.")

    def function(counts: Mapping[str, Any], which: str) -> Tensor:
        found = arithmetic.div(counts["tp"], counts["tp"] + counts["fn"] + 1e-7)
        distance = arithmetic.abs(found - sensitivity)
        nearest = arithmetic.equal(distance, reductions.reduce_min(distance))
        places = arithmetic.cast(arrays.range(num_thresholds), "int32")
        index = reductions.reduce_max(arrays.where(nearest, places, arrays.zeros_like(places)))
        hits = counts["tn"][index]
        return arithmetic.div(hits, hits + counts["fp"][index] + 1e-7, name=which)

    with variable_scope(name, "specificity_at_sensitivity", (predictions, labels, weights)):
        return _made_of_counts(
            function, ("tp", "fn", "tn", "fp"), labels, predictions, _spread(num_thresholds, 1.0 - 1e-7), weights,
            metrics_collections, updates_collections,
        )  # fmt: skip
