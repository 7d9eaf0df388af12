"""Means and errors."""

from __future__ import annotations

from typing import Any

from towerstrat.graph.ir.convert import convert_to_tensor
from towerstrat.graph.ir.elements import Tensor
from towerstrat.graph.ir.shapes import size_at
from towerstrat.graph.ir.types import float32, float64
from towerstrat.graph.ops import array, indexing, linalg, math, reductions
from towerstrat.graph.scopes.variable_scope import variable_scope
from towerstrat.training.metrics.base import across_towers, aligned, collect, flat, metric_variable, of_graphs, quotient
from towerstrat.training.ranks import broadcast_weights, squeezed

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
        values = math.to_float(values)
        total = metric_variable([], float32, name="total")
        count = metric_variable([], float32, name="count")
        if weights is None:
            number = math.to_float(array.size(values))
        else:
            values, _, weights = aligned(values, None, weights)
            weights = broadcast_weights(math.to_float(weights), values)
            values = math.multiply(values, weights)
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
    right = math.to_float(math.equal(math.cast(predictions, labels.dtype), labels))
    return mean(right, weights, metrics_collections, updates_collections, name or "accuracy")


@of_graphs
def mean_absolute_error(
    labels: Any, predictions: Any, weights: Any = None, metrics_collections: Any = None,
    updates_collections: Any = None, name: str | None = None,
) -> Metric:  # fmt: skip
    """The mean of ``|predictions - labels|``."""
    predictions, labels, weights = aligned(predictions, labels, weights)
    errors = math.abs(math.subtract(predictions, labels))
    return mean(errors, weights, metrics_collections, updates_collections, name or "mean_absolute_error")


@of_graphs
def mean_squared_error(
    labels: Any, predictions: Any, weights: Any = None, metrics_collections: Any = None,
    updates_collections: Any = None, name: str | None = None,
) -> Metric:  # fmt: skip
    """The mean of ``(labels - predictions) ** 2``."""
    predictions, labels, weights = aligned(predictions, labels, weights)
    errors = math.square(math.subtract(labels, predictions))
    return mean(errors, weights, metrics_collections, updates_collections, name or "mean_squared_error")


@of_graphs
def root_mean_squared_error(
    labels: Any, predictions: Any, weights: Any = None, metrics_collections: Any = None,
    updates_collections: Any = None, name: str | None = None,
) -> Metric:  # fmt: skip
    """The square root of the mean squared error."""
    predictions, labels, weights = aligned(predictions, labels, weights)
    squares, update = mean_squared_error(labels, predictions, weights, name=name or "root_mean_squared_error")
    value = across_towers(metrics_collections, lambda _, v: math.sqrt(v), squares)
    update = math.sqrt(update)
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
    relative = math.div(math.abs(math.subtract(labels, predictions)), normalizer)
    errors = array.where(math.equal(normalizer, 0.0), array.zeros_like(labels), relative)
    return mean(errors, weights, metrics_collections, updates_collections, name or "mean_relative_error")


@of_graphs
def mean_cosine_distance(
    labels: Any, predictions: Any, dim: int, weights: Any = None, metrics_collections: Any = None,
    updates_collections: Any = None, name: str | None = None,
) -> Metric:  # fmt: skip
    """1 less the mean of ``sum(labels * predictions)`` along ``dim``; both are taken to be of unit length."""
    predictions, labels, weights = aligned(predictions, labels, weights)
    products = reductions.reduce_sum(math.multiply(predictions, labels), [dim], keepdims=True)
    value, update = mean(products, weights, name=name or "mean_cosine_distance")
    value, update = math.subtract(1.0, value), math.subtract(1.0, update)
    collect(metrics_collections, value)
    collect(updates_collections, update)
    return value, update


@of_graphs
def percentage_below(
    values: Any, threshold: Any, weights: Any = None, metrics_collections: Any = None,
    updates_collections: Any = None, name: str | None = None,
) -> Metric:  # fmt: skip
    """How often values are less than ``threshold``."""
    below = math.to_float(math.less(values, threshold))
    return mean(below, weights, metrics_collections, updates_collections, name or "percentage_below_threshold")


@of_graphs
def mean_tensor(
    values: Any, weights: Any = None, metrics_collections: Any = None, updates_collections: Any = None,
    name: str | None = None,
) -> Metric:  # fmt: skip
    """The weighted mean of each element so far; the shape of ``values`` must be known and always the same."""
    with variable_scope(name, "mean", (values, weights)):
        values = math.to_float(values)
        total = metric_variable(values.shape, float32, name="total_tensor")
        count = metric_variable(values.shape, float32, name="count_tensor")
        number = array.ones_like(values)
        if weights is not None:
            values, _, weights = aligned(values, None, weights)
            weights = broadcast_weights(math.to_float(weights), values)
            values = math.multiply(values, weights)
            number = math.multiply(number, weights)
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
        labels, predictions = flat(math.to_int64(labels)), flat(predictions)
        predictions.shape.assert_is_compatible_with(labels.shape)
        total = metric_variable([num_classes], float32, name="total")
        count = metric_variable([num_classes], float32, name="count")
        right = math.to_float(math.equal(math.cast(predictions, labels.dtype), labels))
        number = array.ones_like(right)
        if weights is not None:
            weights = math.to_float(flat(weights))
            right, number = math.multiply(right, weights), math.multiply(number, weights)
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
    members = indexing.one_hot(labels, num_classes, dtype=float32)
    return reductions.reduce_sum(math.multiply(members, array.expand_dims(values, 1)), 0)


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
            indexing.one_hot(math.to_int64(flat(x)), num_classes, dtype=float64) for x in (labels, predictions)
        )
        if weights is not None:
            rows = math.multiply(rows, array.expand_dims(math.cast(flat(weights), float64), 1))
        update = total.assign_add(linalg.matmul(rows, columns, transpose_a=True))
        value = across_towers(metrics_collections, lambda _, matrix: _intersection_over_union(matrix), total)
        collect(updates_collections, update)
        return value, update


def _intersection_over_union(matrix: Any) -> Tensor:
    matrix = convert_to_tensor(matrix)
    size = size_at(matrix.shape, 0)
    eye = array.reshape(indexing.one_hot(array.range(size), size, dtype=float64), [size, size])
    both = math.to_float(reductions.reduce_sum(math.multiply(matrix, eye), 1))
    either = math.subtract(
        math.add(math.to_float(reductions.reduce_sum(matrix, 0)), math.to_float(reductions.reduce_sum(matrix, 1))), both
    )
    there = reductions.reduce_sum(math.to_float(math.not_equal(either, 0.0)))
    shares = math.div(both, array.where(math.greater(either, 0.0), either, array.ones_like(either)))
    found = math.div(reductions.reduce_sum(shares, name="mean_iou"), there)
    return array.where(math.greater(there, 0.0), found, array.zeros_like(found))
