"""Methods that are traced: a class keeps one ``tf.function`` per method, each instance its own traces.

``Bound`` is the attribute that an instance shows; it keeps the instance alive while it is held, as a bound method does.
``WeakMethod`` is the function that is traced; it does not, since the traces live as long as the instance.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any


class Bound:
    """A traced function of one instance, which keeps the instance alive while it is held."""

    def __init__(self, function: Callable[..., Any], instance: object):
        self._inner = function
        self.__self__ = instance

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._inner(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def __eq__(self, other: object) -> bool:
        """As of bound methods: each access to one makes a new object, equal to the others."""
        return isinstance(other, Bound) and other._inner is self._inner

    def __hash__(self) -> int:
        return hash(self._inner)


class WeakMethod:
    """A method that does not keep its instance alive."""

    def __init__(self, function: Callable[..., Any], reference: Callable[[], Any]):
        self.__func__ = function
        self._reference = reference
        functools.update_wrapper(self, function)
        parameters = list(inspect.signature(function).parameters.values())
        self.__signature__ = inspect.signature(function).replace(parameters=parameters[1:])

    @property
    def __self__(self) -> Any:
        return self._reference()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.__func__(self._reference(), *args, **kwargs)
