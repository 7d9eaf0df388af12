"""``CrossShardOptimizer``: sums gradients over towers before another optimizer sees them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from towerstrat.platform import logs
from towerstrat.towers.shards.collectives import cross_replica_sum
from towerstrat.towers.shards.tpu_context import get_tpu_context
from towerstrat.training.optimizers.optimizer_wrapper import OptimizerWrapper

SUM = "weighted_sum"
MEAN = "weighted_mean"


def _num_shards() -> int:
    shards = get_tpu_context().number_of_shards
    if shards is not None:
        return shards
    logs.log_first_n(logs.WARN, "CrossShardOptimizer is used outside of towers; it assumes a single shard.", 1)
    return 1


class CrossShardOptimizer(OptimizerWrapper):
    """An optimizer that adds gradients up over towers and hands them to another one.

    In a strategy's tower context the wrapped optimizer sums over towers itself; with MEAN the result is the same as
    without this wrapper.

    Args:
      opt: the optimizer that updates variables.
      reduction: ``tf.losses.Reduction.MEAN`` divides the loss by the number of towers first, ``SUM`` does not.
      group_assignment: lists of the towers that train together, each with values of its own; default all.

    Raises:
      ValueError: another reduction; where gradients are computed: groups of different sizes, or other towers.
    """

    def __init__(
        self,
        opt: Any,
        reduction: str = MEAN,
        name: str = "CrossShardOptimizer",
        group_assignment: list[list[int]] | None = None,
    ):
        if reduction not in (SUM, MEAN):
            raise ValueError(f"Unsupported reduction: {reduction}. Use tf.losses.Reduction.SUM or MEAN.")
        super().__init__(opt, name)
        self._reduction = reduction
        self._group_assignment = group_assignment

    def compute_gradients(self, loss: Any, var_list: Any = None, **kwargs: Any) -> list[tuple[Any, Any]]:  # type: ignore[override]
        """The wrapped optimizer's gradients of the loss, divided by the number of towers of a group for MEAN."""
        shards = self._subgroup_size(_num_shards())
        if shards > 1 and self._reduction == MEAN:
            loss = loss * (1.0 / shards)
        return self._opt.compute_gradients(loss, var_list=var_list, **kwargs)

    def _subgroup_size(self, shards: int) -> int:
        groups = self._group_assignment
        if not groups:
            return shards
        if not (isinstance(groups, list) and all(isinstance(group, list) for group in groups)):
            raise ValueError(f"group_assignment must be a list of list. Got {groups}")
        if {i for group in groups for i in group} != set(range(shards)):
            raise ValueError(
                f"group_assignment must be a permutation of range({shards}). Got group_assignment={groups}"
            )
        if len({len(group) for group in groups}) > 1:
            raise ValueError(
                f"The size of each subgroup in group_assignment must be equal. Got group_assignment={groups}"
            )
        return len(groups[0])

    def apply_gradients(self, grads_and_vars: Iterable[Any], global_step: Any = None, name: str | None = None) -> Any:
        """Sums gradients over towers (rows as dense tensors), then the wrapped optimizer's ``apply_gradients``."""
        summed = [(g if g is None else cross_replica_sum(g, self._group_assignment), v) for g, v in grads_and_vars]
        return self._opt.apply_gradients(summed, global_step, name)

    def get_slot(self, *args: Any, **kwargs: Any) -> Any:
        return self._opt.get_slot(*args, **kwargs)

    def get_slot_names(self, *args: Any, **kwargs: Any) -> list[str]:
        return self._opt.get_slot_names(*args, **kwargs)
