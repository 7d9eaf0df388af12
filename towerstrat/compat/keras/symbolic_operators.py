"""Python's operators on symbolic inputs of models: each is a function of the 2.x namespace."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_BINARY = {
    "add": "__operators__.add", "sub": "math.subtract", "mul": "math.multiply", "truediv": "math.truediv",
    "div": "compat.v1.div", "floordiv": "compat.v1.floor_div", "mod": "math.floormod", "pow": "math.pow",
    "matmul": "linalg.matmul",
}  # fmt: skip
_COMPARED = {"lt": "math.less", "le": "math.less_equal", "gt": "math.greater", "ge": "math.greater_equal"}
_OF_ONE = {"neg": "math.negative", "abs": "math.abs"}
_LOGICAL = {
    "and": ("math.logical_and", "bitwise.bitwise_and"), "or": ("math.logical_or", "bitwise.bitwise_or"),
    "xor": ("", "bitwise.bitwise_xor"),
}  # fmt: skip
"""Operator -> the function of booleans, and that of integers. The original puts the exclusive or together of others."""


def overload(kind: type, root: Any) -> None:
    """Gives a class the operators of tensors, made of functions that dispatchers may take over.

    Args:
      kind: that of the symbolic inputs. root: the 2.x namespace.
    """

    def function(place: str) -> Callable[..., Any]:
        found = root
        for part in place.split("."):
            found = getattr(found, part)
        return found

    def forward(place: str) -> Callable[..., Any]:
        own = function(place)
        return lambda x, y: own(x, y)

    def backward(place: str) -> Callable[..., Any]:
        own = function(place)
        return lambda x, y: own(y, x)

    def logical(names: tuple[str, str], swapped: bool) -> Callable[..., Any]:
        of_booleans, of_integers = (function(name) if name else exclusive for name in names)

        def apply(x: Any, y: Any) -> Any:
            own = of_booleans if x.dtype == root.bool else of_integers
            return own(y, x) if swapped else own(x, y)

        return apply

    def exclusive(x: Any, y: Any) -> Any:
        either, both = root.math.logical_or(x, y), root.math.logical_and(x, y)
        return root.math.logical_and(either, root.math.logical_not(both))

    def inverted(x: Any) -> Any:
        return (root.math.logical_not if x.dtype == root.bool else root.bitwise.invert)(x)

    found: dict[str, Any] = {
        **{f"__{name}__": forward(place) for name, place in (_BINARY | _COMPARED).items()},
        **{f"__r{name}__": backward(place) for name, place in _BINARY.items()},
        **{f"__{name}__": function(place) for name, place in _OF_ONE.items()},
        **{f"__{name}__": logical(names, swapped=False) for name, names in _LOGICAL.items()},
        **{f"__r{name}__": logical(names, swapped=True) for name, names in _LOGICAL.items()},
        "__invert__": inverted,
        "__getitem__": function("__operators__.getitem"),
        "__eq__": function("__operators__.eq"),
        "__ne__": function("__operators__.ne"),
    }
    for name, value in found.items():
        setattr(kind, name, value)
