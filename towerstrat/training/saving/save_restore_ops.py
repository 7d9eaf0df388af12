"""The operations that savers run, on the host: variables go from the state to files and back one at a time."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, Protocol

import numpy as np

from towerstrat.checkpoints import dtypes as elements
from towerstrat.checkpoints.bundle_writer import Saved, Whole
from towerstrat.checkpoints.checkpoint_file import opened
from towerstrat.checkpoints.slices import Slice
from towerstrat.errors import InvalidArgumentError
from towerstrat.graph.ir.context_stacks import SessionLike, Stack
from towerstrat.graph.ir.graph import Graph
from towerstrat.graph.ir.graph_elements import Operation, Tensor, execution_order
from towerstrat.graph.ir.op_registry import Attrs, Signature, define_op
from towerstrat.graph.ir.state import StateStore, StateVariable
from towerstrat.graph.ir.types import Array, HostArray, as_dtype
from towerstrat.graph.lowering.lowering_errors import uninitialized
from towerstrat.graph.runtime.plans.runner import Runner
from towerstrat.platform.text import as_text
from towerstrat.training.saving import resume_state
from towerstrat.training.saving.checkpoint_write import captured, write

POSTPONED: Stack[list[Callable[[], None]]] = Stack()
"""Inside of an entry the values are taken, and what writes them is added to it."""


class HasState(Protocol):
    """A session, or that of eager code."""

    @property
    def state(self) -> StateStore: ...


def stored(session: HasState, op: Operation, cell: StateVariable) -> Array:
    """The value of a variable as it is seen from outside: one for all towers. Raises FailedPreconditionError."""
    value = session.state.get(cell)
    if value is None:
        raise uninitialized(cell, op)
    return cell.joined(value)


def parsed(spec: str) -> Whole | None:
    """The place of an array in a larger one, as in ``"10 6 0,4:0,6"``; None for ""."""
    if not spec:
        return None
    *sizes, parts = spec.split(" ")
    extents = [(0, -1) if part == "-" else tuple(map(int, part.split(","))) for part in parts.split(":")]
    return Whole(tuple(map(int, sizes)), Slice(tuple(s for s, _ in extents), tuple(n for _, n in extents)))


def _save(session: Runner, op: Operation, values: Sequence[Any]) -> list[HostArray]:
    prefix, names, specs, *given = values

    def load(value: Any) -> Array:
        return stored(session, op, value) if isinstance(value, StateVariable) else value

    entries = [
        Saved(as_text(name), partial(load, value), parsed(as_text(spec)), tensor.dtype.base_dtype.as_datatype_enum)
        for name, spec, value, tensor in zip(names, specs, given, _saved(op), strict=True)
    ]
    path, postponed = os.fsdecode(prefix.item()), POSTPONED.current()
    if postponed is not None:
        postponed.append(captured(path, entries, resume_state.saved(session)))
        return []
    try:
        write(path, entries, resume_state.saved(session))
    except ValueError as error:
        raise InvalidArgumentError(None, op, str(error)) from None
    return []


def _saved(op: Operation) -> list[Any]:
    """What has the element types of the saved values: variables, and tensors."""
    return [t.op.attrs.get("cell", t) for t in op.inputs[3:]]


def _restore(session: SessionLike, op: Operation, values: Sequence[Any]) -> list[HostArray]:
    prefix, names, specs = values
    checkpoint = opened(os.fsdecode(prefix.item()))
    found = []
    for name, spec, output in zip(map(as_text, names), map(as_text, specs), op.outputs, strict=True):
        array = checkpoint.read(name)
        entry = checkpoint.entries[name]
        if entry.code != output.dtype.as_datatype_enum:
            raise InvalidArgumentError(
                None, op, f"tensor_name = {name}; expected dtype {output.dtype.name} does not equal original dtype "
                f"{elements.name_of(entry.code)}"
            )  # fmt: skip
        found.append(part_of(op, name, array, parsed(spec)))
    return found


def restored_names(graph: Graph, name: str) -> set[str]:
    """The names under which a restoring operation finds what it restores."""
    order = execution_order([graph.get_operation_by_name(name)], graph.root, ())
    values = [op.inputs[1].op.attrs["value"] for op in order if op.type == "RestoreV2"]
    return {as_text(name) for names in values for name in np.ravel(names).tolist()}


def part_of(op: Operation | None, name: str, array: HostArray, whole: Whole | None) -> HostArray:
    """The part of a saved array that ``whole`` says. Raises InvalidArgumentError where that is of another shape."""
    if whole is None:
        return array
    if whole.shape != array.shape:
        raise InvalidArgumentError(
            None, op, f"Shape in shape_and_slice spec {list(whole.shape)} does not match the shape stored in "
            f"checkpoint: {list(array.shape)} (tensor {name})"
        )  # fmt: skip
    return array[whole.part.within(array.shape)]


def store(session: HasState, op: Operation | None, given: Iterable[tuple[StateVariable, HostArray]]) -> None:
    """Sets variables, all or none. Raises InvalidArgumentError where one has another shape."""
    new = {}
    for cell, value in given:
        if cell.dims is not None and not _fits(np.shape(value), cell.dims):
            raise InvalidArgumentError(
                None, op, "Assign requires shapes of both tensors to match. "
                f"lhs shape= {list(cell.dims)} rhs shape= {list(np.shape(value))} (variable {cell.name})"
            )  # fmt: skip
        new[cell] = value
    for cell, value in new.items():
        # A copy: what is read from a file is a view of it.
        session.state.update({cell: cell.divided(np.array(value, cell.dtype.np))})


def _assign(session: SessionLike, op: Operation, values: Sequence[Any]) -> list[HostArray]:
    """Sets variables: the first half of ``values`` are cells, the second what they get."""
    half = len(values) // 2
    store(session, op, zip(values[:half], values[half:], strict=True))
    return []


def _fits(shape: Sequence[int], dims: Sequence[int | None]) -> bool:
    return len(shape) == len(dims) and all(d is None or s == d for s, d in zip(shape, dims, strict=True))


def _restored(inputs: Sequence[Tensor], attrs: Attrs) -> list[Signature]:
    return [Signature(as_dtype(dtype), None) for dtype in attrs["dtypes"]]


def _nothing(inputs: Sequence[Tensor], attrs: Attrs) -> list[Signature]:
    return []


define_op("SaveV2", _nothing, host=_save, reads=True, stateful=True, differentiable=False)
define_op("RestoreV2", _restored, host=_restore, stateful=True, differentiable=False)
define_op("AssignRestored", _nothing, host=_assign, writes=True, stateful=True, differentiable=False)
