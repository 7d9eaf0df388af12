"""Default arguments for a block of code: ``tf.contrib.framework.arg_scope`` and ``add_arg_scope``.

A scope maps the key of each function to the keywords that calls of it take; a call's own keywords come first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from towerstrat.compat.utilities import decorators
from towerstrat.platform.threads import ThreadState

Scope = dict[str, dict[str, Any]]


class _Scopes(ThreadState):
    """The scopes that are open in a thread, outermost first."""

    def __init__(self) -> None:
        self.open: list[Scope] = [{}]


_scopes = _Scopes()
_KEYWORDS = "_arg_scope_keywords"


def arg_scope_func_key(op: Callable[..., Any]) -> str:
    """The key of a function in a scope."""
    return getattr(op, "_key_op", str(op))


def current_arg_scope() -> Scope:
    """The innermost open scope."""
    return _scopes.open[-1]


def add_arg_scope(func: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator: calls of the function take the keywords of the innermost scope that they do not give themselves."""
    key = arg_scope_func_key(func)

    def with_scope(*args: Any, **kwargs: Any) -> Any:
        return func(*args, **{**current_arg_scope().get(key, {}), **kwargs})

    with_scope._key_op = key  # type: ignore[attr-defined]
    setattr(with_scope, _KEYWORDS, _keywords(func))
    return decorators.make_decorator(func, with_scope)


def _keywords(func: Callable[..., Any]) -> tuple[str, ...]:
    """The names of the arguments that have defaults."""
    count = len(func.__defaults__ or ())
    code = func.__code__
    names: tuple[str, ...] = code.co_varnames[code.co_argcount - count : code.co_argcount]
    return names


def has_arg_scope(func: Callable[..., Any]) -> bool:
    """Whether a function is decorated with ``add_arg_scope``."""
    return hasattr(func, _KEYWORDS)


def arg_scoped_arguments(func: Callable[..., Any]) -> tuple[str, ...]:
    """The keywords that a scope can give to a function. Raises ValueError where it is not decorated."""
    _check(func)
    return getattr(func, _KEYWORDS)


def _check(func: Callable[..., Any]) -> None:
    if not has_arg_scope(func):
        raise ValueError(f"{func.__module__}.{func.__name__} is not decorated with @add_arg_scope.")


@decorators.contextmanager
def arg_scope(list_ops_or_scope: Sequence[Callable[..., Any]] | Scope, **kwargs: Any) -> Iterator[Scope]:
    """Inside, calls of some functions take keywords as their defaults; what an outer scope says holds too.

    Args:
      list_ops_or_scope: a list or tuple of functions decorated with ``add_arg_scope``, or a scope to open again.
      kwargs: the keywords; none for a scope.

    Yields:
      the scope, a dictionary from the key of each function to its keywords.

    Raises:
      TypeError: neither a list nor a dictionary. ValueError: a function that is not decorated, or keywords for a scope.
    """
    if isinstance(list_ops_or_scope, dict):
        if kwargs:
            raise ValueError("When attempting to re-use a scope by suppling a dictionary, kwargs must be empty.")
        scope = list_ops_or_scope.copy()
    elif isinstance(list_ops_or_scope, list | tuple):
        scope = _extended(current_arg_scope(), list_ops_or_scope, kwargs)
    else:
        raise TypeError(
            f"list_ops_or_scope must either be a list/tuple or reused scope (i.e. dict), got {list_ops_or_scope!r}."
        )
    _scopes.open.append(scope)
    try:
        yield scope
    finally:
        _scopes.open.pop()


def _extended(scope: Scope, functions: Sequence[Callable[..., Any]], keywords: Mapping[str, Any]) -> Scope:
    scope = scope.copy()
    for function in functions:
        _check(function)
        key = arg_scope_func_key(function)
        scope[key] = {**scope.get(key, {}), **keywords}
    return scope
