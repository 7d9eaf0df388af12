"""Decorators that know what they decorate: ``tensorflow.python.util.tf_decorator``, ``tf_contextlib`` and their kin."""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Callable, Iterator
from typing import Any


class TFDecorator:
    """A decorator applied to a target. As an object of its own it calls the target; derived classes do more.

    Args:
      decorator_name: what applied it.
      target: the callable, which may be decorated itself.
      decorator_doc: the docstring to show; '' shows the target's.
      decorator_argspec: the signature to show; None shows the target's.
    """

    def __init__(self, decorator_name: str, target: Any, decorator_doc: str = "", decorator_argspec: Any = None):
        self.decorated_target = target
        self.decorator_name = decorator_name
        self.decorator_doc = decorator_doc
        self.decorator_argspec = decorator_argspec
        for name in ("__name__", "__qualname__"):
            if hasattr(target, name):
                setattr(self, name, getattr(target, name))
        self.__doc__ = decorator_doc or getattr(target, "__doc__", None) or ""

    def __get__(self, instance: Any, owner: Any) -> Any:
        return self.decorated_target.__get__(instance, owner)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.decorated_target(*args, **kwargs)


def make_decorator(
    target: Any,
    decorator_func: Any,
    decorator_name: str | None = None,
    decorator_doc: str = "",
    decorator_argspec: Any = None,
) -> Any:
    """``decorator_func``, a wrapper of ``target``, with the name and docstring of the target, marked for ``unwrap``.

    Args:
      decorator_name: by default that of the calling function. The others: see TFDecorator.
    """
    if decorator_name is None:
        decorator_name = sys._getframe(1).f_code.co_name
    decorator = TFDecorator(decorator_name, target, decorator_doc, decorator_argspec)
    decorator_func._tf_decorator = decorator
    for name in ("__name__", "__qualname__", "__module__"):
        if hasattr(target, name):
            setattr(decorator_func, name, getattr(target, name))
    decorator_func.__doc__ = decorator.__doc__
    decorator_func.__wrapped__ = target
    decorator_func.__original_wrapped__ = target
    return decorator_func


def _decorators(decorated: Any) -> Iterator[tuple[Any, TFDecorator]]:
    """What carries each decorator, and the decorator; outermost first."""
    while True:
        found = decorated if isinstance(decorated, TFDecorator) else getattr(decorated, "_tf_decorator", None)
        if not isinstance(found, TFDecorator):
            return
        yield decorated, found
        decorated = found.decorated_target


def unwrap(maybe_tf_decorator: Any) -> tuple[list[TFDecorator], Any]:
    """The decorators of a callable, outermost first, and what they decorate in the end."""
    found = [decorator for _, decorator in _decorators(maybe_tf_decorator)]
    return found, found[-1].decorated_target if found else maybe_tf_decorator


def rewrap(decorator_func: Any, previous_target: Any, new_target: Any) -> Any:
    """Replaces ``previous_target`` below the decorators of ``decorator_func``, which is changed and returned.

    The wrapper that is changed must call its own ``__wrapped__``. ``new_target`` where nothing is decorated.
    """
    carrier = None
    for carrier, decorator in _decorators(decorator_func):  # noqa: B007 - the last one is used below
        if decorator.decorated_target is previous_target:
            break
    if carrier is None:
        return new_target
    decorator.decorated_target = new_target
    # A bound method takes no attributes: its function does.
    getattr(carrier, "__func__", carrier).__wrapped__ = new_target
    return decorator_func


def contextmanager(target: Callable[..., Any]) -> Callable[..., Any]:
    """``contextlib.contextmanager`` that ``unwrap`` sees through."""
    return make_decorator(target, contextlib.contextmanager(target), "contextmanager")


def keyword_args_only(func: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator: calls with positional arguments raise ValueError."""

    @functools.wraps(func)
    def by_keyword(*args: Any, **kwargs: Any) -> Any:
        if args:
            raise ValueError(f"Must use keyword args to call {func.__name__}.")
        return func(**kwargs)

    return by_keyword


def get_qualified_name(function: Any) -> str:
    """The name of a function, with its class where it is a method."""
    return getattr(function, "__qualname__", None) or str(function.__name__)


def validate_callable(func: Any, decorator_name: str) -> None:
    """Raises ValueError where a decorator is applied to what cannot be called, such as a property."""
    if not callable(func):
        raise ValueError(
            f"{func} is not a function. If this is a property, make sure @property appears before @{decorator_name} "
            f"in your source code:\n\n@property\n@{decorator_name}\ndef method(...)"
        )
