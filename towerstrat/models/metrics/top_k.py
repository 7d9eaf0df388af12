"""Metrics of the k best predictions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from towerstrat.graph.ir.default_graph import name_scope
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.sparse_tensor import SparseTensor, SparseTensorValue
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.graph.ir.types import float64, int32, int64
from towerstrat.graph.ops.array import arrays
from towerstrat.graph.ops.math import arithmetic, reductions
from towerstrat.graph.ops.nn import misc
from towerstrat.graph.ops.sparse.dense_conversion import sparse_tensor_to_dense
from towerstrat.models.metrics.means import Metric
from towerstrat.models.metrics.streaming_metric import across_towers, collect, metric_variable, of_graphs
from towerstrat.models.shape_matching import broadcast_weights, broadcastable

Counter = Callable[[Tensor, Tensor], Tensor]
_NOTHING = -(2**63)
"""Stands where a row of sparse labels has none."""


def _name(name: str, k: int | None, class_id: int | None = None) -> str:
    found = f"{name}_at_{'k' if k is None else k}"
    return found if class_id is None else f"{found}_class{class_id}"


def _with_classes(labels: Any, predictions: Tensor) -> Tensor:
    """Labels of the rank of ``predictions``: their last dimension lists a row's classes, sparse ones each once."""
    if isinstance(labels, SparseTensor | SparseTensorValue):
        sparse = SparseTensor.from_value(labels)
        sparse = sparse.with_values(arithmetic.to_int64(sparse.values))
        listed = sparse_tensor_to_dense(sparse, _NOTHING, validate_indices=False)
        labels = arrays.where(_first_ones(listed), listed, arrays.fill(arrays.shape(listed), _nothing()))
    labels = arithmetic.to_int64(labels)
    if labels.dims is None or predictions.dims is None or len(labels.dims) == len(predictions.dims):
        return labels
    if len(labels.dims) + 1 == len(predictions.dims):
        return arrays.expand_dims(labels, -1)
    raise ValueError(f"Unexpected labels shape {labels.shape} for predictions shape {predictions.shape}.")


def _first_ones(ids: Tensor) -> Tensor:
    """Whether each entry of a row is the first of its value there."""
    size = arrays.shape(ids)[-1]
    same = arithmetic.equal(arrays.expand_dims(ids, -1), arrays.expand_dims(ids, -2))
    places = arrays.range(size)
    before = arithmetic.less(arrays.expand_dims(places, 0), arrays.expand_dims(places, 1))
    return arithmetic.logical_not(reductions.reduce_any(arithmetic.logical_and(same, before), -1))


def _found(ids: Tensor, others: Tensor) -> Tensor:
    """Whether each entry of a row is in the other's row."""
    return reductions.reduce_any(arithmetic.equal(arrays.expand_dims(ids, -1), arrays.expand_dims(others, -2)), -1)


def _in_both(labels: Tensor, predictions: Tensor) -> Tensor:
    return arithmetic.logical_and(_first_ones(predictions), _found(predictions, labels))


def _only_labels(labels: Tensor, predictions: Tensor) -> Tensor:
    missed = arithmetic.logical_and(_present(labels), arithmetic.logical_not(_found(labels, predictions)))
    return arithmetic.logical_and(_first_ones(labels), missed)


def _nothing() -> Tensor:
    return convert_to_tensor(_NOTHING, int64)


def _present(labels: Tensor) -> Tensor:
    """Whether each entry is a label: rows of sparse ones may have fewer than others."""
    return arithmetic.not_equal(labels, _nothing())


def _only_predictions(labels: Tensor, predictions: Tensor) -> Tensor:
    return arithmetic.logical_and(_first_ones(predictions), arithmetic.logical_not(_found(predictions, labels)))


def _total(
    name: str, counter: Counter, labels: Tensor, predictions: Tensor, k: int | None, class_id: int | None, weights: Any
) -> Metric:
    """A sum over rows so far, of entries that ``counter`` marks, of one class or all: (variable, update)."""
    with name_scope(_name(name, k, class_id)) as scope:
        marked = counter(labels, predictions)
        if class_id is not None:
            ids = labels if counter is _only_labels else predictions
            marked = arithmetic.logical_and(marked, arithmetic.equal(ids, convert_to_tensor(class_id, ids.dtype)))
        counted = reductions.reduce_sum(arithmetic.to_double(marked), -1)
        if weights is not None:
            counted = arithmetic.multiply(counted, arithmetic.to_double(broadcastable(weights, counted)))
        variable = metric_variable([], float64, name=scope)
        return variable, variable.assign_add(reductions.reduce_sum(counted), name="update")


def _share(
    what: str, other: str, counter: Counter, labels: Any, predictions_idx: Any, k: int | None, class_id: int | None,
    weights: Any, metrics_collections: Any, updates_collections: Any, name: str | None,
) -> Metric:  # fmt: skip
    with name_scope(name, _name(what, k, class_id), (predictions_idx, labels, weights)) as scope:
        ids = arithmetic.to_int64(predictions_idx)
        labels = _with_classes(labels, ids)
        hits, more_hits = _total("true_positive", _in_both, labels, ids, k, class_id, weights)
        misses, more_misses = _total(other, counter, labels, ids, k, class_id, weights)

        def value_of(_: Any, a: Any, b: Any) -> Tensor:
            return arithmetic.div(convert_to_tensor(a), arithmetic.add(a, b), name=scope)

        value = across_towers(metrics_collections, value_of, hits, misses)
        update = arithmetic.div(more_hits, arithmetic.add(more_hits, more_misses), name="update")
        collect(updates_collections, update)
        return value, update


@of_graphs
def recall_at_top_k(
    labels: Any, predictions_idx: Any, k: int | None = None, class_id: int | None = None, weights: Any = None,
    metrics_collections: Any = None, updates_collections: Any = None, name: str | None = None,
) -> Metric:  # fmt: skip
    """How many of the labels are among the predicted classes.

    Args:
      labels: class numbers, ``[batch]`` or ``[batch, labels of a row]``.
      predictions_idx: class numbers, ``[batch, k]``.
      k: only for the name.
      class_id: counts this class only.
      weights: a scalar or ``[batch]``.
    """
    return _share(
        "recall", "false_negative", _only_labels, labels, predictions_idx, k, class_id, weights, metrics_collections,
        updates_collections, name,
    )  # fmt: skip


@of_graphs
def recall_at_k(
    labels: Any, predictions: Any, k: int, class_id: int | None = None, weights: Any = None,
    metrics_collections: Any = None, updates_collections: Any = None, name: str | None = None,
) -> Metric:  # fmt: skip
    """How many of the labels are among the k classes with the highest scores, ``predictions``: ``[batch, classes]``."""
    with name_scope(name, _name("recall", k, class_id), (predictions, labels, weights)) as scope:
        _, ids = misc.top_k(predictions, k)
        return recall_at_top_k(labels, ids, k, class_id, weights, metrics_collections, updates_collections, scope)


@of_graphs
def precision_at_top_k(
    labels: Any, predictions_idx: Any, k: int | None = None, class_id: int | None = None, weights: Any = None,
    metrics_collections: Any = None, updates_collections: Any = None, name: str | None = None,
) -> Metric:  # fmt: skip
    """How many of the predicted classes are labels. Arguments as of ``recall_at_top_k``."""
    return _share(
        "precision", "false_positive", _only_predictions, labels, predictions_idx, k, class_id, weights,
        metrics_collections, updates_collections, name,
    )  # fmt: skip


@of_graphs
def precision_at_k(
    labels: Any, predictions: Any, k: int, class_id: int | None = None, weights: Any = None,
    metrics_collections: Any = None, updates_collections: Any = None, name: str | None = None,
) -> Metric:  # fmt: skip
    """How many of the k classes with the highest scores are labels. Arguments as of ``recall_at_k``."""
    with name_scope(name, _name("precision", k, class_id), (predictions, labels, weights)) as scope:
        _, ids = misc.top_k(predictions, k)
        return precision_at_top_k(labels, ids, k, class_id, weights, metrics_collections, updates_collections, scope)


@of_graphs
def sparse_precision_at_k(
    labels: Any, predictions: Any, k: int, class_id: int | None = None, weights: Any = None,
    metrics_collections: Any = None, updates_collections: Any = None, name: str | None = None,
) -> Metric:  # fmt: skip
    """``precision_at_k`` by its older name."""
    return precision_at_k(labels, predictions, k, class_id, weights, metrics_collections, updates_collections, name)


@of_graphs
def average_precision_at_k(
    labels: Any, predictions: Any, k: int, weights: Any = None, metrics_collections: Any = None,
    updates_collections: Any = None, name: str | None = None,
) -> Metric:  # fmt: skip
    """The mean over rows of the precision at each of the k best places that holds a label."""
    if k < 1:
        raise ValueError(f"Invalid k={k}; expected at least 1.")
    with name_scope(name, _name("average_precision", k), (predictions, labels, weights)) as scope:
        _, ids = misc.top_k(predictions, k)
        return average_precision_at_top_k(labels, ids, weights, metrics_collections, updates_collections, scope)


def average_precision_at_top_k(
    labels: Any, predictions_idx: Any, weights: Any = None, metrics_collections: Any = None,
    updates_collections: Any = None, name: str | None = None,
) -> Metric:  # fmt: skip
    """``average_precision_at_k`` of the classes of the best places, ``[..., k]``."""
    with name_scope(name, "average_precision_at_top_k", (predictions_idx, labels, weights)) as scope:
        ids = arithmetic.to_int64(predictions_idx)
        rows = _average_precision(_with_classes(labels, ids), ids)
        number = arithmetic.to_double(arrays.size(rows))
        if weights is not None:
            weights = broadcast_weights(arithmetic.to_double(weights), rows)
            rows, number = arithmetic.multiply(rows, weights), reductions.reduce_sum(weights)
        with name_scope("max") as inner:
            maximum = metric_variable([], float64, name=inner)
            more = maximum.assign_add(number, name="update")
        with name_scope("total") as inner:
            total = metric_variable([], float64, name=inner)
            new_total = total.assign_add(reductions.reduce_sum(rows, name="batch_total"), name="update")
        value = across_towers(
            metrics_collections, lambda _, t, m: arithmetic.div_no_nan(t, m, name="mean"), total, maximum
        )
        update = arithmetic.div_no_nan(new_total, more, name=scope)
        collect(updates_collections, update)
        return value, update


def _average_precision(labels: Tensor, ids: Tensor) -> Tensor:
    relevant = arithmetic.to_double(_found(ids, labels))
    found = reductions.cumsum(relevant, axis=-1)
    retrieved = reductions.cumsum(arrays.ones_like(relevant), axis=-1)
    precisions = arithmetic.multiply(arithmetic.div(found, retrieved), relevant)
    number = arithmetic.minimum(
        reductions.reduce_sum(arithmetic.cast(_present(labels), int32), -1), arrays.shape(ids)[-1]
    )
    return arithmetic.div(reductions.reduce_sum(precisions, -1), arithmetic.to_double(number))


@of_graphs
def sparse_average_precision_at_k(
    labels: Any, predictions: Any, k: int, weights: Any = None, metrics_collections: Any = None,
    updates_collections: Any = None, name: str | None = None,
) -> Metric:  # fmt: skip
    """``average_precision_at_k`` by its older name."""
    return average_precision_at_k(labels, predictions, k, weights, metrics_collections, updates_collections, name)
