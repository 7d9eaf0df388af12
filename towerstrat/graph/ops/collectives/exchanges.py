"""Collectives whose result differs by replica: sums within groups, all-to-all exchanges, permutations.

They are the operations of ``tf.contrib.tpu`` (``cross_replica_sum`` with groups, ``all_to_all``,
``collective_permute``), along a mesh axis whose indices are the replicas ("positions"). Four replicas that have the
values 1, 2, 3 and 4, and two that have [1, 2] and [3, 4]:

    group_sum(x, axis, ((0, 1), (2, 3)))            3, 3, 7, 7
    permute(x, axis, ((0, 1), (1, 2)))              0, 1, 2, 0          (from, to); zeros where nothing arrives
    all_to_all(y, axis, 0, 0, ((0, 1),))            [1, 3], [2, 4]      part i of all goes to replica i

The gradient of each is the exchange in the other direction (``_sent_back``): of a sum within groups the same sum, of an
all-to-all the one with the dimensions swapped, of a permutation its inverse. It is given as ``backward``, in place of
``jax.vjp``.

All replicas have one shape: a value of uneven shape is refused (``ClassEvaluation.require_one_shape``).

Source: ``tensorflow/python/tpu/ops/tpu_ops.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.graph.ir.mesh import Axis, vary
from towerstrat.graph.ir.op_registry import Attrs, Rule, Signature, define_op, same
from towerstrat.graph.ir.types import Array
from towerstrat.graph.lowering.lowering import Lowering
from towerstrat.graph.lowering.lowering_errors import combines_inside

Groups = tuple[tuple[int, ...], ...]
"""Groups of axis indices that exchange values; each index is in one group, and all groups are of one size."""


def group_sum(value: Tensor, axis: Axis, groups: Groups, name: str | None = None) -> Tensor:
    """Sums the values of each group, at all of its members; dtype and shape stay. Its gradient is the same sum."""
    return _add_exchange("GroupSum", value, axis, {"groups": groups}, name)


def all_to_all(
    value: Tensor, axis: Axis, concat_dim: int, split_dim: int, groups: Groups, name: str | None = None
) -> Tensor:
    """Splits each value along ``split_dim``; member i of a group joins part i of all members along ``concat_dim``.

    Parts are in the order of the group. The gradient is the exchange back.

    Raises:
      ValueError: there is no such dimension, or it does not divide by the size of the groups.
    """
    attrs = {"concat_dimension": concat_dim, "split_dimension": split_dim, "groups": groups}
    return _add_exchange("AllToAll", value, axis, attrs, name)


def permute(value: Tensor, axis: Axis, pairs: Groups, name: str | None = None) -> Tensor:
    """Sends values along pairs (from, to) of axis indices; zeros where nothing arrives. The gradient goes back."""
    return _add_exchange("CollectivePermute", value, axis, {"pairs": pairs}, name)


def _add_exchange(type: str, value: Tensor, axis: Axis, attrs: Attrs, name: str | None) -> Tensor:
    return get_default_graph().add(type, [value], {**attrs, "axis": axis}, name, axis=axis).outputs[0]


def _group_sum(value: jax.Array, axis: Axis, groups: Groups) -> jax.Array:
    """All-reduce within groups as reduce-scatter and all-gather: under ``shard_map`` ``lax.psum`` takes no groups."""
    listed = [list(group) for group in groups]
    # A reduce-scatter gives each member an equal part of the sum.
    flat = jnp.pad(value.ravel(), (0, -value.size % len(listed[0])))
    part = lax.psum_scatter(flat, axis.name, axis_index_groups=listed, tiled=True)
    gathered = lax.all_gather(part, axis.name, axis_index_groups=listed, tiled=True)
    total: jax.Array = gathered[: value.size]
    return total.reshape(value.shape)


def _all_to_all(value: jax.Array, axis: Axis, concat_dimension: int, split_dimension: int, groups: Groups) -> jax.Array:
    listed = [list(group) for group in groups]
    exchanged: jax.Array = lax.all_to_all(
        value, axis.name, split_dimension, concat_dimension, axis_index_groups=listed, tiled=True
    )  # fmt: skip
    return exchanged


def _permute(value: jax.Array, axis: Axis, pairs: Groups) -> jax.Array:
    permuted: jax.Array = lax.ppermute(value, axis.name, pairs)
    return permuted


def _all_to_all_rule(inputs: Sequence[Tensor], attrs: Attrs) -> list[Signature]:
    (value,) = inputs
    if value.dims is None:
        return [Signature(value.dtype, None)]
    concat, split, count = attrs["concat_dimension"], attrs["split_dimension"], len(attrs["groups"][0])
    for name in ("concat_dimension", "split_dimension"):
        if not 0 <= attrs[name] < len(value.dims):
            raise ValueError(f"{name}={attrs[name]} is no dimension of a value of shape {value.shape}.")
    dims = list(value.dims)
    size = dims[split]
    if size is not None and size % count:
        raise ValueError(f"Dimension {split} of shape {value.shape} does not divide among groups of {count}.")
    dims[split] = None if size is None else size // count
    joined = dims[concat]
    dims[concat] = None if joined is None else joined * count
    return [Signature(value.dtype, tuple(dims))]


def _sent_back(type: str, attrs: Attrs) -> dict[str, Any]:
    """The attributes of the transposed exchange, which sends cotangents back to where the values came from."""
    if type == "AllToAll":
        swapped = {"concat_dimension": attrs["split_dimension"], "split_dimension": attrs["concat_dimension"]}
        return {**attrs, **swapped}
    if type == "CollectivePermute":
        return {"pairs": tuple((to, start) for start, to in attrs["pairs"])}
    return dict(attrs)


def _define(type: str, rule: Rule, exchange: Callable[..., jax.Array]) -> None:
    """Registers an operation type whose value and gradient are the same exchange, with other attributes."""

    def lower(lowering: Lowering, op: Operation) -> list[Array]:
        (tensor,) = op.inputs
        value = jnp.asarray(lowering.classes.require_one_shape(lowering.value(tensor), tensor))
        return [exchange(vary(value, lowering.axis), lowering.axis, **op.arguments)]

    def backward(
        lowering: Lowering, op: Operation, cotangents: Sequence[Array], outer: Operation
    ) -> Mapping[Tensor, Array]:
        if lowering.classes.shard_class is not None:
            raise combines_inside(op)
        cotangent = vary(jnp.asarray(cotangents[0]), lowering.axis)
        return {op.inputs[0]: exchange(cotangent, lowering.axis, **_sent_back(type, op.arguments))}

    define_op(
        type,
        rule,
        lower=lower,
        backward=backward,
        collective=True,
        handles_shard_classes=True,
        always_varies=True,
        hidden=("axis",),
    )


_define("GroupSum", same, _group_sum)
_define("AllToAll", _all_to_all_rule, _all_to_all)
_define("CollectivePermute", same, _permute)
