"""Fold values that vary along the axis and yet are known: they follow from each shard's axis index, or from constants.

While a program for all towers is traced, the axis index is a tracer, so ``tf.zeros([tower_id + 2])`` has no static
shape. Where the graph has a value's inputs as constants, per-tower constants (``ConstOfPositions``) or the axis index
(``PositionIndex``), ``_at`` evaluates it with numpy for each index in question. Kernels that need a value while
lowering get it if all these are equal, as in what only one tower runs.

    n = PositionIndex + 2        ``inputs_by_position``: {0: [2], 1: [3]}        ``common_value``: None; for class 0: 2

>>> import towerstrat.compat.v1 as tf
>>> from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
>>> with tf.Graph().as_default() as graph:
...     index = graph.add("PositionIndex", (), {"axis": None}, "tower_id").outputs[0]
...     two = convert_to_tensor(2)
...     n = index + two
>>> [int(_at({two: np.int32(2)}.get, n, tower, seen={})) for tower in range(3)]
[2, 3, 4]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.graph.ir.types import Array, HostArray
from towerstrat.graph.lowering.kernel_outputs import all_known, to_output_list

if TYPE_CHECKING:
    from towerstrat.graph.lowering.lowering import Lowering

_DEPTH = 40
"""Operations that are followed backwards before a value counts as unknown."""


def positions_of(lowering: Lowering, op: Operation) -> list[int]:
    """The axis indices for which an operation is evaluated: in a part those of its shard class."""
    assert lowering.axis is not None
    number = lowering.classes.shard_class
    return [
        position
        for position in range(lowering.axis.size)
        if (op.axis_indices is None or position in op.axis_indices)
        and (number is None or lowering.classes.of_all.table[position] == number)
    ]


def inputs_by_position(lowering: Lowering, op: Operation, inputs: Sequence[int]) -> dict[int, list[HostArray]] | None:
    """Axis index -> numpy values of some inputs, for each index that an operation is evaluated for.

    None where there is no axis, or one of them is computed from other values than constants.
    """
    if lowering.axis is None:
        return None
    by_position: dict[int, list[HostArray]] = {}
    for position in positions_of(lowering, op):
        seen: dict[Tensor, HostArray | None] = {}
        for i in inputs:
            value = _at(lowering.value, op.inputs[i], position, seen)
            if value is None:
                return None
            by_position.setdefault(position, []).append(value)
    return by_position


def common_value(lowering: Lowering, op: Operation, position: int) -> HostArray | None:
    """The numpy value of an input, if it is known and equal for all axis indices that run the operation, else None."""
    by_position = inputs_by_position(lowering, op, (position,))
    values = [value for (value,) in by_position.values()] if by_position else []
    alike = values and all(np.array_equal(v, values[0]) and v.dtype == values[0].dtype for v in values)
    return values[0] if alike else None


def settled(lowering: Lowering, op: Operation, values: Sequence[Array]) -> Sequence[Array]:
    """The inputs' values; of a type whose result's size depends on values, known ones as numpy."""
    if not op.definition.dynamic or lowering.axis is None:
        return values
    known = [common_value(lowering, op, i) for i in range(len(values))]
    return [value if constant is None else constant for value, constant in zip(values, known, strict=True)]


def _at(
    read: Callable[[Tensor], object], tensor: Tensor, position: int, seen: dict[Tensor, HostArray | None],
    depth: int = _DEPTH,
) -> HostArray | None:  # fmt: skip
    """The value of a tensor at an axis index, None where it is not known; ``seen`` memoises it."""
    if tensor in seen:
        return seen[tensor]
    op = tensor.op
    result: HostArray | None = None
    value = read(tensor)
    if isinstance(value, np.ndarray | np.generic):
        result = np.asarray(value)
    elif op.type == "ConstOfPositions":
        result = np.asarray(op.attrs["values"][position])
    elif op.type == "PositionIndex":
        result = np.asarray(position, np.int32)
    elif op.type == "SelectPosition":
        result = _at(read, op.inputs[0], op.attrs["position"], {}, depth - 1) if depth else None
    elif depth and _sizes(tensor) and op.definition.numpy is not None and not op.definition.is_placeholder:
        args: list[HostArray] = []
        for source in op.inputs:
            arg = _at(read, source, position, seen, depth - 1)
            if arg is None:
                break
            args.append(arg)
        if len(args) == len(op.inputs) and all_known(args):
            outputs = to_output_list(op, op.definition.numpy(*args, **op.arguments), np.asarray)
            result = outputs[tensor.value_index]
    seen[tensor] = result
    return result


def _sizes(tensor: Tensor) -> bool:
    """Whether shapes may follow from a tensor: an integer, or a scalar, which ``range`` may count to."""
    return not tensor.dtype.is_floating or tensor.dims == ()
