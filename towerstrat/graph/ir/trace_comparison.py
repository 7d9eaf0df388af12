"""Structural equality of two towers' traces: attributes of operations, and the regions among them.

Equality of values is not enough, because attributes may hold tensors, operations, regions (``Block``) and Python
functions. Two regions are equal if their operations are, one by one, up to a renaming (``_same``) of what is inside;
two functions if they have the same code, defaults and closure contents. Views of one operation by shard are equal.

    tower 0: If(p, [x * 2.], [x])      tower 1: If(p, [x * 2.], [x])         equal
    tower 0: If(p, [x * 2.], [x])      tower 1: If(p, [x * 3.], [x])         equal with ``outside``: differing {Const:
    3.}
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import CellType
from typing import Any

import numpy as np

from towerstrat.graph.ir.graph_elements import Block, Operation, Tensor
from towerstrat.graph.ir.shard_operations import replicated_of

_DERIVED = {"_traced_gradient"}
"""Attributes that an operation gets later on, of its others."""


class TraceComparison:
    """Compares one shard's attributes, tensors and regions with another's.

    Tensors and operations are equal where they are the same, or views of the same. Regions are equal where their
    operations are, one by one; then what is inside of them counts as equal too.

    Args:
      outside: captures of the one shard's regions -> the other's counterparts. Where this is given regions are equal
        too where their constants, seeds and messages differ, and nothing else.

    Attributes:
      differing: an operation of the other shard -> the attributes that the one has there, with another constant, seed
        or message.
    """

    def __init__(self, outside: Mapping[Tensor, Tensor] | None = None) -> None:
        self._outside = outside
        self.differing: dict[Operation, Mapping[str, Any]] = {}
        self._same: dict[object, object] = {}
        """Tensors, operations and regions inside of equal regions: the one shard's -> the other's."""
        self._comparing: dict[int, object] = {}
        """``id`` of the functions that are being compared, which may hold themselves."""

    def __call__(self, mine: object, other: object) -> bool:
        """Whether two values of an attribute are equal."""
        mine, other = replicated_of(mine), replicated_of(other)
        if mine is other:
            return True
        if isinstance(mine, Tensor | Operation):
            return self._same.get(mine) is other
        if isinstance(mine, np.ndarray) or isinstance(other, np.ndarray):
            return _equal_arrays(mine, other)
        if type(mine) is not type(other):
            return False
        if isinstance(mine, Block) and isinstance(other, Block):
            return self._same.get(mine) is other or self._regions(mine, other)
        if isinstance(mine, Mapping) and isinstance(other, Mapping):
            return self._mappings(mine, other)
        if isinstance(mine, set | frozenset) and isinstance(other, set | frozenset):
            return {self._of(m) for m in mine} == {replicated_of(o) for o in other}
        if isinstance(mine, list | tuple) and isinstance(other, list | tuple):
            return len(mine) == len(other) and all(map(self, mine, other))
        if callable(mine) and callable(other) and hasattr(mine, "__code__"):
            return self._functions(mine, other)
        try:
            return bool(mine == other)
        except (TypeError, ValueError):
            return False

    def _of(self, value: object) -> object:
        value = replicated_of(value)
        return self._same.get(value, value)

    def _mappings(self, mine: Mapping[Any, object], other: Mapping[Any, object]) -> bool:
        keys = {self._of(key): key for key in mine}
        return len(mine) == len(other) and all(
            replicated_of(key) in keys and self(mine[keys[replicated_of(key)]], value) for key, value in other.items()
        )

    def _functions(self, mine: Callable[..., object], other: Callable[..., object]) -> bool:
        """Whether two functions have the same code, and equal defaults and closure contents."""
        of_mine, of_other = _parts(mine), _parts(other)
        if of_mine[0] is not of_other[0] or self._comparing.get(id(mine)) is other:
            return of_mine[0] is of_other[0]
        self._comparing[id(mine)] = other
        try:
            return self(of_mine[1:], of_other[1:]) and self(_closure_contents(mine), _closure_contents(other))
        finally:
            del self._comparing[id(mine)]

    def _regions(self, mine: Block, other: Block) -> bool:
        if len(mine.ops) != len(other.ops):
            return False
        self._same[mine] = other
        return (
            all(map(self._operations, mine.ops, other.ops))
            and self._use_same(mine.results, other.results)
            and self(mine.effects, other.effects)
        )

    def _use_same(self, mine: Sequence[object], other: Sequence[object]) -> bool:
        """Whether operations or regions use the same tensors, or counterparts outside."""
        outside = self._outside or {}
        return len(mine) == len(other) and all(
            outside.get(m) is o or self(m, o) if isinstance(m, Tensor) else self(m, o)
            for m, o in zip(mine, other, strict=True)
        )

    def _operations(self, mine: Operation, other: Operation) -> bool:
        equal = (
            self._use_same(mine.inputs, other.inputs)
            and len(mine.control_inputs) == len(other.control_inputs)
            and self(mine.control_inputs, other.control_inputs)
            and (self._outside is None or [t.dims for t in mine.outputs] == [t.dims for t in other.outputs])
            and ((mine.type == other.type and self.attributes(mine.attrs, other.attrs)) or self._differs(mine, other))
        )
        if equal:
            self._same[mine] = other
            self._same.update(zip(mine.outputs, other.outputs, strict=True))
        return equal

    def _differs(self, mine: Operation, other: Operation) -> bool:
        """Whether operations in regions may differ in an attribute of their own; notes that they do."""
        if self._outside is None or own_attribute(mine) is None or own_attribute(mine) != own_attribute(other):
            return False
        self.differing[other] = mine.attrs
        return True

    def attributes(self, mine: Mapping[str, object], other: Mapping[str, object]) -> bool:
        """Whether operations with these attributes are the same."""
        # Regions first: other attributes name what is inside of them.
        keys = sorted(mine.keys() - _DERIVED, key=lambda key: key != "bodies")
        return not (mine.keys() ^ other.keys()) - _DERIVED and all(self(mine[key], other[key]) for key in keys)


def own_attribute(op: Operation) -> str | None:
    """The attribute of an operation that may differ by shard: a constant's value, a seed, a message."""
    return "seeds" if op.definition.random and "seeds" in op.attrs else op.definition.own


def _parts(function: Callable[..., object]) -> tuple[object, ...]:
    """A function's code, its defaults and the object that it is bound to."""
    plain = getattr(function, "__func__", function)
    return plain.__code__, plain.__defaults__, plain.__kwdefaults__, getattr(function, "__self__", None)


def _closure_contents(function: Callable[..., object]) -> tuple[object, ...]:
    """The contents of a function's closure cells; None for one that is not assigned yet."""
    cells: tuple[CellType, ...] = getattr(function, "__closure__", None) or ()
    contents: list[object] = []
    for cell in cells:
        try:
            contents.append(cell.cell_contents)
        except ValueError:  # not assigned yet
            contents.append(None)
    return tuple(contents)


def _equal_arrays(mine: Any, other: Any) -> bool:
    if not (hasattr(mine, "dtype") and hasattr(other, "dtype")) or mine.dtype != other.dtype:
        return False
    if np.shape(mine) != np.shape(other):
        return False
    if mine.dtype.hasobject:
        return bool(np.array_equal(mine, other))
    return np.asarray(mine).tobytes() == np.asarray(other).tobytes()
