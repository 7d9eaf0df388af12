"""Dispatch of public functions to user types: libraries define what ``tf.add`` does with arguments of their classes.

A function that raises TypeError or ValueError asks the dispatchers, its own before those of all functions, in the order
in which they were registered; the first that answers decides, else the error stands.

>>> class Metres:
...     def __init__(self, value):
...         self.value = value
>>> @add_dispatch_support
... def double(x):
...     return x + x
>>> @dispatch_for_types(double, Metres)
... def double_metres(x):
...     return Metres(2 * x.value)
>>> double(Metres(3)).value
6

Source: ``tensorflow/python/util/dispatch.py``.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar, overload

_Function = Callable[..., Any]
F = TypeVar("F", bound=_Function)
NOT_SUPPORTED = object()
"""The result of a dispatcher for arguments that are none of its own."""


class _Registered:
    """The dispatchers that all functions ask, in order of registration."""

    def __init__(self) -> None:
        self.dispatchers: list[GlobalOpDispatcher] = []


_registered = _Registered()


class GlobalOpDispatcher:
    """A dispatcher of all functions, once it is registered: the result for arguments that they refuse."""

    NOT_SUPPORTED = NOT_SUPPORTED

    def handle(self, op: _Function, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """The result of ``op(*args, **kwargs)``, or ``NOT_SUPPORTED``."""
        raise NotImplementedError(f"{type(self).__name__} does not define handle().")

    def register(self) -> None:
        """Append it to the dispatchers of all functions."""
        _registered.dispatchers.append(self)


class OpDispatcher:
    """A dispatcher of one function: the result for arguments that it refuses."""

    NOT_SUPPORTED = NOT_SUPPORTED

    def handle(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """The result, or ``NOT_SUPPORTED``."""
        raise NotImplementedError(f"{type(self).__name__} does not define handle().")

    def register(self, op: _Function) -> None:
        """Append it to the function's dispatchers, which come before those of all functions.

        Raises:
          TypeError: the function asks no dispatchers.
        """
        dispatchers = _dispatchers_of(op)
        if dispatchers is None:
            raise TypeError(f"{op!r} has no dispatchers: decorate it with add_dispatch_support.")
        dispatchers.append(self)


def _dispatchers_of(op: _Function) -> list[OpDispatcher] | None:
    return getattr(op, "_own_dispatchers", None)


def _dispatch(op: _Function, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """The result of the first dispatcher that answers, or ``NOT_SUPPORTED``."""
    for dispatcher in _dispatchers_of(op) or ():
        result = dispatcher.handle(args, kwargs)
        if result is not NOT_SUPPORTED:
            return result
    for each in _registered.dispatchers:
        result = each.handle(op, args, kwargs)
        if result is not NOT_SUPPORTED:
            return result
    return NOT_SUPPORTED


@functools.cache
def dispatching(function: _Function) -> _Function:
    """The function with dispatch: of arguments that it refuses it returns a dispatcher's result. Cached by function."""

    @functools.wraps(function)
    def symbol(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except (TypeError, ValueError):
            result = _dispatch(symbol, args, kwargs)
            if result is NOT_SUPPORTED:
                raise
            return result

    symbol.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]
    symbol._own_dispatchers = []  # type: ignore[attr-defined]
    return symbol


@overload
def add_dispatch_support(target: F, iterable_parameters: Sequence[str] | None = None) -> F: ...


@overload
def add_dispatch_support(target: None = None, iterable_parameters: Sequence[str] | None = None) -> Callable[[F], F]: ...


def add_dispatch_support(target: _Function | None = None, iterable_parameters: Sequence[str] | None = None) -> Any:
    """Decorator: ``dispatching``.

    Args:
      target: the function; without it, a decorator is returned.
      iterable_parameters: arguments that may be iterators. They change nothing here, where arguments are passed on
        unseen, unless a dispatcher is asked, which finds them used up.

    >>> @add_dispatch_support
    ... def double(x):
    ...     return x + x
    >>> double(2)
    4
    """
    if target is None:
        return functools.partial(add_dispatch_support, iterable_parameters=iterable_parameters)
    return dispatching(target)


class _OfTypes(OpDispatcher):
    """A dispatcher to another function, if an argument is of one of some types."""

    def __init__(self, function: _Function, types: tuple[type, ...]):
        self._function = function
        self._types = types

    def handle(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        if any(isinstance(each, self._types) for each in (*args, *kwargs.values())):
            return self._function(*args, **kwargs)
        return NOT_SUPPORTED


def dispatch_for_types(op: _Function, *types: type) -> Callable[[_Function], _Function]:
    """Decorator: dispatches ``op`` to the function for arguments of some types, which ``op`` itself refuses.

    Raises:
      TypeError: ``op`` asks no dispatchers.
    """

    def register(function: _Function) -> _Function:
        _OfTypes(function, types).register(op)
        return function

    return register
