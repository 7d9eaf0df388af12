"""Functions of batches that work on each row by itself, so that they may be called for some of the rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Mapping

from towerstrat.data.pipeline.element_functions import Function
from towerstrat.graph.ir.constant_folding import constant_value
from towerstrat.graph.ir.graph_elements import Operation, Tensor


def is_rowwise(function: Function) -> bool:
    """Whether row i of each output depends on row i of the inputs alone, as far as operations and shapes say."""
    if function.draws or any(t.dims is None or not t.dims for t in function.inputs):
        return False
    rows = set(function.inputs)
    for op in function.program.order():
        if rows.isdisjoint(op.inputs):
            if op.bodies:
                return False  # which may use rows from outside
            continue
        rule = _entrywise if op.definition.entrywise else _RULES.get(op.type)
        if rule is None or not rule(op, rows):
            return False
        rows.update(op.outputs)
    return all(t in rows for t in function.outputs)


def _entrywise(op: Operation, rows: Container[Tensor]) -> bool:
    """Also whether nothing but rows is along the first dimension of the result."""
    if any(t.dims is None for t in (*op.inputs, *op.outputs)):
        return False
    rank = len(op.outputs[0].dims or ())
    return all(
        len(t.dims or ()) == rank if t in rows else len(t.dims or ()) < rank or (t.dims or ())[0] == 1
        for t in op.inputs
    )


def _first_alone(op: Operation, rows: Container[Tensor]) -> bool:
    return op.inputs[0] in rows and all(t not in rows for t in op.inputs[1:])


def _of_texts(op: Operation, rows: Container[Tensor]) -> bool:
    return _first_alone(op, rows) and op.inputs[0].dims is not None and len(op.inputs[0].dims) == 1


def _parse(op: Operation, rows: Container[Tensor]) -> bool:
    """Dense features of messages without names, which would be of all rows."""
    return _of_texts(op, rows) and op.arguments["Nsparse"] == 0 and op.inputs[1].dims == (0,)


def _one_hot(op: Operation, rows: Container[Tensor]) -> bool:
    return _first_alone(op, rows) and op.arguments["axis"] != 0


def _expand(op: Operation, rows: Container[Tensor]) -> bool:
    axis = op.arguments["axis"]
    return _first_alone(op, rows) and isinstance(axis, int) and (axis > 0 or axis == -1)


def _along_others(op: Operation, rows: Container[Tensor]) -> bool:
    """Rows are put together along another dimension than the first."""
    axis = op.arguments["axis"]
    return all(t in rows for t in op.inputs) and isinstance(axis, int) and axis > 0


def _slice(op: Operation, rows: Container[Tensor]) -> bool:
    """All of the first dimension."""
    masks = op.arguments
    whole = masks["begin_mask"] & masks["end_mask"] & 1
    other = (masks["ellipsis_mask"] | masks["new_axis_mask"] | masks["shrink_axis_mask"]) & 1
    strides = constant_value(op.inputs[3])
    return _first_alone(op, rows) and bool(whole) and not other and strides is not None and strides[0] == 1


def _reshape(op: Operation, rows: Container[Tensor]) -> bool:
    """Rows stay rows: the other sizes have as many entries as before."""
    shape, dims = constant_value(op.inputs[1]), op.inputs[0].dims
    if not _first_alone(op, rows) or shape is None or not dims or None in dims[1:]:
        return False
    return len(shape) > 0 and shape[0] == -1 and math.prod(shape[1:].tolist()) == math.prod(d or 0 for d in dims[1:])


_RULES: Mapping[str, Callable[[Operation, Container[Tensor]], bool]] = {
    "ConcatV2": _along_others,
    "DecodeCSV": _of_texts,
    "DecodeRaw": _of_texts,
    "ExpandDims": _expand,
    "OneHot": _one_hot,
    "Pack": _along_others,
    "ParseExample": _parse,
    "Reshape": _reshape,
    "StridedSlice": _slice,
}
"""By type, beside the entrywise ones: (operation, tensors whose first dimension is that of rows) -> whether its outputs
are such tensors, too."""
