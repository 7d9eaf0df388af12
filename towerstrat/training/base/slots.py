"""Slots: variables that an optimizer or an average keeps beside a variable, named below it."""

from __future__ import annotations

from typing import Any

from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.shapes import as_shape
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.graph.ir.types import as_dtype
from towerstrat.graph.ops.array import arrays
from towerstrat.graph.scopes.initializers import zeros_initializer
from towerstrat.graph.scopes.variable_scope import get_variable, get_variable_scope, variable_scope
from towerstrat.graph.variables.variables import Variable
from towerstrat.towers.engine.tower_contexts import current_distribution


def _create(
    primary: Any, initial: Any, validate_shape: bool, shape: Any, dtype: Any, name: str, colocate_with_primary: bool
) -> Any:
    with variable_scope(None, f"{primary.op.name}/{name}"):
        if not colocate_with_primary:
            return _variable(primary, initial, validate_shape, shape, dtype)
        with current_distribution().colocate_vars_with(primary):
            return _variable(primary, initial, validate_shape, shape, dtype)


def _variable(primary: Any, initial: Any, validate_shape: bool, shape: Any, dtype: Any) -> Any:
    scope = get_variable_scope()
    partitioner = scope.partitioner
    scope.set_partitioner(None)
    try:
        slot = get_variable(
            "", initializer=initial, trainable=False, shape=shape, dtype=dtype, validate_shape=validate_shape
        )
    finally:
        scope.set_partitioner(partitioner)
    if isinstance(primary, Variable) and primary.cell.dims == slot.cell.dims:
        slot.cell.parts = primary.cell.parts
    info = primary._get_save_slice_info() if isinstance(primary, Variable) else None
    if info is not None:
        own = slot.op.name[len(primary.op.name) + 1 :]
        slot._set_save_slice_info(
            type(info)(f"{info.full_name}/{own}", info.full_shape[:], info.var_offset[:], info.var_shape[:])
        )
    return slot


def create_slot(primary: Any, val: Any, name: str, colocate_with_primary: bool = True) -> Any:
    """A slot of ``primary`` with a given initial value.

    Args:
      primary: the variable (or tensor) that the slot belongs to.
      val: a tensor; the slot has its type and shape.
      name: the slot is called ``<primary's name>/<name>``, with ``_1``, ``_2``, ... where that is taken.
      colocate_with_primary: under a strategy, place it as ``primary`` is.
    """
    known = val.get_shape().is_fully_defined()
    return _create(primary, val, known, None, None, name, colocate_with_primary)


def create_slot_with_initializer(
    primary: Any, initializer: Any, shape: Any, dtype: Any, name: str, colocate_with_primary: bool = True
) -> Any:
    """A slot of ``primary`` that ``initializer`` gives its first value; see ``create_slot``."""
    known = as_shape(shape).is_fully_defined()
    return _create(primary, initializer, known, shape, dtype, name, colocate_with_primary)


def create_zeros_slot(primary: Any, name: str, dtype: Any = None, colocate_with_primary: bool = True) -> Any:
    """A slot of ``primary``'s shape (and type, unless ``dtype`` is given) that starts at zero; see ``create_slot``."""
    dtype = primary.dtype if dtype is None else as_dtype(dtype)
    shape = primary.get_shape()
    if shape.is_fully_defined():
        return create_slot_with_initializer(
            primary, zeros_initializer(dtype), shape, dtype, name, colocate_with_primary
        )
    with get_default_graph().outside():
        like = primary.initialized_value() if isinstance(primary, Variable) else convert_to_tensor(primary)
        zeros = arrays.zeros(arrays.shape(like), dtype)
    return create_slot(primary, zeros, name, colocate_with_primary)
