"""Means and errors."""

from __future__ import annotations

from typing import Any

from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.shapes import size_at
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.graph.ir.types import float32, float64
from towerstrat.graph.ops.array import arrays
from towerstrat.graph.ops.indexing import gather_scatter
from towerstrat.graph.ops.linalg import products as linalg
from towerstrat.graph.ops.math import arithmetic, reductions
from towerstrat.graph.scopes.variable_scope import variable_scope
from towerstrat.models.metrics.streaming_metric import (
    across_towers,
    aligned,
    collect,
    flat,
    metric_variable,
    of_graphs,
    quotient,
)
from towerstrat.models.shape_matching import broadcast_weights, squeezed

Metric = tuple[Any, Any]
"""(the value so far, an operation that adds a batch and gives the value with it)."""


@of_graphs
def mean(
    values: Any, weights: Any = None, metrics_collections: Any = None, updates_collections: Any = None,
    name: str | None = None,
) -> Metric:  # fmt: skip
    """The weighted mean of all values so far.

    Args:
      values: numbers of any shape; taken as float32.
      weights: of the values' rank, with their size or 1 in each dimension; default 1.
      metrics_collections, updates_collections: where the value and the update are added.
      name: of the variables and operations.

    Returns:
      (the value so far, an operation that adds a batch and gives the value with it). The variables are local: run
      ``tf.local_variables_initializer()`` before the first batch and wherever counting starts anew.
    """
    with variable_scope(name, "mean", (values, weights)):
        values = arithmetic.to_float(values)
        total = metric_variable([], float32, name="total")
        count = metric_variable([], float32, name="count")
        if weights is None:
            number = arithmetic.to_float(arrays.size(values))
        else:
            values, _, weights = aligned(values, None, weights)
            weights = broadcast_weights(arithmetic.to_float(weights), values)
            values = arithmetic.multiply(values, weights)
            number = reductions.reduce_sum(weights)
        new_total = total.assign_add(reductions.reduce_sum(values))
        new_count = count.assign_add(number)
        value = across_towers(metrics_collections, lambda _, t, c: quotient(t, c, "value"), total, count)
        update = quotient(new_total, new_count, "update_op")
        collect(updates_collections, update)
        return value, update


@of_graphs
def accuracy(
    labels: Any, predictions: Any, weights: Any = None, metrics_collections: Any = None,
    updates_collections: Any = None, name: str | None = None,
) -> Metric:  # fmt: skip
    """How often predictions equal labels. See ``mean`` for arguments and result, here and below."""
    predictions, labels, weights = aligned(predictions, labels, weights)
    right = arithmetic.to_float(arithmetic.equal(arithmetic.cast(predictions, labels.dtype), labels))
    return mean(right, weights, metrics_collections, updates_collections, name or "accuracy")


@of_graphs
def mean_absolute_error(
    labels: Any, predictions: Any, weights: Any = None, metrics_collections: Any = None,
    updates_collections: Any = None, name: str | None = None,
) -> Metric:  # fmt: skip
    """The mean of ``|predictions - labels|``."""
    predictions, labels, weights = aligned(predictions, labels, weights)
    errors = arithmetic.abs(arithmetic.subtract(predictions, labels))
    return mean(errors, weights, metrics_collections, updates_collections, name or "mean_absolute_error")


@of_graphs
def mean_squared_error(
    labels: Any, predictions: Any, weights: Any = None, metrics_collections: Any = None,
    updates_collections: Any = None, name: str | None = None,
) -> Metric:  # fmt: skip
    """The mean of ``(labels - predictions) ** 2``."""
    predictions, labels, weights = aligned(predictions, labels, weights)
    errors = arithmetic.square(arithmetic.subtract(labels, predictions))
    return mean(errors, weights, metrics_collections, updates_collections, name or "mean_squared_error")


@of_graphs
def root_mean_squared_error(
    labels: Any, predictions: Any, weights: Any = None, metrics_collections: Any = None,
    updates_collections: Any = None, name: str | None = None,
) -> Metric:  # fmt: skip
    """The square root of the mean squared error."""
    predictions, labels, weights = aligned(predictions, labels, weights)
    squares, update = mean_squared_error(labels, predictions, weights, name=name or "root_mean_squared_error")
    value = across_towers(metrics_collections, lambda _, v: arithmetic.sqrt(v), squares)
    update = arithmetic.sqrt(update)
    collect(updates_collections, update)
    return value, update


@of_graphs
def mean_relative_error(
    labels: Any, predictions: Any, normalizer: Any, weights: Any = None, metrics_collections: Any = None,
    updates_collections: Any = None, name: str | None = None,
) -> Metric:  # fmt: skip
    """The mean of ``|labels - predictions| / normalizer``, 0 where the normalizer is 0."""
    predictions, labels, weights = aligned(predictions, labels, weights)
    predictions, normalizer = squeezed(predictions, normalizer)
    predictions.shape.assert_is_compatible_with(normalizer.shape)
    relative = arithmetic.div(arithmetic.abs(arithmetic.subtract(labels, predictions)), normalizer)
    errors = arrays.where(arithmetic.equal(normalizer, 0.0), arrays.zeros_like(labels), relative)
    return mean(errors, weights, metrics_collections, updates_collections, name or "mean_relative_error")


@of_graphs
def mean_cosine_distance(
    labels: Any, predictions: Any, dim: int, weights: Any = None, metrics_collections: Any = None,
    updates_collections: Any = None, name: str | None = None,
) -> Metric:  # fmt: skip
    """1 less the mean of ``sum(labels * predictions)`` along ``dim``; both are taken to be of unit length."""
    predictions, labels, weights = aligned(predictions, labels, weights)
    products = reductions.reduce_sum(arithmetic.multiply(predictions, labels), [dim], keepdims=True)
    value, update = mean(products, weights, name=name or "mean_cosine_distance")
    value, update = arithmetic.subtract(1.0, value), arithmetic.subtract(1.0, update)
    collect(metrics_collections, value)
    collect(updates_collections, update)
    return value, update


@of_graphs
def percentage_below(
    values: Any, threshold: Any, weights: Any = None, metrics_collections: Any = None,
    updates_collections: Any = None, name: str | None = None,
) -> Metric:  # fmt: skip
    """How often values are less than ``threshold``."""
    below = arithmetic.to_float(arithmetic.less(values, threshold))
    return mean(below, weights, metrics_collections, updates_collections, name or "percentage_below_threshold")


@of_graphs
def mean_tensor(
    values: Any, weights: Any = None, metrics_collections: Any = None, updates_collections: Any = None,
    name: str | None = None,
) -> Metric:  # fmt: skip
    """The weighted mean of each element so far; the shape of ``values`` must be known and always the same."""
    with variable_scope(name, "mean", (values, weights)):
        values = arithmetic.to_float(values)
        total = metric_variable(values.shape, float32, name="total_tensor")
        count = metric_variable(values.shape, float32, name="count_tensor")
        number = arrays.ones_like(values)
        if weights is not None:
            values, _, weights = aligned(values, None, weights)
            weights = broadcast_weights(arithmetic.to_float(weights), values)
            values = arithmetic.multiply(values, weights)
            number = arithmetic.multiply(number, weights)
        new_total = total.assign_add(values)
        new_count = count.assign_add(number)
        value = across_towers(metrics_collections, lambda _, t, c: quotient(t, c, "value"), total, count)
        update = quotient(new_total, new_count, "update_op")
        collect(updates_collections, update)
        return value, update


# ---- by class ------------------------------------------------------------------------------------------------------


@of_graphs
def mean_per_class_accuracy(
    labels: Any, predictions: Any, num_classes: int, weights: Any = None, metrics_collections: Any = None,
    updates_collections: Any = None, name: str | None = None,
) -> Metric:  # fmt: skip
    """The mean over classes of how often a class is predicted where it is the label; the update gives one per class."""
    with variable_scope(name, "mean_accuracy", (predictions, labels, weights)):
        labels, predictions = flat(arithmetic.to_int64(labels)), flat(predictions)
        predictions.shape.assert_is_compatible_with(labels.shape)
        total = metric_variable([num_classes], float32, name="total")
        count = metric_variable([num_classes], float32, name="count")
        right = arithmetic.to_float(arithmetic.equal(arithmetic.cast(predictions, labels.dtype), labels))
        number = arrays.ones_like(right)
        if weights is not None:
            weights = arithmetic.to_float(flat(weights))
            right, number = arithmetic.multiply(right, weights), arithmetic.multiply(number, weights)
        new_total = total.assign_add(_per_class(number, labels, num_classes))
        new_count = count.assign_add(_per_class(right, labels, num_classes))

        def value_of(_: Any, count: Any, total: Any) -> Tensor:
            return reductions.reduce_mean(quotient(count, total), name="mean_accuracy")

        value = across_towers(metrics_collections, value_of, count, total)
        update = quotient(new_count, new_total, "update_op")
        collect(updates_collections, update)
        return value, update


def _per_class(values: Tensor, labels: Tensor, num_classes: int) -> Tensor:
    """The sum of values by label."""
    members = gather_scatter.one_hot(labels, num_classes, dtype=float32)
    return reductions.reduce_sum(arithmetic.multiply(members, arrays.expand_dims(values, 1)), 0)


@of_graphs
def mean_iou(
    labels: Any, predictions: Any, num_classes: int, weights: Any = None, metrics_collections: Any = None,
    updates_collections: Any = None, name: str | None = None,
) -> Metric:  # fmt: skip
    """The mean over the classes that occur of intersection over union; the update gives the confusion matrix.

    Args:
      labels, predictions: class numbers below ``num_classes``, of the same shape.
    """
    with variable_scope(name, "mean_iou", (predictions, labels, weights)):
        labels, predictions = convert_to_tensor(labels), convert_to_tensor(predictions)
        predictions.shape.assert_is_compatible_with(labels.shape)
        total = metric_variable([num_classes, num_classes], float64, name="total_confusion_matrix")
        rows, columns = (
            gather_scatter.one_hot(arithmetic.to_int64(flat(x)), num_classes, dtype=float64)
            for x in (labels, predictions)
        )
        if weights is not None:
            rows = arithmetic.multiply(rows, arrays.expand_dims(arithmetic.cast(flat(weights), float64), 1))
        update = total.assign_add(linalg.matmul(rows, columns, transpose_a=True))
        value = across_towers(metrics_collections, lambda _, matrix: _intersection_over_union(matrix), total)
        collect(updates_collections, update)
        return value, update


def _intersection_over_union(matrix: Any) -> Tensor:
    matrix = convert_to_tensor(matrix)
    size = size_at(matrix.shape, 0)
    eye = arrays.reshape(gather_scatter.one_hot(arrays.range(size), size, dtype=float64), [size, size])
    both = arithmetic.to_float(reductions.reduce_sum(arithmetic.multiply(matrix, eye), 1))
    either = arithmetic.subtract(
        arithmetic.add(
            arithmetic.to_float(reductions.reduce_sum(matrix, 0)), arithmetic.to_float(reductions.reduce_sum(matrix, 1))
        ),
        both,
    )
    there = reductions.reduce_sum(arithmetic.to_float(arithmetic.not_equal(either, 0.0)))
    shares = arithmetic.div(both, arrays.where(arithmetic.greater(either, 0.0), either, arrays.ones_like(either)))
    found = arithmetic.div(reductions.reduce_sum(shares, name="mean_iou"), there)
    return arrays.where(arithmetic.greater(there, 0.0), found, arrays.zeros_like(found))
