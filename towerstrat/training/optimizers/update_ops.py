"""The operations that change a variable and its slots by a gradient: one per variable and step.

An ``Update`` is one rule: what it does to a variable and its slots, element by element. It gives two operation types,
``ResourceApply<name>`` for a gradient of the variable's shape, and ``ResourceSparseApply<name>`` for rows of it, where
the same rule is applied to the given rows alone and no row comes twice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax.numpy as jnp
from jax import lax

from towerstrat.graph.ir import shapes
from towerstrat.graph.ir.check_definitions import CheckResult, InputCheck
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.graph.ir.mesh import vary
from towerstrat.graph.ir.op_registry import Signature, define_op
from towerstrat.graph.ir.state import StateVariable
from towerstrat.graph.lowering import input_checks
from towerstrat.graph.lowering.lowering import Lowering
from towerstrat.graph.variables.rows import CellRows, RowSum, are_distinct, of_lookups, repeated
from towerstrat.graph.variables.table_sums import TableSum, table_sum


class Update(NamedTuple):
    """One rule of an optimizer.

    Attributes:
      name: the end of its operation types' names.
      cells: what it reads and writes: the variable first, then slots, all of one element type and shape.
      scalars: its scalar inputs, in order.
      function: ``function(cells, scalars, gradient, **attributes)`` changes the cells, each a ``CellRows``.
      whole: a rule of its own for rows that changes the other rows too:
        ``whole(cells, scalars, rows, **attributes)``, with all rows of the cells and a ``RowSum``.
      adds: whether the rule changes the cells by as many times a row as it comes, so that rows may repeat.
    """

    name: str
    cells: tuple[str, ...]
    scalars: tuple[str, ...]
    function: Callable[..., None]
    whole: Callable[..., None] | None = None
    adds: bool = False

    def apply(
        self,
        variables: Sequence[Any],
        scalars: Sequence[Tensor],
        grad: Tensor,
        indices: Tensor | None = None,
        **attributes: Any,
    ) -> Operation:
        """Adds the operation for one variable: ``variables`` are the variable and its slots."""
        inputs = [*(v.handle for v in variables), *scalars]
        if indices is None:
            return get_default_graph().add(f"ResourceApply{self.name}", [*inputs, grad], attributes)
        if self.whole is not None:
            grad, indices = repeated(grad, indices)  # It adds them up itself.
        return get_default_graph().add(f"ResourceSparseApply{self.name}", [*inputs, grad, indices], attributes)


def define_update(
    name: str, cells: str, scalars: str, function: Callable[..., None], whole: Callable[..., None] | None = None,
    adds: bool = False,
) -> Update:  # fmt: skip
    """Registers both operation types of a rule; ``cells`` and ``scalars`` are names separated by spaces."""
    update = Update(name, tuple(cells.split()), tuple(scalars.split()), function, whole, adds)
    effects: dict[str, Any] = {"reads": True, "writes": True, "stateful": True, "differentiable": False}
    define_op(
        f"ResourceApply{name}",
        lambda inputs, attrs: _check(update, inputs, False),
        lower=lambda lowering, op: _lower(update, lowering, op, False),
        **effects,
    )
    define_op(
        f"ResourceSparseApply{name}",
        lambda inputs, attrs: _check(update, inputs, True),
        lower=lambda lowering, op: _lower(update, lowering, op, True),
        check=InputCheck(_check_rows, (len(update.cells) + len(update.scalars) + 1,)),
        **effects,
    )
    return update


def _cells(update: Update, inputs: Sequence[Tensor]) -> list[StateVariable]:
    return [t.op.attrs["cell"] for t in inputs[: len(update.cells)]]


def _check(update: Update, inputs: Sequence[Tensor], sparse: bool) -> list[Signature]:
    cells = _cells(update, inputs)
    first = cells[0]
    for what, cell in zip(update.cells[1:], cells[1:], strict=True):
        if cell.dtype is not first.dtype or not shapes.TensorShape(cell.dims).is_compatible_with(first.dims):
            raise ValueError(
                f"Expected the slot {what} ({cell.name}) to be like variable {first.name}, "
                f"{first.dtype.name}{shapes.TensorShape(first.dims)}; got {cell.dtype.name}"
                f"{shapes.TensorShape(cell.dims)}."
            )
    scalars = inputs[len(cells) : len(cells) + len(update.scalars)]
    for what, tensor in zip(update.scalars, scalars, strict=True):
        if tensor.dims is not None and tensor.dims != ():
            raise ValueError(f"Expected {what} to be a scalar, got shape {tensor.shape}.")
    grad = inputs[len(cells) + len(scalars)]
    if grad.dtype is not first.dtype:
        raise TypeError(f"Expected a {first.dtype.name} gradient for variable {first.name}, got {grad.dtype.name}.")
    wanted = first.dims
    if sparse:
        indices = inputs[-1]
        if not indices.dtype.is_integer or (indices.dims is not None and len(indices.dims) != 1):
            raise ValueError(f"Expected indices to be a vector of integers, got {indices.dtype.name}{indices.shape}.")
        if first.dims is not None:
            wanted = (None if indices.dims is None else indices.dims[0], *first.dims[1:])
    if not shapes.TensorShape(wanted).is_compatible_with(grad.dims):
        raise ValueError(
            f"Expected a gradient of shape {shapes.TensorShape(wanted)} for variable {first.name}, got {grad.shape}."
        )
    return []


def _check_rows(op: Operation, values: Sequence[Any]) -> CheckResult | None:
    """Indices of rows that a program made itself are in the table; those of lookups were checked there."""
    return None if of_lookups(op.inputs[-1]) else input_checks.rows(values[-1], values[0].shape[0])


def _storable(lowering: Lowering, cell: StateVariable, tensor: Tensor) -> Any:
    """An input as a value that can be stored in the cell."""
    if cell.is_varying:
        return vary(jnp.asarray(lowering.value(tensor)), lowering.axis)
    return jnp.asarray(lowering.invariant(tensor))


def _total(update: Update, lowering: Lowering, op: Operation) -> TableSum | None:
    """The sum of the rows of all positions, where the update takes one: of rows that repeat it has to add them up."""
    cells, (values, indices) = _cells(update, op.inputs), op.inputs[-2:]
    adds = update.adds or update.whole is not None or are_distinct(indices)
    if not adds or any(cell.is_varying or cell.dims != cells[0].dims for cell in cells):
        return None
    total = table_sum(lowering, op, values, indices, update.adds)
    return total if total is not None and total.values.shape == cells[0].dims else None


def _lower(update: Update, lowering: Lowering, op: Operation, sparse: bool) -> list[Any]:
    cells = _cells(update, op.inputs)
    tables = [jnp.asarray(lowering.state.read(cell, op)) for cell in cells]
    rest = [_storable(lowering, cells[0], t) for t in op.inputs[len(cells) :]]
    indices = rest.pop() if sparse else None
    *scalars, grad = rest
    scalars = [s.astype(tables[0].dtype) for s in scalars]
    if indices is None and grad.shape != tables[0].shape:
        raise ValueError(f"The gradient has shape {grad.shape}, variable {cells[0].name} has {tables[0].shape}.")
    failed = lowering.errors.failed()
    total = _total(update, lowering, op) if sparse else None
    if indices is not None and update.whole is not None:
        changed = [CellRows(table, failed=failed) for table in tables]
        added = RowSum.of(tables[0], grad, indices, failed) if total is None else RowSum.whole(total.values, failed)
        update.whole(changed, scalars, added, **op.attrs)
    elif total is not None:
        # Of what is added up a sum of zero changes nothing.
        given = total.values != 0 if update.adds else total.given
        changed = [CellRows(table, failed=failed, given=given) for table in tables]
        update.function(changed, scalars, total.values, **op.attrs)
    else:
        distinct = indices is not None and are_distinct(op.inputs[-1])
        changed = [CellRows(table, indices, distinct, failed) for table in tables]
        update.function(changed, scalars, grad, **op.attrs)
    for cell, rows in zip(cells, changed, strict=True):
        lowering.state.write(cell, lax.stop_gradient(rows.table), lowering.errors.record)
    return []
