"""Losses as parts of a global batch: each replica's share, so that the sum over replicas is the mean."""

from __future__ import annotations

from typing import Any

from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.graph.ir.types import float32, float64
from towerstrat.graph.ops.array import arrays
from towerstrat.graph.ops.control.assertions import assert_non_negative
from towerstrat.graph.ops.math import arithmetic, reductions
from towerstrat.models.shape_matching import fitted
from towerstrat.towers.engine import tower_contexts


def _replicas(what: str, instead: str) -> int:
    """How many there are. Raises RuntimeError in the context of all of them."""
    if tower_contexts.get_tower_context() is None:
        raise RuntimeError(
            f"You are calling `{what}` in cross replica context, while it was expected to be called in replica "
            f"context. {instead}"
        )
    return int(tower_contexts.current_distribution().num_towers)


def compute_average_loss(per_example_loss: Any, sample_weight: Any = None, global_batch_size: Any = None) -> Tensor:
    """The sum of the losses of a replica's examples, divided by the number of examples on all replicas.

    Args:
      per_example_loss: ``[batch, ...]``, of whole numbers as float64.
      sample_weight: weights that multiply it; with one dimension more than the losses the last one is taken away, with
        one less it is added.
      global_batch_size: the number of examples on all replicas, a scalar integer; by default this replica's times the
        number of replicas. Of no example the result is 0.

    Raises:
      RuntimeError: without a size in cross-replica context. ValueError: losses without a batch; the size is no scalar.
      TypeError: the size is no integer. InvalidArgumentError: it is below 0.
    """
    graph = get_default_graph()
    with graph.name_scope("compute_average_loss"):
        losses = convert_to_tensor(per_example_loss)
        dtype = losses.dtype
        if losses.dims == ():
            raise ValueError(
                "Invalid value passed for `per_example_loss`. Expected a tensor with at least rank 1. Received "
                f"per_example_loss={per_example_loss} with rank 0"
            )
        if sample_weight is not None:
            losses = arithmetic.cast(
                _weighted(arithmetic.cast(losses, float32), convert_to_tensor(sample_weight)), dtype
            )
        if global_batch_size is None:
            replicas = _replicas(
                "compute_average_loss", "Call it in the function that strategy.run calls, or give global_batch_size."
            )
            size = arithmetic.multiply(arrays.shape(losses)[0], replicas)
        else:
            size = _checked_size(global_batch_size)
        return _quotient(reductions.reduce_sum(losses), size)


def _weighted(losses: Tensor, weights: Tensor) -> Tensor:
    weights = arithmetic.cast(weights, losses.dtype)
    if losses.dims is not None and weights.dims:
        more = len(weights.dims) - len(losses.dims)
        if more == 1:
            weights = arrays.squeeze(weights, [-1])
        elif more == -1:
            weights = arrays.expand_dims(weights, -1)
    elif weights.dims != ():
        weights = fitted(weights, losses, expands=True)
    return arithmetic.multiply(losses, weights)


def _checked_size(global_batch_size: Any) -> Tensor:
    size = convert_to_tensor(global_batch_size)
    if size.dims != ():
        raise ValueError(f"global_batch_size must be scalar. Expected scalar shape, saw shape: {size.shape}.")
    if not size.dtype.is_integer:
        raise TypeError(
            f'global_batch_size must be an integer. Expected "x" to be integer type. Found: {global_batch_size!r}'
        )
    check = assert_non_negative(size, message="global_batch_size must be non-negative.")
    with get_default_graph().control_dependencies([] if check is None else [check]):
        return arrays.identity(size)


def _quotient(total: Tensor, count: Any) -> Tensor:
    """Nothing divided by nothing is 0. Whole numbers become float64."""
    wide = float64 if total.dtype.is_integer else total.dtype
    return arithmetic.div_no_nan(arithmetic.cast(total, wide), arithmetic.cast(convert_to_tensor(count), wide))


def scale_regularization_loss(regularization_loss: Any) -> Tensor:
    """The sum of a loss that every replica computes alike, divided by the number of replicas; float64 of whole numbers.

    Raises:
      RuntimeError: in cross-replica context.
    """
    replicas = _replicas("scale_regularization_loss", "Call it in the function that strategy.run calls.")
    return _quotient(reductions.reduce_sum(convert_to_tensor(regularization_loss)), replicas)
