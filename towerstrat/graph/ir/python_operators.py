"""Python's operators on tensors and variables: each looks its function up in the registry when it is used.

Modules of operations register theirs (``op_registry.define_operator``), so tensors need not import them. Where a
function refuses the other operand with a TypeError or ValueError, and the operand's class has the reflected operator,
Python asks that next (``NotImplemented``).

``==`` means identity in programs of 1.x and element-wise comparison in 2.x (``EQUALITY``); libraries written for 2.x
have their meaning in both, decided by the module of the calling frame.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType, NotImplementedType
from typing import TYPE_CHECKING, Any, TypeAlias

from towerstrat.graph.ir import op_registry

if TYPE_CHECKING:
    from towerstrat.graph.ir.graph_elements import Tensor

_Operator: TypeAlias = "Callable[..., Tensor]"
_ARITHMETIC = ["add", "sub", "mul", "div", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor"]
_REFLECTED = {
    **{f"__{name}__": f"__r{name}__" for name in _ARITHMETIC},
    "__lt__": "__gt__", "__le__": "__ge__", "__gt__": "__lt__", "__ge__": "__le__",
}  # fmt: skip
"""Operator -> the reflected one, which Python calls on the second operand if the first returns ``NotImplemented``."""


def _defines(kind: type, method: str) -> bool:
    """Whether a class of a program's has an operator of its own: arrays and numbers are converted instead."""
    operator = getattr(kind, method, None)
    defined = operator is not None and operator is not getattr(object, method, None)
    return defined and kind.__module__ not in ("builtins", "numpy")


def _operator(name: str) -> _Operator:
    reflected = _REFLECTED.get(name, "")

    def apply(self: Operators, *operands: Any) -> Tensor | NotImplementedType:
        result: Tensor | NotImplementedType
        try:
            result = op_registry.operator(name)(self._overloaded(), *operands)
        except (TypeError, ValueError):
            if not reflected or isinstance(operands[0], Operators) or not _defines(type(operands[0]), reflected):
                raise
            # Another kind of value may know what to do with a tensor: Python asks it next.
            result = NotImplemented
        return result

    apply.__name__ = name
    return apply


class Operators:
    """Mixin with the operators of tensors; they apply to the tensor that ``_overloaded`` returns."""

    __slots__ = ()
    __array_priority__ = 100

    def _overloaded(self) -> Tensor:
        """The operators' first operand: a tensor."""
        raise NotImplementedError

    __add__: _Operator = _operator("__add__")
    __radd__: _Operator = _operator("__radd__")
    __sub__: _Operator = _operator("__sub__")
    __rsub__: _Operator = _operator("__rsub__")
    __mul__: _Operator = _operator("__mul__")
    __rmul__: _Operator = _operator("__rmul__")
    __div__: _Operator = _operator("__div__")
    __rdiv__: _Operator = _operator("__rdiv__")
    __truediv__: _Operator = _operator("__truediv__")
    __rtruediv__: _Operator = _operator("__rtruediv__")
    __floordiv__: _Operator = _operator("__floordiv__")
    __rfloordiv__: _Operator = _operator("__rfloordiv__")
    __mod__: _Operator = _operator("__mod__")
    __rmod__: _Operator = _operator("__rmod__")
    __pow__: _Operator = _operator("__pow__")
    __rpow__: _Operator = _operator("__rpow__")
    __matmul__: _Operator = _operator("__matmul__")
    __rmatmul__: _Operator = _operator("__rmatmul__")
    __and__: _Operator = _operator("__and__")
    __rand__: _Operator = _operator("__rand__")
    __or__: _Operator = _operator("__or__")
    __ror__: _Operator = _operator("__ror__")
    __xor__: _Operator = _operator("__xor__")
    __rxor__: _Operator = _operator("__rxor__")
    __lt__: _Operator = _operator("__lt__")
    __le__: _Operator = _operator("__le__")
    __gt__: _Operator = _operator("__gt__")
    __ge__: _Operator = _operator("__ge__")
    __neg__: _Operator = _operator("__neg__")
    __abs__: _Operator = _operator("__abs__")
    __invert__: _Operator = _operator("__invert__")
    __getitem__: _Operator = _operator("__getitem__")


OVERLOADABLE = frozenset(name for name in Operators.__annotations__ if name.startswith("__")) | {"__eq__", "__ne__"}
"""The names of these operators."""


class _Equality:
    """The meaning of ``==`` in this process: identity (1.x) or element-wise comparison (2.x).

    Attributes:
      by_element: whether it is the second one.
      libraries: prefixes of names of modules that compare by element in programs of 1.x, too.
    """

    def __init__(self) -> None:
        self.by_element = False
        self.libraries: set[str] = set()

    def of(self, caller: FrameType) -> bool:
        """Whether ``==`` in the code of a frame compares elements."""
        return self.by_element or (
            bool(self.libraries) and caller.f_globals.get("__name__", "").startswith(tuple(self.libraries))
        )


EQUALITY = _Equality()


def equals(self: Operators, other: object) -> Any:
    """``self == other`` for tensors and variables: a bool, or a boolean tensor."""
    return op_registry.operator("__eq__")(self, other) if EQUALITY.of(sys._getframe(1)) else self is other


def differs(self: Operators, other: object) -> Any:
    """``self != other`` for tensors and variables: a bool, or a boolean tensor."""
    return op_registry.operator("__ne__")(self, other) if EQUALITY.of(sys._getframe(1)) else self is not other
