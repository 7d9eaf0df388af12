"""Values that differ by position and are known all the same: they follow from each position's number or constants."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.graph.ir.types import HostArray
from towerstrat.graph.lowering.kernel_outputs import all_known, to_output_list

if TYPE_CHECKING:
    from towerstrat.graph.lowering.lowering import Lowering

_DEPTH = 40
"""Operations that are followed backwards before a value counts as unknown."""


def positions_of(lowering: Lowering, op: Operation) -> list[int]:
    """The positions for which an operation is evaluated: in a part those of its kind."""
    assert lowering.axis is not None
    return [
        position
        for position in range(lowering.axis.size)
        if (op.only is None or position in op.only)
        and (lowering.kind is None or lowering.kinds is None or lowering.kinds.table[position] == lowering.kind)
    ]


def inputs_by_position(lowering: Lowering, op: Operation, inputs: Sequence[int]) -> dict[int, list[HostArray]] | None:
    """The values of some inputs at each position for which an operation is evaluated.

    None where there is no axis, or one of them is computed from other values than constants.
    """
    if lowering.axis is None:
        return None
    found: dict[int, list[HostArray]] = {}
    for position in positions_of(lowering, op):
        seen: dict[Tensor, HostArray | None] = {}
        for i in inputs:
            value = _at(lowering.value, op.inputs[i], position, seen)
            if value is None:
                return None
            found.setdefault(position, []).append(value)
    return found


def common_value(lowering: Lowering, op: Operation, position: int) -> HostArray | None:
    """The value of an input, where it is known and one for all positions for which the operation is evaluated."""
    found = inputs_by_position(lowering, op, (position,))
    values = [value for (value,) in found.values()] if found else []
    alike = values and all(np.array_equal(v, values[0]) and v.dtype == values[0].dtype for v in values)
    return values[0] if alike else None


def settled(lowering: Lowering, op: Operation, values: Sequence[Any]) -> Sequence[Any]:
    """The inputs' values, as far as they are known those of an operation whose result's size depends on some."""
    if not op.definition.dynamic or lowering.axis is None:
        return values
    known = [common_value(lowering, op, i) for i in range(len(values))]
    return [value if found is None else found for value, found in zip(values, known, strict=True)]


def _at(
    read: Callable[[Tensor], Any], tensor: Tensor, position: int, seen: dict[Tensor, HostArray | None],
    depth: int = _DEPTH,
) -> HostArray | None:  # fmt: skip
    """The value of a tensor at a position, None where it is not known; ``seen`` memoises it."""
    if tensor in seen:
        return seen[tensor]
    op = tensor.op
    found: Any = None
    value = read(tensor)
    if isinstance(value, np.ndarray | np.generic):
        found = np.asarray(value)
    elif op.type == "ConstOfPositions":
        found = np.asarray(op.attrs["values"][position])
    elif op.type == "PositionIndex":
        found = np.asarray(position, np.int32)
    elif op.type == "SelectPosition":
        found = _at(read, op.inputs[0], op.attrs["position"], {}, depth - 1) if depth else None
    elif depth and _sizes(tensor) and op.definition.numpy is not None and not op.definition.given:
        args: list[HostArray] = []
        for source in op.inputs:
            arg = _at(read, source, position, seen, depth - 1)
            if arg is None:
                break
            args.append(arg)
        if len(args) == len(op.inputs) and all_known(args):
            outputs = to_output_list(op, op.definition.numpy(*args, **op.arguments), np.asarray)
            found = outputs[tensor.value_index]
    seen[tensor] = found
    return found


def _sizes(tensor: Tensor) -> bool:
    """Whether shapes may follow from a tensor: integers, and numbers that ``range`` counts to."""
    return not tensor.dtype.is_floating or tensor.dims == ()
