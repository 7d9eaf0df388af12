"""Variables of strings: the host reads and writes them, between device programs.

JAX has no arrays of strings. So each operation on variables has a twin for strings with the same shape rule
(``_ON_HOST``), which runs in Python on object arrays of bytes in the session's state. ``type_for`` picks the one for a
variable; inside of a tower there is none.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from towerstrat.errors import FailedPreconditionError, InvalidArgumentError, UnsupportedError
from towerstrat.graph.ir import shapes
from towerstrat.graph.ir.context_stacks import SessionLike
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Operation
from towerstrat.graph.ir.op_registry import Function, Rule, define_op, lookup
from towerstrat.graph.ir.state import StateVariable
from towerstrat.graph.ir.types import HostArray, string
from towerstrat.graph.variables import state_ops  # noqa: F401  (registers the operations on other variables)

_ON_HOST = {
    "ReadVariableOp": "ReadStringVariableOp",
    "VarIsInitializedOp": "StringVarIsInitializedOp",
    "InitializedValue": "InitializedStringValue",
    "ResourceGather": "StringResourceGather",
    "AssignVariableOp": "AssignStringVariableOp",
    "ResourceScatterUpdate": "StringResourceScatterUpdate",
}
"""Operations on variables -> those that do the same with strings."""
READS = ("ReadVariableOp", "ReadStringVariableOp")
"""The types of operations whose output is the value of a variable."""


def type_for(cell: StateVariable, type: str) -> str:
    """The type of an operation on a variable: ``type``, or for strings its twin on the host.

    Raises:
      UnsupportedError: there is none for strings, or this is inside of a tower, which runs on the device.
    """
    if cell.dtype is not string:
        return type
    if get_default_graph().axis is not None:
        raise UnsupportedError(
            f"Variable {cell.name} inside a tower is not supported: strings live on the host. Use it outside of towers."
        )
    if type not in _ON_HOST:
        raise UnsupportedError(f"{type} is not there for variables of strings ({cell.name}); assign a new value.")
    return _ON_HOST[type]


def _value(session: SessionLike, op: Operation, cell: StateVariable) -> HostArray:
    value = session.state.get(cell)
    if value is None:
        raise FailedPreconditionError(
            None,
            op,
            f"Attempting to use uninitialized value {cell.name}. Run its initializer first, for example "
            "session.run(tf.global_variables_initializer()).",
        )
    return np.asarray(value, object)


def _read(session: SessionLike, op: Operation, values: Sequence[StateVariable]) -> list[HostArray]:
    return [_value(session, op, values[0])]


def _is_initialized(session: SessionLike, op: Operation, values: Sequence[StateVariable]) -> list[HostArray]:
    return [np.asarray(session.state.get(values[0]) is not None)]


def _initialized_value(session: SessionLike, op: Operation, values: tuple[StateVariable, HostArray]) -> list[HostArray]:
    now = session.state.get(values[0])
    return [np.asarray(values[1] if now is None else now, object)]


def _gather(session: SessionLike, op: Operation, values: tuple[StateVariable, HostArray]) -> list[HostArray]:
    cell, indices = values
    return [_rows(op, _value(session, op, cell), indices)[0]]


def _rows(op: Operation, value: HostArray, indices: HostArray) -> tuple[HostArray, HostArray]:
    """Rows of a value, and their numbers. Raises InvalidArgumentError for one that is not there."""
    places = np.asarray(indices)
    if places.size and not (places.min() >= 0 and places.max() < len(value)):
        raise InvalidArgumentError(None, op, f"indices = {places.tolist()} is not in [0, {len(value)})")
    return np.asarray(value[places], object), places


def _assign(session: SessionLike, op: Operation, values: tuple[StateVariable, HostArray]) -> list[HostArray]:
    cell, new = values[0], np.array(values[1], object)
    old = session.state.get(cell)
    fits = not shapes.known(cell.dims) and shapes.TensorShape(cell.dims).is_compatible_with(new.shape)
    if op.attrs.get("validate_shape", True) and old is not None and np.shape(old) != new.shape and not fits:
        raise InvalidArgumentError(
            None, op, f"Variable {cell.name} has shape {np.shape(old)}, the assigned value {new.shape}."
        )
    session.state.update({cell: new})
    return [new]


def _scatter(
    session: SessionLike, op: Operation, values: tuple[StateVariable, HostArray, HostArray]
) -> list[HostArray]:
    cell, indices, updates = values
    new = np.array(_value(session, op, cell), object)
    _, places = _rows(op, new, indices)
    new[places] = updates
    session.state.update({cell: new})
    return [new]


def _define(type: str, host: Function, writes: bool = False, reads: bool = True) -> None:
    numeric = lookup(type)
    rule: Rule = numeric.rule
    define_op(
        _ON_HOST[type], rule, host=host, reads=reads, writes=writes, stateful=writes, differentiable=False,
        execute=numeric.execute,
    )  # fmt: skip


_define("ReadVariableOp", _read)
_define("VarIsInitializedOp", _is_initialized)
_define("InitializedValue", _initialized_value)
_define("ResourceGather", _gather)
_define("AssignVariableOp", _assign, writes=True, reads=False)
_define("ResourceScatterUpdate", _scatter, writes=True)
