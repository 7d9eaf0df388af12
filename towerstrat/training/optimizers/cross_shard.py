"""``CrossShardOptimizer``: sums gradients over towers before another optimizer sees them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from absl import logging

from towerstrat.errors import UnsupportedError
from towerstrat.graph.ir.convert import convert_to_tensor
from towerstrat.graph.ir.core import get_default_graph
from towerstrat.graph.ir.elements import Tensor
from towerstrat.graph.ops import collectives
from towerstrat.towers.engine.contexts import current_distribution, in_tower_context
from towerstrat.training.optimizers.wrapping import OptimizerWrapper

SUM = "weighted_sum"
MEAN = "weighted_mean"


def _num_shards() -> int:
    if in_tower_context():
        return current_distribution().num_towers
    logging.log_first_n(logging.WARNING, "CrossShardOptimizer is used outside of towers; it assumes a single shard.", 1)
    return 1


class CrossShardOptimizer(OptimizerWrapper):
    """An optimizer that adds gradients up over towers and hands them to another one.

    In a strategy's tower context the wrapped optimizer sums over towers itself; with MEAN the result is the same as
    without this wrapper.

    Args:
      opt: the optimizer that updates variables.
      reduction: ``tf.losses.Reduction.MEAN`` divides the loss by the number of towers first, ``SUM`` does not.
      group_assignment: sums within groups of towers are not supported; None, or one group of all.

    Raises:
      ValueError: another reduction.
    """

    def __init__(
        self, opt: Any, reduction: str = MEAN, name: str = "CrossShardOptimizer", group_assignment: Any = None
    ):
        if reduction not in (SUM, MEAN):
            raise ValueError(f"Unsupported reduction: {reduction}. Use tf.losses.Reduction.SUM or MEAN.")
        if group_assignment and len(group_assignment) > 1:
            raise UnsupportedError(
                "CrossShardOptimizer(group_assignment=...): sums within groups of towers are not supported; leave it "
                "out to sum over all towers."
            )
        super().__init__(opt, name)
        self._reduction = reduction
        self._group_assignment = group_assignment

    def compute_gradients(self, loss: Any, var_list: Any = None, **kwargs: Any) -> list[tuple[Any, Any]]:  # type: ignore[override]
        """The wrapped optimizer's gradients of the loss, divided by the number of towers for MEAN."""
        shards = _num_shards()
        if shards > 1 and self._reduction == MEAN:
            loss = loss * (1.0 / shards)
        return self._opt.compute_gradients(loss, var_list=var_list, **kwargs)

    def apply_gradients(self, grads_and_vars: Iterable[Any], global_step: Any = None, name: str | None = None) -> Any:
        """Sums gradients over towers (rows as dense tensors), then the wrapped optimizer's ``apply_gradients``."""
        summed = [(g if g is None else cross_replica_sum(g), v) for g, v in grads_and_vars]
        return self._opt.apply_gradients(summed, global_step, name)

    def get_slot(self, *args: Any, **kwargs: Any) -> Any:
        return self._opt.get_slot(*args, **kwargs)

    def get_slot_names(self, *args: Any, **kwargs: Any) -> list[str]:
        return self._opt.get_slot_names(*args, **kwargs)


def cross_replica_sum(x: Any, group_assignment: Any = None, name: str | None = None) -> Tensor:
    """The sum over towers of a tensor made in tower context; the tensor itself where there is one tower."""
    if group_assignment and len(group_assignment) > 1:
        raise UnsupportedError(
            "cross_replica_sum(group_assignment=...): sums within groups of towers are not supported."
        )
    tensor = convert_to_tensor(x)
    axis = get_default_graph().axis
    if axis is None or axis.size == 1:
        return tensor
    return collectives.all_reduce(tensor, axis, "sum", name or "CrossReplicaSum")
