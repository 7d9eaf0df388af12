"""``tf.losses``: weighted losses and their collection."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from towerstrat.graph.ir.default_graph import get_collection, name_scope
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.tensor_conversion import constant, convert_to_tensor
from towerstrat.graph.ir.types import float32
from towerstrat.graph.ops.array import arrays
from towerstrat.graph.ops.indexing import segments
from towerstrat.graph.ops.math import arithmetic, reductions
from towerstrat.graph.ops.nn import cross_entropy, misc
from towerstrat.graph.variables.variables import GraphKeys
from towerstrat.models.shape_matching import broadcast_weights, broadcastable, fitted, squeezed
from towerstrat.towers.engine.tower_contexts import note_loss_reduction


class Reduction:
    """How weighted losses become one: not at all, their sum, or the sum divided by something.

    ``MEAN`` divides by the sum of the weights, ``SUM_OVER_BATCH_SIZE`` by the number of losses,
    ``SUM_BY_NONZERO_WEIGHTS`` (also ``SUM_OVER_NONZERO_WEIGHTS``) by the number of losses whose weight is not 0.
    """

    NONE = "none"
    SUM = "weighted_sum"
    MEAN = "weighted_mean"
    SUM_OVER_BATCH_SIZE = "weighted_sum_over_batch_size"
    SUM_BY_NONZERO_WEIGHTS = "weighted_sum_by_nonzero_weights"
    SUM_OVER_NONZERO_WEIGHTS = SUM_BY_NONZERO_WEIGHTS

    @classmethod
    def all(cls) -> tuple[str, ...]:
        return (cls.NONE, cls.SUM, cls.MEAN, cls.SUM_OVER_BATCH_SIZE, cls.SUM_OVER_NONZERO_WEIGHTS,
                cls.SUM_BY_NONZERO_WEIGHTS)  # fmt: skip

    @classmethod
    def validate(cls, key: str) -> None:
        if key not in cls.all():
            raise ValueError(f"Invalid ReductionKey {key!r}; expected one of {', '.join(sorted(set(cls.all())))}.")


def _safe_div(numerator: Tensor, denominator: Tensor, name: str = "value") -> Tensor:
    """The quotient, 0 where the denominator is not positive."""
    divisor = arrays.where(arithmetic.equal(denominator, 0), arrays.ones_like(denominator), denominator)
    return arrays.where(
        arithmetic.greater(denominator, 0), arithmetic.div(numerator, divisor), arrays.zeros_like(numerator), name=name
    )


def _num_elements(losses: Tensor) -> Tensor:
    with name_scope("num_elements") as scope:
        return arithmetic.cast(arrays.size(losses, name=scope), losses.dtype)


def _num_present(losses: Tensor, weights: Any, per_batch: bool = False) -> Tensor:
    """The number of losses whose weight is not 0, in all or per row."""
    if isinstance(weights, float) and weights != 0.0 and not per_batch:
        return _num_elements(losses)
    with name_scope("num_present") as scope:
        weights = arithmetic.to_float(weights)
        present = arrays.where(arithmetic.equal(weights, 0.0), arrays.zeros_like(weights), arrays.ones_like(weights))
        present = broadcast_weights(present, losses)
        if per_batch:
            return reductions.reduce_sum(present, _but_first(present), keepdims=True, name=scope)
        return reductions.reduce_sum(present, name=scope)


def _but_first(values: Tensor) -> Any:
    if values.dims is not None:
        return list(range(1, len(values.dims)))
    return arrays.range(1, arrays.rank(values))


def compute_weighted_loss(
    losses: Any,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: Any = GraphKeys.LOSSES,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Tensor:
    """Losses times weights, reduced to one loss, which is added to a collection. It is computed in float32.

    Args:
      losses: floating, ``[batch, d1, ...]``.
      weights: a scalar, or of the losses' rank with their size or 1 in each dimension.
      scope: the name of the operations.
      loss_collection: None adds it to none.
      reduction: one of ``Reduction``.

    Returns:
      A scalar of the losses' type; for ``Reduction.NONE`` the weighted losses.

    Raises:
      ValueError: an unknown reduction, or weights that cannot be broadcast.
    """
    Reduction.validate(reduction)
    with name_scope(scope, "weighted_loss", (losses, weights)):
        note_loss_reduction(reduction)
        losses = convert_to_tensor(losses)
        kind = losses.dtype
        losses = arithmetic.to_float(losses)
        tensor = arithmetic.to_float(broadcastable(weights, losses))
        loss = arithmetic.multiply(losses, tensor)
        if reduction != Reduction.NONE:
            loss = reductions.reduce_sum(loss)
            if reduction == Reduction.MEAN:
                total = reductions.reduce_sum(arithmetic.multiply(arrays.ones_like(losses), tensor))
                loss = _safe_div(reductions.reduce_sum(loss), total)
            elif reduction == Reduction.SUM_BY_NONZERO_WEIGHTS:
                present = _num_present(losses, weights if isinstance(weights, float) else tensor)
                loss = _safe_div(reductions.reduce_sum(loss), present)
            elif reduction == Reduction.SUM_OVER_BATCH_SIZE:
                loss = _safe_div(reductions.reduce_sum(loss), _num_elements(losses))
        loss = arithmetic.cast(loss, kind)
        add_loss(loss, loss_collection)
        return loss


def _given(**values: Any) -> None:
    for name, value in values.items():
        if value is None:
            raise ValueError(f"{name} must not be None.")


def _pair(labels: Any, predictions: Any) -> tuple[Tensor, Tensor]:
    predictions, labels = arithmetic.to_float(predictions), arithmetic.to_float(labels)
    predictions.shape.assert_is_compatible_with(labels.shape)
    return labels, predictions


def absolute_difference(
    labels: Any, predictions: Any, weights: Any = 1.0, scope: str | None = None,
    loss_collection: Any = GraphKeys.LOSSES, reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Tensor:  # fmt: skip
    """``|predictions - labels|``. See ``compute_weighted_loss`` for the other arguments, here and below."""
    _given(labels=labels, predictions=predictions)
    with name_scope(scope, "absolute_difference", (predictions, labels, weights)) as scope:
        labels, predictions = _pair(labels, predictions)
        losses = arithmetic.abs(arithmetic.subtract(predictions, labels))
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)


def cosine_distance(
    labels: Any, predictions: Any, axis: int | None = None, weights: Any = 1.0, scope: str | None = None,
    loss_collection: Any = GraphKeys.LOSSES, reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS, dim: int | None = None,
) -> Tensor:  # fmt: skip
    """``1 - sum(labels * predictions)`` along ``axis``; both are taken to be of unit length. ``dim`` is ``axis``."""
    if axis is not None and dim is not None:
        raise ValueError("Cannot specify both 'axis' and 'dim'.")
    axis = dim if axis is None else axis
    if axis is None:
        raise ValueError("You must specify 'axis'.")
    _given(labels=labels, predictions=predictions)
    with name_scope(scope, "cosine_distance_loss", (predictions, labels, weights)) as scope:
        labels, predictions = _pair(labels, predictions)
        products = arithmetic.multiply(predictions, labels)
        losses = arithmetic.subtract(1.0, reductions.reduce_sum(products, [axis], keepdims=True))
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)


def hinge_loss(
    labels: Any, logits: Any, weights: Any = 1.0, scope: str | None = None, loss_collection: Any = GraphKeys.LOSSES,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Tensor:  # fmt: skip
    """``max(0, 1 - (2 * labels - 1) * logits)``; labels are 0 or 1."""
    _given(labels=labels, logits=logits)
    with name_scope(scope, "hinge_loss", (logits, labels, weights)) as scope:
        labels, logits = _pair(labels, logits)
        ones = arrays.ones_like(labels)
        signs = arithmetic.subtract(arithmetic.multiply(2.0, labels), ones)
        losses = misc.relu(arithmetic.subtract(ones, arithmetic.multiply(signs, logits)))
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)


def huber_loss(
    labels: Any, predictions: Any, weights: Any = 1.0, delta: Any = 1.0, scope: str | None = None,
    loss_collection: Any = GraphKeys.LOSSES, reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Tensor:  # fmt: skip
    """Half the squared error up to ``delta``, linear beyond."""
    _given(labels=labels, predictions=predictions)
    with name_scope(scope, "huber_loss", (predictions, labels, weights)) as scope:
        labels, predictions = _pair(labels, predictions)
        error = arithmetic.abs(arithmetic.subtract(predictions, labels))
        quadratic = arithmetic.minimum(error, delta)
        linear = arithmetic.subtract(error, quadratic)
        squares = arithmetic.multiply(0.5, arithmetic.multiply(quadratic, quadratic))
        losses = arithmetic.add(squares, arithmetic.multiply(delta, linear))
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)


def log_loss(
    labels: Any, predictions: Any, weights: Any = 1.0, epsilon: float = 1e-7, scope: str | None = None,
    loss_collection: Any = GraphKeys.LOSSES, reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Tensor:  # fmt: skip
    """``-labels * log(predictions) - (1 - labels) * log(1 - predictions)``, with ``epsilon`` added inside the logs."""
    _given(labels=labels, predictions=predictions)
    with name_scope(scope, "log_loss", (predictions, labels, weights)) as scope:
        labels, predictions = _pair(labels, predictions)
        there = arithmetic.multiply(labels, arithmetic.log(arithmetic.add(predictions, epsilon)))
        absent = arithmetic.add(arithmetic.subtract(1.0, predictions), epsilon)
        losses = arithmetic.subtract(
            arithmetic.negative(there), arithmetic.multiply(arithmetic.subtract(1.0, labels), arithmetic.log(absent))
        )
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)


def mean_pairwise_squared_error(
    labels: Any, predictions: Any, weights: Any = 1.0, scope: str | None = None,
    loss_collection: Any = GraphKeys.LOSSES,
) -> Tensor:  # fmt: skip
    """The mean, over pairs of elements of a row, of the squared error of their difference."""
    _given(labels=labels, predictions=predictions)
    with name_scope(scope, "mean_pairwise_squared_error", (predictions, labels, weights)):
        labels, predictions = _pair(labels, predictions)
        weights = arithmetic.to_float(broadcastable(weights, labels))
        diffs = arithmetic.subtract(predictions, labels)
        rows = _but_first(diffs)
        squares = reductions.reduce_sum(arithmetic.square(diffs), rows, keepdims=True)
        present = _num_present(diffs, weights, per_batch=True)
        others = arithmetic.subtract(present, 1.0)
        first = arithmetic.multiply(2.0, _safe_div(squares, others))
        total = reductions.reduce_sum(diffs, rows, keepdims=True)
        second = arithmetic.multiply(2.0, _safe_div(arithmetic.square(total), arithmetic.multiply(present, others)))
        loss = reductions.reduce_sum(arithmetic.multiply(arithmetic.subtract(first, second), weights))
        some = arithmetic.greater(reductions.reduce_sum(present), 0.0)
        mean = arrays.where(some, loss, arrays.zeros_like(loss), name="value")
        add_loss(mean, loss_collection)
        return mean


def mean_squared_error(
    labels: Any, predictions: Any, weights: Any = 1.0, scope: str | None = None,
    loss_collection: Any = GraphKeys.LOSSES, reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Tensor:  # fmt: skip
    """``(predictions - labels) ** 2``."""
    _given(labels=labels, predictions=predictions)
    with name_scope(scope, "mean_squared_error", (predictions, labels, weights)) as scope:
        labels, predictions = _pair(labels, predictions)
        losses = arithmetic.squared_difference(predictions, labels)
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)


def sigmoid_cross_entropy(
    multi_class_labels: Any, logits: Any, weights: Any = 1.0, label_smoothing: float = 0, scope: str | None = None,
    loss_collection: Any = GraphKeys.LOSSES, reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Tensor:  # fmt: skip
    """Cross entropy of independent classes.

    Args:
      multi_class_labels: ``[batch, classes]``, 0 or 1.
      logits: of the same shape.
      label_smoothing: moves the labels this part of the way to 1/2.
    """
    _given(multi_class_labels=multi_class_labels, logits=logits)
    with name_scope(scope, "sigmoid_cross_entropy_loss", (logits, multi_class_labels, weights)) as scope:
        logits = convert_to_tensor(logits)
        labels = arithmetic.cast(multi_class_labels, logits.dtype)
        logits.shape.assert_is_compatible_with(labels.shape)
        if label_smoothing > 0:
            labels = arithmetic.add(arithmetic.multiply(labels, 1 - label_smoothing), 0.5 * label_smoothing)
        losses = cross_entropy.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits, name="xentropy")
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)


def softmax_cross_entropy(
    onehot_labels: Any, logits: Any, weights: Any = 1.0, label_smoothing: float = 0, scope: str | None = None,
    loss_collection: Any = GraphKeys.LOSSES, reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Tensor:  # fmt: skip
    """Cross entropy of classes that exclude each other. No gradient goes into the labels.

    Args:
      onehot_labels: ``[batch, classes]``.
      logits: of the same shape.
      label_smoothing: moves the labels this part of the way to 1/classes.
    """
    _given(onehot_labels=onehot_labels, logits=logits)
    with name_scope(scope, "softmax_cross_entropy_loss", (logits, onehot_labels, weights)) as scope:
        logits = convert_to_tensor(logits)
        labels = arithmetic.cast(onehot_labels, logits.dtype)
        logits.shape.assert_is_compatible_with(labels.shape)
        if label_smoothing > 0:
            size: Any = arrays.shape(labels)
            classes = arithmetic.cast(size[1], logits.dtype)
            smooth = arithmetic.div(convert_to_tensor(label_smoothing, logits.dtype), classes)
            labels = arithmetic.add(arithmetic.multiply(labels, 1.0 - label_smoothing), smooth)
        labels = arrays.stop_gradient(labels, name="labels_stop_gradient")
        losses = cross_entropy.softmax_cross_entropy_with_logits_v2(labels=labels, logits=logits, name="xentropy")
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)


def sparse_softmax_cross_entropy(
    labels: Any, logits: Any, weights: Any = 1.0, scope: str | None = None, loss_collection: Any = GraphKeys.LOSSES,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Tensor:  # fmt: skip
    """Cross entropy of classes that exclude each other, labels being class numbers.

    Args:
      labels: int32 or int64, ``[batch]`` (or ``[batch, 1]``).
      logits: ``[batch, classes]``.
      weights: a scalar, ``[batch]`` or ``[batch, 1]``.
    """
    _given(labels=labels, logits=logits)
    with name_scope(scope, "sparse_softmax_cross_entropy_loss", (logits, labels, weights)) as scope:
        labels, logits = squeezed(labels, logits, expected_rank_diff=1)
        if not isinstance(weights, float):
            weights = fitted(convert_to_tensor(weights), labels)
        losses = cross_entropy.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits, name="xentropy")
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)


def add_loss(loss: Any, loss_collection: Any = GraphKeys.LOSSES) -> None:
    """Adds a loss to a collection, if there is one. Eagerly nothing is collected."""
    if loss_collection:
        get_default_graph().add_to_collection(loss_collection, loss)


def get_losses(scope: str | None = None, loss_collection: Any = GraphKeys.LOSSES) -> list[Any]:
    """The losses of a collection; with ``scope``, those whose names match it at their start."""
    return get_collection(loss_collection, scope)


def get_regularization_losses(scope: str | None = None) -> list[Any]:
    """What regularizers of variables and layers added."""
    return get_collection(GraphKeys.REGULARIZATION_LOSSES, scope)


def get_regularization_loss(scope: str | None = None, name: str = "total_regularization_loss") -> Tensor:
    """The sum of the regularization losses, 0 if there are none."""
    losses = get_regularization_losses(scope)
    return segments.add_n(losses, name=name) if losses else constant(0.0, float32)


def get_total_loss(
    add_regularization_losses: bool = True, name: str = "total_loss", scope: str | None = None
) -> Tensor:
    """The sum of the losses, the regularization losses included unless that is turned off.

    Args:
      scope: only those whose names match it at their start.

    Raises:
      ValueError: there are none.
    """
    losses = get_losses(scope)
    if add_regularization_losses:
        losses += get_regularization_losses(scope)
    return segments.add_n(losses, name=name)


def sequence_loss(
    logits: Any, targets: Any, weights: Any, average_across_timesteps: bool = True, average_across_batch: bool = True,
    softmax_loss_function: Callable[..., Tensor] | None = None, name: str | None = None,
    sum_over_timesteps: bool = False, sum_over_batch: bool = False,
) -> Tensor:  # fmt: skip
    """The weighted cross entropy of each step of sequences, ``[batch, time]``, or averages of it.

    Args:
      logits: ``[batch, time, classes]``. targets: the classes, integers ``[batch, time]``. weights: ``[batch, time]``.
      average_across_timesteps, average_across_batch: along which of the two it is summed, and divided by the sum of the
        weights; 0 where that is 0.
      softmax_loss_function: ``(labels=, logits=)`` of flat rows -> their losses; default the sparse cross entropy.
      sum_over_timesteps, sum_over_batch: as those that average, but divided by the number of weights that are not 0.

    Raises:
      ValueError: other ranks; a sum and an average along the same dimension.
    """
    for what, value, rank in (("Logits", logits, 3), ("Targets", targets, 2), ("Weights", weights, 2)):
        if len(value.get_shape()) != rank:
            dims = "[batch_size x sequence_length x logits]" if rank == 3 else "[batch_size x sequence_length]"
            raise ValueError(f"{what} must be a {dims} tensor, got shape {value.get_shape()}.")
    averaged, summed = (average_across_batch, average_across_timesteps), (sum_over_batch, sum_over_timesteps)
    for along, a, b in zip(("batch", "timesteps"), averaged, summed, strict=True):
        if a and b:
            raise ValueError(f"average_across_{along} and sum_over_{along} cannot be set to True at same time.")
    with name_scope(name, "sequence_loss", (logits, targets, weights)):
        rows = arrays.reshape(logits, [-1, arrays.shape(logits)[2]])
        loss = softmax_loss_function or cross_entropy.sparse_softmax_cross_entropy_with_logits
        losses = loss(labels=arrays.reshape(targets, [-1]), logits=rows)
        losses = arithmetic.multiply(losses, arrays.reshape(weights, [-1]))
        losses = arrays.reshape(losses, arrays.shape(logits)[0:2])
        if any(averaged):
            axes = [i for i, along in enumerate(averaged) if along]
            return arithmetic.div_no_nan(reductions.reduce_sum(losses, axes), reductions.reduce_sum(weights, axes))
        if any(summed):
            axes = [i for i, along in enumerate(summed) if along]
            count = arithmetic.cast(reductions.count_nonzero(weights, axes), losses.dtype)
            return arithmetic.div_no_nan(reductions.reduce_sum(losses, axes), count)
        return losses
