"""Functions of tensors that others may take over: what they do with arguments that are not tensors.

A function that raises TypeError or ValueError asks the dispatchers, in the order in which they were registered; the
first that answers decides. Source: ``tensorflow/python/util/dispatch.py``.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

_Function = Callable[..., Any]
NOT_SUPPORTED = object()
"""What a dispatcher returns for arguments that are none of its own."""


class _Registered:
    """The dispatchers of all functions."""

    def __init__(self) -> None:
        self.dispatchers: list[GlobalOpDispatcher] = []


_registered = _Registered()


class GlobalOpDispatcher:
    """Decides what functions do with arguments that they refuse; all functions, once it is registered."""

    NOT_SUPPORTED = NOT_SUPPORTED

    def handle(self, op: _Function, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """The result of ``op(*args, **kwargs)``, or ``NOT_SUPPORTED``."""
        raise NotImplementedError(f"{type(self).__name__} does not define handle().")

    def register(self) -> None:
        """Puts it after those that are registered."""
        _registered.dispatchers.append(self)


class OpDispatcher:
    """Decides what one function does with arguments that it refuses."""

    NOT_SUPPORTED = NOT_SUPPORTED

    def handle(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """The result, or ``NOT_SUPPORTED``."""
        raise NotImplementedError(f"{type(self).__name__} does not define handle().")

    def register(self, op: _Function) -> None:
        """Puts it after those that the function has, before those of all functions.

        Raises:
          TypeError: the function asks no dispatchers.
        """
        own = _own(op)
        if own is None:
            raise TypeError(f"{op!r} has no dispatchers: decorate it with add_dispatch_support.")
        own.append(self)


def _own(op: _Function) -> list[OpDispatcher] | None:
    return getattr(op, "_own_dispatchers", None)


def _dispatched(op: _Function, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """What the first dispatcher that answers returns, or ``NOT_SUPPORTED``."""
    for own in _own(op) or ():
        found = own.handle(args, kwargs)
        if found is not NOT_SUPPORTED:
            return found
    for each in _registered.dispatchers:
        found = each.handle(op, args, kwargs)
        if found is not NOT_SUPPORTED:
            return found
    return NOT_SUPPORTED


@functools.cache
def dispatching(function: _Function) -> _Function:
    """The function, where it refuses its arguments that of a dispatcher; the same object for the same function."""

    @functools.wraps(function)
    def symbol(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except (TypeError, ValueError):
            found = _dispatched(symbol, args, kwargs)
            if found is NOT_SUPPORTED:
                raise
            return found

    symbol.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]
    symbol._own_dispatchers = []  # type: ignore[attr-defined]
    return symbol


def add_dispatch_support(target: _Function | None = None, iterable_parameters: Sequence[str] | None = None) -> Any:
    """Decorator: ``dispatching``.

    Args:
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
    """Another function for arguments among which there is one of some types."""

    def __init__(self, function: _Function, types: tuple[type, ...]):
        self._function = function
        self._types = types

    def handle(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        if any(isinstance(each, self._types) for each in (*args, *kwargs.values())):
            return self._function(*args, **kwargs)
        return NOT_SUPPORTED


def dispatch_for_types(op: _Function, *types: type) -> Callable[[_Function], _Function]:
    """Decorator: a function that stands for ``op``, which refuses them, for arguments of some types.

    Raises:
      TypeError: ``op`` asks no dispatchers.
    """

    def register(function: _Function) -> _Function:
        _OfTypes(function, types).register(op)
        return function

    return register
