"""Where the logical devices of a position hold a tensor: split, whole on each, or on one by name."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

from towerstrat.graph.ir.graph_elements import Block, Operation, Tensor
from towerstrat.graph.ir.mesh import Axis, Parts, constrained
from towerstrat.graph.ir.op_registry import define_op, same
from towerstrat.graph.ir.shapes import Dims
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.graph.lowering.lowering import Lowering
from towerstrat.graph.ops.building.op_builder import add_op

_PASSING = ("Identity", "ReadVariableOp")


def split_over(tensor: Any, axis: Axis, partition_dimensions: Sequence[int], name: str | None = None) -> Tensor:
    """The same tensor, of which each logical device of a position holds and computes a part.

    So is its gradient. A variable whose value is split is stored that way, and so are slots made for it later.

    Args:
      partition_dimensions: for each dimension of the tensor the number of parts.

    Raises:
      ValueError: the numbers are not as many as dimensions, or not positive, or their product is not the number of
        logical devices; or a size is known and cannot be divided; or the rank is not known.
    """
    tensor = convert_to_tensor(tensor)
    parts = tuple(operator.index(p) for p in partition_dimensions)
    _check_parts(tensor, parts, axis.logical)
    source: Any = tensor
    while isinstance(source, Tensor) and source.op.type in _PASSING:
        source = source.op.inputs[0]
    cell = source.op.attrs.get("cell")
    if cell is not None and cell.parts is None:
        cell.parts = parts
    return _sharded(tensor, parts, None, name)


def _check_parts(tensor: Tensor, parts: tuple[int, ...], logical: int) -> None:
    dims: Dims = tensor.dims
    if dims is None or len(dims) != len(parts):
        rank = "unknown" if dims is None else len(dims)
        raise ValueError(
            f"partition_dimensions needs one number for each dimension of the tensor, got {list(parts)} for "
            f"{tensor!r} of rank {rank}."
        )
    for i, (size, count) in enumerate(zip(dims, parts, strict=True)):
        if count < 1:
            raise ValueError(f"partition_dimensions[{i}] must be at least 1, got {count}.")
        if size is not None and size % count:
            raise ValueError(
                f"The size of dimension {i} of {tensor!r} must be divisible by partition_dimensions[{i}]; {size} is "
                f"not by {count}."
            )
    if math.prod(parts) != logical:
        raise ValueError(
            f"The product of partition_dimensions must be the number of logical devices of a replica, {logical}; got "
            f"{list(parts)} with the product {math.prod(parts)}."
        )


def replicate(tensor: Any, axis: Axis, name: str | None = None) -> Tensor:
    """The same tensor, which each logical device of a position holds whole.

    Raises:
      ValueError: its rank is not known, and there are several logical devices.
    """
    tensor = convert_to_tensor(tensor)
    if tensor.dims is None and axis.logical > 1:
        raise ValueError(f"The rank of a tensor that is replicated to logical devices must be known, got {tensor!r}.")
    return _sharded(tensor, (1,) * len(tensor.dims or ()), None, name)


def assign_to(tensor: Any, axis: Axis, logical_device_id: int, name: str | None = None) -> Tensor:
    """The same tensor, which is said to belong on one logical device of its position.

    The number is checked and recorded, as the operation's attribute ``_logical_device``. The compiler cannot put work
    on one of the devices that a program is shared out among: the value is computed on every one.

    Raises:
      ValueError: no logical device has that number.
    """
    number = operator.index(logical_device_id)
    if not 0 <= number < axis.logical:
        raise ValueError(
            f"logical_device_id must be at least 0 and less than the number of logical devices of a replica, "
            f"{axis.logical}; got {number}."
        )
    return _sharded(convert_to_tensor(tensor), None, number, name)


def _sharded(tensor: Tensor, parts: Parts, device: int | None, name: str | None) -> Tensor:
    return add_op("XlaSharding", [tensor], {"parts": parts, "_logical_device": device}, name or "XlaSharding")


def _lower(lowering: Lowering, op: Operation) -> list[Any]:
    value, parts = lowering.value(op.inputs[0]), op.attrs["parts"]
    return [value if parts is None else constrained(value, parts, _may_not_run(op.block))]


def _may_not_run(block: Block | None) -> bool:
    """Whether a region lies in a branch or in a loop, where the compiler wants one layout on every way out."""
    while block is not None and block.predicate is None:
        block = block.parent
    return block is not None


define_op("XlaSharding", same, lower=_lower)
