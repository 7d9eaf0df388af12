"""``tf.__operators__``: Python's operators on tensors as functions, those that no other public function is."""

from __future__ import annotations

from typing import Any

from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.graph.ops.indexing.slicing import get_item
from towerstrat.graph.ops.math import arithmetic
from towerstrat.graph.ops.ragged.ragged_tensor import RaggedTensor


def add(x: Any, y: Any, name: str | None = None) -> Any:
    """``x + y`` of tensors, or of strings their concatenation."""
    return arithmetic.add(x, y, name)


def eq(self: Any, other: Any) -> Any:
    """``self == other``, element by element."""
    return arithmetic.equal(self, other)


def ne(self: Any, other: Any) -> Any:
    """``self != other``, element by element."""
    return arithmetic.not_equal(self, other)


def getitem(tensor: Any, slice_spec: Any, var: Any = None) -> Any:
    """``tensor[slice_spec]``.

    Args:
      var: the variable that the tensor is the value of; its part can be assigned to.
    """
    return get_item(convert_to_tensor(tensor) if var is None else var, slice_spec)


def ragged_getitem(rt_input: Any, key: Any) -> Any:
    """``rt_input[key]`` of a ragged tensor. Raises TypeError for another value."""
    if not isinstance(rt_input, RaggedTensor):
        raise TypeError(f"Expected a RaggedTensor, got {rt_input!r}.")
    return rt_input[key]
