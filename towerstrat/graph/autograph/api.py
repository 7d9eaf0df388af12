"""``tf.autograph``: functions whose Python control flow over tensors becomes graph operations.

The conversion rewrites a function's syntax tree so that statements become calls of operators (``ag__``), which look at
their operands while the function is traced: Python values take Python's way, tensors of a graph are staged.

    def f(x):                                    ag__.if_stmt(
        if x > 0:                                    cond=x > 0,             a tensor: tf.cond of both branches
            x = x * 2                                body=..., orelse=...,   a bool: one of them is called
        return x                                     get_state, set_state)   the values of x

In order: ``source`` finds the tree of a code object, ``front`` rewrites it, ``conversion`` compiles and caches it,
``calls`` converts the functions that converted code calls; the operators are in ``conditionals``, ``loops``,
``iteration``, ``logical`` and ``builtins``. Code that cannot be converted runs as it is; if it asks a tensor for its
truth value, the error says why it was not converted.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from types import FunctionType
from typing import Any

from towerstrat.graph.autograph import calls, status
from towerstrat.graph.autograph.calls import like_caller
from towerstrat.graph.autograph.conversion import Converted, Left, conversion_of, set_level
from towerstrat.graph.autograph.options import Feature, options_for, set_loop_options
from towerstrat.graph.ir.user_lines import Status


def converted(function: Any, recursive: bool = True, optional_features: Any = None) -> Any:
    """``function`` with its control flow over tensors as graph operations.

    Statements whose conditions and iterables are Python values run as Python, when the function is called. Code that
    cannot be converted (without source, generators) runs as it is; a tensor that is asked for its truth value there
    raises, and says which code was not converted, and why.

    Args:
      function: a function, method, ``functools.partial`` or object with ``__call__``.
      recursive: convert the functions that it calls too, except those of installed packages.
      optional_features: a ``Feature``, several, or None.
    """
    options = options_for(recursive, optional_features)

    def call(*args: Any, **kwargs: Any) -> Any:
        with status.entered(Status.ENABLED, options):
            target, first = calls.target_of(function, args, options, requested=True)
            return target(*first, **kwargs)

    if inspect.isfunction(function) or inspect.ismethod(function):
        functools.update_wrapper(call, function)
    return call


def do_not_convert(func: Callable[..., Any] | None = None) -> Any:
    """Decorator that runs ``func``, and all that it calls, as written, in converted code too."""
    if func is None:
        return do_not_convert

    def call(*args: Any, **kwargs: Any) -> Any:
        with status.entered(Status.DISABLED):
            return func(*args, **kwargs)

    if inspect.isfunction(func) or inspect.ismethod(func):
        functools.update_wrapper(call, func)
    return call


def to_graph(entity: Any, recursive: bool = True, experimental_optional_features: Any = None) -> Any:
    """The converted form of a function, without a check that a graph is being built.

    Args:
      entity: a function or method; a method's converted form takes ``self`` as its first argument.
      recursive: convert the functions that it calls too, except those of installed packages.
      experimental_optional_features: a ``Feature``, several, or None.

    Raises:
      ValueError: it cannot be converted; the message says why.
    """
    _conversion_of(entity, recursive, experimental_optional_features)
    return converted(_function_of(entity), recursive, experimental_optional_features)


def to_code(entity: Any, recursive: bool = True, experimental_optional_features: Any = None) -> str:
    """The text of the converted form of a function. Raises ValueError as ``to_graph`` does."""
    return _conversion_of(entity, recursive, experimental_optional_features).code


def _conversion_of(entity: Any, recursive: bool, features: Any) -> Converted:
    function = _function_of(entity)
    conversion = conversion_of(function, options_for(recursive, features), requested=True)
    if isinstance(conversion, Left):
        raise ValueError(f"{function.__qualname__} cannot be converted: {conversion.reason}.")
    return conversion


def _function_of(entity: Any) -> FunctionType:
    entity = getattr(entity, "python_function", entity)
    entity = getattr(entity, "__func__", entity)
    if not isinstance(entity, FunctionType):
        raise ValueError(f"Expected a function or method written in Python, got {entity!r}.")
    return entity


def set_verbosity(level: int, alsologtostdout: bool = False) -> None:
    """Set how much is logged about conversions, as the environment variable AUTOGRAPH_VERBOSITY does.

    Args:
      level: 0: nothing. From 1: the code that is converted, into what, and the code that is not, and why.
      alsologtostdout: print it too.
    """
    set_level(level, alsologtostdout)


def trace(*args: Any) -> None:
    """Print the arguments when the function is traced."""
    print(*args)


__all__ = ["Feature", "converted", "do_not_convert", "like_caller", "set_loop_options", "set_verbosity",
           "to_code", "to_graph", "trace"]  # fmt: skip
