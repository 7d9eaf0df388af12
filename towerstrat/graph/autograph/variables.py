"""Unassigned variables as values: what converted code passes for a name that has no value yet.

Converted code reads variables through ``ld``, so that an unassigned one raises when it is used, as in Python, and not
when a branch or loop passes it on.

>>> ld(3), is_missing(ldu(lambda: {}["k"], "a['k']"))
(3, True)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn, TypeGuard, TypeVar

V = TypeVar("V")


class Undefined:
    """The value of a variable before its first assignment.

    Attributes:
      symbol_name: the variable.
    """

    __slots__ = ("symbol_name",)

    def __init__(self, symbol_name: str):
        self.symbol_name = symbol_name

    def read(self) -> NoReturn:
        raise UnboundLocalError(f"'{self.symbol_name}' is used before assignment")

    def __repr__(self) -> str:
        return self.symbol_name

    def __getitem__(self, key: object) -> NoReturn:
        raise KeyError(f"{self.symbol_name}[{key!r}]")


class UndefinedReturnValue:
    """The value of a function that has not returned yet."""


def is_missing(value: object) -> TypeGuard[Undefined | UndefinedReturnValue]:
    return isinstance(value, Undefined | UndefinedReturnValue)


def ld(value: V) -> V:
    """Read a variable. Raises UnboundLocalError where it has no value."""
    if isinstance(value, Undefined):
        value.read()
    return value


def ldu(load: Callable[[], V], name: str) -> V | Undefined:
    """Read an attribute or an element (``self.x``, ``a["k"]``); ``Undefined`` where it is not there."""
    try:
        return load()
    except (KeyError, IndexError, AttributeError, NameError):
        return Undefined(name)
