"""The operations that change a variable and its slots by a gradient: one per variable and step.

An ``Update`` is one rule: what it does to a variable and its slots, element by element. It gives two operation types,
``ResourceApply<name>`` for a gradient of the variable's shape, and ``ResourceSparseApply<name>`` for rows of it, where
the same rule is applied to the given rows alone and no row comes twice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax

from towerstrat.graph.ir import shapes
from towerstrat.graph.ir.core import get_default_graph
from towerstrat.graph.ir.elements import Operation, Tensor
from towerstrat.graph.ir.mesh import vary
from towerstrat.graph.ir.registry import Signature, define
from towerstrat.graph.ir.state import Cell
from towerstrat.graph.lowering.lowering import Lowering

PADDING = np.iinfo(np.int32).max
"""An index past the end of every table: reads of it are clipped, writes to it are dropped."""


class Update(NamedTuple):
    """One rule of an optimizer.

    Attributes:
      name: the end of its operation types' names.
      cells: what it reads and writes: the variable first, then slots, all of one element type and shape.
      scalars: its scalar inputs, in order.
      function: ``function(cells, scalars, gradient, **attributes) -> new values of the cells``.
      whole: a rule of its own for rows that also changes the other rows:
        ``whole(cells, scalars, gradient, indices, **attributes) -> new values``.
    """

    name: str
    cells: tuple[str, ...]
    scalars: tuple[str, ...]
    function: Callable[..., Sequence[Any]]
    whole: Callable[..., Sequence[Any]] | None = None

    def apply(
        self,
        variables: Sequence[Any],
        scalars: Sequence[Tensor],
        grad: Tensor,
        indices: Tensor | None = None,
        **attributes: Any,
    ) -> Operation:
        """Adds the operation for one variable: ``variables`` are the variable and its slots."""
        inputs = [*(v.handle for v in variables), *scalars, grad]
        type = f"ResourceApply{self.name}"
        if indices is not None:
            inputs.append(indices)
            type = f"ResourceSparseApply{self.name}"
        return get_default_graph().add(type, inputs, attributes)


def define_update(name: str, cells: str, scalars: str, function: Any, whole: Any = None) -> Update:
    """Registers both operation types of a rule; ``cells`` and ``scalars`` are names separated by spaces."""
    update = Update(name, tuple(cells.split()), tuple(scalars.split()), function, whole)
    effects: dict[str, Any] = {"reads": True, "writes": True, "stateful": True, "differentiable": False}
    define(
        f"ResourceApply{name}",
        lambda inputs, attrs: _check(update, inputs, False),
        lower=lambda lowering, op: _lower(update, lowering, op, False),
        **effects,
    )
    define(
        f"ResourceSparseApply{name}",
        lambda inputs, attrs: _check(update, inputs, True),
        lower=lambda lowering, op: _lower(update, lowering, op, True),
        **effects,
    )
    return update


def _cells(update: Update, inputs: Sequence[Tensor]) -> list[Cell]:
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


def _storable(lowering: Lowering, cell: Cell, tensor: Tensor) -> Any:
    """An input as a value that can be stored in the cell."""
    if cell.per_position:
        return vary(jnp.asarray(lowering.value(tensor)), lowering.axis)
    return jnp.asarray(lowering.invariant(tensor))


def _lower(update: Update, lowering: Lowering, op: Operation, sparse: bool) -> list[Any]:
    cells = _cells(update, op.inputs)
    old = [jnp.asarray(lowering.read(cell, op)) for cell in cells]
    dtype = old[0].dtype
    rest = [_storable(lowering, cells[0], t) for t in op.inputs[len(cells) :]]
    indices = rest.pop() if sparse else None
    *scalars, grad = rest
    scalars = [s.astype(dtype) for s in scalars]
    attributes = dict(op.attrs)
    if indices is None:
        if grad.shape != old[0].shape:
            raise ValueError(f"The gradient has shape {grad.shape}, variable {cells[0].name} has {old[0].shape}.")
        new = update.function(old, scalars, grad, **attributes)
    elif update.whole is not None:
        new = update.whole(old, scalars, grad, indices, **attributes)
    else:
        rows = [jnp.take(v, indices, axis=0, mode="clip") for v in old]
        changed = update.function(rows, scalars, grad, **attributes)
        new = [v.at[indices].set(row.astype(dtype), mode="drop") for v, row in zip(old, changed, strict=True)]
    for cell, value in zip(cells, new, strict=True):
        lowering.write(cell, lax.stop_gradient(value.astype(dtype)))
    return []


def scatter(table: Any, indices: Any, rows: Any) -> Any:
    """``table`` with ``rows`` added at ``indices``, each as often as it comes."""
    return table.at[indices].add(rows, mode="drop")


def _deduplicate(values: Any, indices: Any) -> tuple[Any, Any]:
    values, indices = jnp.asarray(values), jnp.asarray(indices)
    if indices.shape[0] == 0:
        return values, indices
    places = lax.iota(jnp.int32, indices.shape[0])
    ordered, order = lax.sort((indices, places), num_keys=1, is_stable=True)
    starts = jnp.concatenate([jnp.zeros((1,), jnp.int32), (ordered[1:] != ordered[:-1]).astype(jnp.int32)])
    group = jnp.cumsum(starts, dtype=jnp.int32)
    group_of = jnp.zeros_like(group).at[order].set(group)
    summed = jnp.zeros_like(values).at[group_of].add(values)
    unique = jnp.full_like(indices, PADDING).at[group].set(ordered)
    return summed, unique


def _deduplicate_rule(inputs: Sequence[Tensor], attrs: Mapping[str, Any]) -> list[Signature]:
    values, indices = inputs
    if not indices.dtype.is_integer:
        raise TypeError(f"Expected integer indices, got {indices.dtype.name}.")
    return [Signature(values.dtype, values.dims), Signature(indices.dtype, indices.dims)]


define("DeduplicateRows", _deduplicate_rule, _deduplicate, differentiable=False)


def deduplicate(values: Tensor, indices: Tensor) -> tuple[Tensor, Tensor]:
    """Rows that no index repeats, of the same shapes: ``(summed values, indices)``.

    Rows of one index are added up. What then is left over at the end has values of zero and an index that is past the
    end of every table, so that updates skip it; the number of rows stays known, which compiled loops need.
    """
    summed, unique = get_default_graph().add("DeduplicateRows", [values, indices], None, "deduplicate").outputs
    return summed, unique
