"""``tpu.cross_replica_sum``, and the exchanges between shards of ``tensorflow/contrib/tpu/python/ops/tpu_ops.py``."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from towerstrat.graph.ir.argument_types import TensorLike
from towerstrat.graph.ir.constant_folding import constant_value
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.graph.ir.user_lines import user_line
from towerstrat.graph.ops.array.arrays import identity, zeros_like
from towerstrat.graph.ops.collectives import all_reduce, exchanges
from towerstrat.graph.ops.collectives.exchanges import Groups

Assignment = Sequence[Sequence[int]] | np.ndarray | Tensor | None
"""Numbers of shards by group, ``[groups, shards of a group]``, known while the graph is built; None: one group."""


def cross_replica_sum(x: TensorLike, group_assignment: Assignment = None, name: str | None = None) -> Tensor:
    """The sum over shards of a tensor of one of them; the tensor itself where there is one shard.

    Its gradient is the sum of the shards' gradients.

    Args:
      group_assignment: the shards that are added up with each other; default all.

    Raises:
      ValueError: groups of different sizes, or in which a shard is missing, or twice.
    """
    tensor = convert_to_tensor(x)
    axis = get_default_graph().axis
    groups = _groups(group_assignment, 1 if axis is None else axis.size)
    if axis is None or axis.size == 1:
        return tensor
    if len(groups) == 1:
        with get_default_graph().under(None):  # one value of all shards: a gradient from outside adds their cotangents
            total = all_reduce.all_reduce(tensor, axis, "sum")
        return identity(total, name or "CrossReplicaSum")
    return exchanges.group_sum(tensor, axis, groups, name or "CrossReplicaSum")


def all_to_all(
    x: TensorLike,
    concat_dimension: int,
    split_dimension: int,
    split_count: int,
    group_assignment: Assignment = None,
    name: str | None = None,
) -> Tensor:
    """Divides each shard's tensor, and joins what each shard gets from the others.

    Args:
      concat_dimension, split_dimension: the dimensions to join and to divide along.
      split_count: the number of parts, that of shards in a group.
      group_assignment: as of ``cross_replica_sum``.

    Raises:
      ValueError: ``split_count`` is another number, or does not divide the dimension; as ``cross_replica_sum``.
    """
    tensor = convert_to_tensor(x)
    axis = get_default_graph().axis
    groups = _groups(group_assignment, 1 if axis is None else axis.size)
    if split_count != len(groups[0]):
        raise ValueError(
            f"split_count={split_count} must be the number of shards in a group, which is {len(groups[0])}.\n"
            f"  at: {user_line()}"
        )
    if axis is None or axis.size == 1:
        return identity(tensor, name)
    return exchanges.all_to_all(tensor, axis, concat_dimension, split_dimension, groups, name)


def collective_permute(x: TensorLike, source_target_pairs: Assignment, name: str | None = None) -> Tensor:
    """Sends each shard's tensor to another one; zeros where nothing arrives.

    Args:
      source_target_pairs: pairs of shards (from, to), known while the graph is built.

    Raises:
      ValueError: a shard sends twice or gets two tensors, or there is no such shard.
    """
    tensor = convert_to_tensor(x)
    axis = get_default_graph().axis
    size = 1 if axis is None else axis.size
    pairs = _numbers(source_target_pairs, "source_target_pairs")
    for column in zip(*pairs, strict=True):
        if len(set(column)) < len(column) or not set(column) <= set(range(size)):
            raise ValueError(
                f"source_target_pairs={pairs}: each of {size} shards may be the source of one pair and the target of "
                f"one.\n  at: {user_line()}"
            )
    if axis is None or axis.size == 1:
        return identity(tensor, name) if pairs else zeros_like(tensor, name=name)
    return exchanges.permute(tensor, axis, pairs, name)


def _groups(assignment: Assignment, shards: int) -> Groups:
    if assignment is None:
        return (tuple(range(shards)),)
    groups = _numbers(assignment, "group_assignment")
    if sorted(i for group in groups for i in group) != list(range(shards)) or len({len(g) for g in groups}) != 1:
        raise ValueError(
            f"group_assignment={groups} must have each of {shards} shards once, in groups of one size.\n"
            f"  at: {user_line()}"
        )
    return groups


def _numbers(given: Assignment, argument: str) -> Groups:
    """Rows of integers as tuples. Raises ValueError for a tensor whose value is not known."""
    value = constant_value(given) if isinstance(given, Tensor) else given
    if value is None:
        raise ValueError(f"{argument} must be known while the graph is built, got {given!r}.\n  at: {user_line()}")
    return tuple(tuple(int(i) for i in row) for row in value)
