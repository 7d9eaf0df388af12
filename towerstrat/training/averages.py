"""Losses as parts of a global batch: each tower's share, so that the sum over towers is the mean."""

from __future__ import annotations

from typing import Any

from towerstrat.graph.convert import convert_to_tensor
from towerstrat.graph.core import get_default_graph
from towerstrat.graph.elements import Tensor
from towerstrat.graph.ops import array, math, reductions
from towerstrat.towers import contexts


def _towers(what: str) -> int:
    if contexts.get_tower_context() is None:
        raise RuntimeError(f"{what} is for one tower's values: call it in the function that runs on every tower.")
    return contexts.get_distribution_strategy().num_towers


def compute_average_loss(per_example_loss: Any, sample_weight: Any = None, global_batch_size: Any = None) -> Tensor:
    """The sum of the losses of a tower's examples, divided by the number of examples on all towers.

    Args:
      per_example_loss: ``[batch, ...]``, floating.
      sample_weight: weights that broadcast with it, each example's in front.
      global_batch_size: the number of examples on all towers; by default this tower's times the number of towers. Of
        no example the result is 0.

    Raises:
      RuntimeError: outside of a tower's function, where a strategy was entered.
      ValueError: a Python number below 0 as size.
    """
    towers = _towers("tf.nn.compute_average_loss")
    with get_default_graph().name_scope("compute_average_loss"):
        losses = convert_to_tensor(per_example_loss)
        if not losses.dtype.is_floating:
            raise TypeError(f"Expected floating losses, got {losses.dtype.name}. Use tf.cast.")
        if sample_weight is not None:
            weights = math.cast(convert_to_tensor(sample_weight), losses.dtype)
            for _ in range(len(losses.shape) - len(weights.shape)):
                weights = array.expand_dims(weights, -1)
            losses = math.multiply(losses, weights)
        if global_batch_size is None:
            first = array.shape(losses)[0] if losses.shape.ndims else 1
            global_batch_size = math.multiply(first, towers)
        elif isinstance(global_batch_size, int) and global_batch_size < 0:
            raise ValueError(f"Expected a global_batch_size of at least 0, got {global_batch_size}.")
        size = math.cast(convert_to_tensor(global_batch_size), losses.dtype)
        return math.div_no_nan(reductions.reduce_sum(losses), size)


def scale_regularization_loss(regularization_loss: Any) -> Tensor:
    """The sum of a loss that every tower computes alike, divided by the number of towers.

    Raises:
      RuntimeError: outside of a tower's function, where a strategy was entered.
    """
    towers = _towers("tf.nn.scale_regularization_loss")
    total = reductions.reduce_sum(convert_to_tensor(regularization_loss))
    return math.div(total, math.cast(convert_to_tensor(towers), total.dtype))
