"""The operations on variables: reads, assignments, lookups and updates of rows.

Each takes a variable's handle, whose value while lowering is its ``StateVariable``: ``lowering.state.read`` gives the
present array, ``lowering.state.write`` replaces it. Kernels are functional: an update of rows is
``table.at[indices].add(updates)``, which XLA does in place where the program donates the array.

    AssignAddVariableOp(v, d)       state[v] = where(failed, old, old + d)
    ResourceScatterAdd(v, i, d)     state[v] = old.at[where(failed, PADDING, i)].add(d, mode="drop")

Writes are masked by failed input checks in two ways: a dense one selects the old value; one of rows moves its indices
past the table's end, where updates are dropped, because a select would read and write the whole table. Values are
stored replicated, or varying where the variable has a value per tower (``_storable``).

Source: ``tensorflow/core/ops/resource_variable_ops.cc``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from towerstrat.errors import EagerArgumentError
from towerstrat.graph.ir import shapes
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.graph.ir.mesh import at_first, vary
from towerstrat.graph.ir.op_registry import Attrs, Eager, Signature, define_op, scalar
from towerstrat.graph.ir.state import StateVariable
from towerstrat.graph.ir.types import Array, bool_, resource
from towerstrat.graph.lowering.input_checks import COORDINATES, ROWS
from towerstrat.graph.lowering.lowering import Lowering
from towerstrat.graph.lowering.read_gradients import gather_backward, read_backward
from towerstrat.graph.variables.rows import Method, are_distinct, drop_if, write_rows


def variable_handle(cell: StateVariable, name: str) -> Tensor:
    """Add a variable's handle to the current graph: a tensor of dtype ``resource`` that stands for it.

    Args:
      cell: the variable's state, an attribute of the operation.
      name: the operation's absolute name.
    """
    return get_default_graph().add("VarHandleOp", (), {"cell": cell}, f"{name}/").outputs[0]


def _cell(tensor: Tensor) -> StateVariable:
    cell: StateVariable = tensor.op.attrs["cell"]
    return cell


def _cell_rule(inputs: Sequence[Tensor], attrs: Attrs) -> list[Signature]:
    """Shape rule: one output of the variable's dtype and shape."""
    cell = _cell(inputs[0])
    return [Signature(cell.dtype, cell.dims)]


def _assign_rule(inputs: Sequence[Tensor], attrs: Attrs) -> list[Signature]:
    """Shape rule of assignments.

    Raises:
      TypeError: a value of another dtype.
      ValueError: a shape that does not fit, or a value that differs by tower for a variable that must not.
    """
    cell, value = _cell(inputs[0]), inputs[1]
    if value.dtype is not cell.dtype:
        raise TypeError(f"Expected a {cell.dtype.name} value for variable {cell.name}, got {value.dtype.name}.")
    if value.varies and not cell.may_differ:
        raise ValueError(
            f"The value assigned to variable {cell.name} differs by tower, and the variable has one value for all. "
            "Combine the value first (distribution.reduce in a merge_call), create the variable inside "
            "distribution.scope() with an aggregation, or make it tower-local (synchronization=ON_READ)."
        )
    if attrs.get("validate_shape", True) and not shapes.TensorShape(cell.dims).is_compatible_with(value.dims):
        raise ValueError(
            f"Shapes {shapes.TensorShape(cell.dims)} and {value.shape} are incompatible: "
            f"the value does not fit variable {cell.name}."
        )
    return [
        Signature(cell.dtype, shapes.merge(cell.dims, value.dims) if attrs.get("validate_shape", True) else value.dims)
    ]


Lower = Callable[[Lowering, Operation], list[Array]]


def _storable(lowering: Lowering, op: Operation, position: int) -> jax.Array:
    """The array to store for an input of a write: varying for a variable per tower, else replicated."""
    cell, tensor = _cell(op.inputs[0]), op.inputs[position]
    if cell.is_varying:
        varying: jax.Array = vary(jnp.asarray(lowering.value(tensor)), lowering.axis)
        return varying
    value = lowering.invariant(tensor)
    if lowering.eager and isinstance(value, np.ndarray):
        put: jax.Array = jax.device_put(np.array(value))  # For this ``jnp.asarray`` compiles a program per shape.
        return put
    return jnp.asarray(value)


def _first_outside(lower: Lower) -> Lower:
    """The lowering of a read or write that, outside of tower context, broadcasts shard 0's value.

    Only variables that became varying when their towers first differed (``StateVariable.own``) are read like that.
    """

    def lower_first(lowering: Lowering, op: Operation) -> list[Array]:
        values = lower(lowering, op)
        cell = _cell(op.inputs[0])
        if op.axis is None and lowering.axis is not None and cell.own is not None and cell.is_varying:
            return [at_first(value, lowering.axis) for value in values]
        return values

    return lower_first


def _read(lowering: Lowering, op: Operation) -> list[Array]:
    return [lowering.read_variable(_cell(op.inputs[0]), op)]


def _assign(lowering: Lowering, op: Operation) -> list[Array]:
    cell = _cell(op.inputs[0])
    value = _storable(lowering, op, 1)
    if isinstance(value, jax.core.Tracer):  # JAX compiles a program per shape to stop the gradient of an array.
        value = lax.stop_gradient(value)
    old = lowering.state.get(cell)
    if op.attrs.get("validate_shape", True):
        _check_assigned(cell, old, value)
    if old is not None and np.shape(old) == value.shape:
        lowering.update(cell, old, value)
    else:
        lowering.state.write(cell, value)
    return [value]


def _check_assigned(cell: StateVariable, old: Array | None, new: Array) -> None:
    """Raises ValueError for a value that a variable cannot have: one of a declared shape takes all that fit it."""
    fits = shapes.TensorShape(cell.dims).is_compatible_with(np.shape(new))
    if old is not None and (shapes.known(cell.dims) or not fits):
        _check_shape(cell, old, new)
    elif not fits:
        raise ValueError(
            f"Variable {cell.name} was made with shape {shapes.TensorShape(cell.dims)}, the assigned value has "
            f"{np.shape(new)}. A variable whose shape changes is made with validate_shape=False."
        )


def _check_shape(cell: StateVariable, old: Array, new: Array) -> None:
    if np.shape(old) != np.shape(new):
        raise ValueError(f"Variable {cell.name} has shape {np.shape(old)}, the assigned value {np.shape(new)}.")


def _update_lowering(function: Callable[[Array, Array], Array]) -> Lower:
    """The lowering of ``variable = function(variable, value)``."""

    def lower(lowering: Lowering, op: Operation) -> list[Array]:
        cell = _cell(op.inputs[0])
        old = lowering.state.read(cell, op)
        delta = _storable(lowering, op, 1)
        if np.shape(delta) != np.shape(old):
            _check_shape(cell, old, delta)
        lowering.update(cell, old, lax.stop_gradient(function(old, delta)))
        return [lowering.state[cell]]

    return lower


def _write_rows(lowering: Lowering, op: Operation, value: Array) -> list[Array]:
    """Write the result of a row update, which is masked already: its indices were dropped if a check had failed."""
    lowering.state.write(_cell(op.inputs[0]), value, lowering.errors.record)
    return [value]


def _scatter_lowering(method: Method) -> Lower:
    """The lowering of a row update by a method of ``array.at[indices]``."""

    def lower(lowering: Lowering, op: Operation) -> list[Array]:
        cell = _cell(op.inputs[0])
        old = lowering.state.read(cell, op)
        indices, updates = _storable(lowering, op, 1), _storable(lowering, op, 2)
        indices = drop_if(lowering.errors.failed(), indices)
        shape = (*indices.shape, *old.shape[1:])
        updates = jnp.broadcast_to(jnp.asarray(updates, old.dtype), shape)
        value = write_rows(jnp.asarray(old), indices, method, updates, distinct=are_distinct(op.inputs[1]))
        return _write_rows(lowering, op, lax.stop_gradient(value))

    return lower


def _scatter_nd_lowering(method: str) -> Lower:
    """The lowering of a slice update, where ``indices[..., :]`` are leading indices; those out of range are dropped."""

    def lower(lowering: Lowering, op: Operation) -> list[Array]:
        cell = _cell(op.inputs[0])
        old = lowering.state.read(cell, op)
        indices, updates = _storable(lowering, op, 1), _storable(lowering, op, 2)
        first, *others = jnp.moveaxis(indices, -1, 0)
        at = jnp.asarray(old).at[(drop_if(lowering.errors.failed(), first), *others)]
        written = getattr(at, method)(jnp.asarray(updates, old.dtype), mode="drop", wrap_negative_indices=False)
        return _write_rows(lowering, op, lax.stop_gradient(written))

    return lower


def _scatter_rule(inputs: Sequence[Tensor], attrs: Attrs) -> list[Signature]:
    cell, indices, updates = _cell(inputs[0]), inputs[1], inputs[2]
    if updates.dtype is not cell.dtype:
        raise TypeError(f"Expected {cell.dtype.name} updates for variable {cell.name}, got {updates.dtype.name}.")
    if not indices.dtype.is_integer:
        raise TypeError(f"Expected integer indices, got {indices.dtype.name}.")
    expected = None if cell.dims is None or indices.dims is None else (*indices.dims, *cell.dims[1:])
    if updates.dims != () and not shapes.TensorShape(expected).is_compatible_with(updates.dims):
        raise ValueError(
            f"Expected updates of shape {shapes.TensorShape(expected)} (the indices' and a row's), got {updates.shape}."
        )
    return [Signature(cell.dtype, cell.dims)]


def _gather_rule(inputs: Sequence[Tensor], attrs: Attrs) -> list[Signature]:
    cell, indices = _cell(inputs[0]), inputs[1]
    if not indices.dtype.is_integer:
        raise TypeError(f"Expected integer indices, got {indices.dtype.name}.")
    dims = None if cell.dims is None or indices.dims is None else (*indices.dims, *cell.dims[1:])
    return [Signature(cell.dtype, dims)]


def _gather(lowering: Lowering, op: Operation) -> list[Array]:
    table = lowering.read_variable(_cell(op.inputs[0]), op)
    indices = jnp.asarray(lowering.value(op.inputs[1]))
    rows = jnp.take(jnp.asarray(table), indices, axis=0, mode="clip")
    return [rows if lowering.vjp.lookups is None else lowering.vjp.lookups.read(op, rows, indices)]


def _is_initialized(lowering: Lowering, op: Operation) -> list[Array]:
    return [np.asarray(_cell(op.inputs[0]) in lowering.state)]


def _assign_eagerly(context: Eager, inputs: Sequence[Any], attrs: Attrs) -> list[Tensor]:
    handle, value = inputs
    try:
        _assign_rule(inputs, attrs)
    except ValueError as error:
        raise EagerArgumentError(None, handle.op, str(error)) from None
    context.assign(handle.cell, value)
    return [value]


define_op(
    "VarHandleOp",
    lambda inputs, attrs: [Signature(resource, ())],
    lower=lambda lowering, op: [op.attrs["cell"]],
    constant=True,
    hidden=("cell",),
)
define_op(
    "ReadVariableOp", _cell_rule, lower=_first_outside(_read), reads=True, backward=read_backward,
    execute=lambda context, inputs, attrs: [context.read(inputs[0])], derivative="linear", passes_rows=True,
)  # fmt: skip
define_op(
    "VarIsInitializedOp", scalar(bool_), lower=_is_initialized, reads=True, differentiable=False,
    execute=lambda context, inputs, attrs: [context.is_initialized(inputs[0])],
)  # fmt: skip
define_op(
    "InitializedValue",
    _cell_rule,
    lower=lambda lowering, op: [lowering.state.get(_cell(op.inputs[0]), lowering.value(op.inputs[1]))],
    reads=True,
    differentiable=False,
)
define_op(
    "ResourceGather", _gather_rule, lower=_first_outside(_gather), reads=True, backward=gather_backward, check=ROWS,
    derivative="linear",
)  # fmt: skip
define_op(
    "AssignVariableOp", _assign_rule, lower=_first_outside(_assign), writes=True, stateful=True, differentiable=False,
    needs_no_compile=True, execute=_assign_eagerly,
)  # fmt: skip
define_op(
    "AssignAddVariableOp", _assign_rule, lower=_first_outside(_update_lowering(lambda a, b: a + b)), reads=True,
    writes=True, stateful=True, differentiable=False,
)  # fmt: skip
define_op(
    "AssignSubVariableOp", _assign_rule, lower=_first_outside(_update_lowering(lambda a, b: a - b)), reads=True,
    writes=True, stateful=True, differentiable=False,
)  # fmt: skip
_ROW_WRITES: tuple[tuple[str, Method], ...] = (
    ("ResourceScatterUpdate", "set"),
    ("ResourceScatterAdd", "add"),
    ("ResourceScatterSub", "subtract"),
    ("ResourceScatterMul", "multiply"),
    ("ResourceScatterDiv", "divide"),
    ("ResourceScatterMin", "min"),
    ("ResourceScatterMax", "max"),
)
for _type, _row_method in _ROW_WRITES:
    define_op(
        _type, _scatter_rule, lower=_first_outside(_scatter_lowering(_row_method)), reads=True, writes=True,
        stateful=True, differentiable=False, check=ROWS,
    )  # fmt: skip
for _type, _method in (
    ("ResourceScatterNdUpdate", "set"),
    ("ResourceScatterNdAdd", "add"),
    ("ResourceScatterNdSub", "subtract"),
):
    define_op(
        _type, _cell_rule, lower=_first_outside(_scatter_nd_lowering(_method)), reads=True, writes=True, stateful=True,
        differentiable=False, check=COORDINATES,
    )  # fmt: skip
define_op(
    "NoOp", lambda inputs, attrs: [], lower=lambda lowering, op: [], constant=True,
    execute=lambda context, inputs, attrs: [],
)  # fmt: skip
