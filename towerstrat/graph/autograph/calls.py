"""Calls in converted code: functions of the user are converted too, those of packages run as they are.

A converted ``f(x)`` is ``ag__.converted_call(f, (x,), None, scope)``, which calls

    a builtin with an overload     its form for tensors (``builtins``): len, range, max, ...
    a function of the user         its converted form, with the same globals, closure and defaults
    a function of this package     itself; functions that it is given as arguments are converted (tf.map_fn(fn, ...))
    any other                      itself; the reason is noted for error messages
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Mapping
from types import BuiltinFunctionType, FunctionType, MethodType, SimpleNamespace
from typing import Any

from towerstrat.graph.autograph import conditionals, iteration, logical, loops, scopes, variables
from towerstrat.graph.autograph.assertions import assert_stmt
from towerstrat.graph.autograph.builtins import IN_CALLER, OVERLOADS, in_caller, print_
from towerstrat.graph.autograph.conversion import Converted, conversion_of, is_ours
from towerstrat.graph.autograph.methods import WeakMethod
from towerstrat.graph.autograph.options import Feature, Options
from towerstrat.graph.autograph.scopes import FunctionScope
from towerstrat.graph.autograph.status import current_options, entered
from towerstrat.graph.ir.user_lines import CONVERSION, Status, note_reason


def converted_call(f: Any, args: tuple[object, ...], kwargs: Mapping[str, Any] | None, scope: FunctionScope) -> Any:
    """Call ``f(*args, **kwargs)`` from converted code."""
    kind = type(f)
    if kind is BuiltinFunctionType or kind is type:
        key = id(f)
        if key in OVERLOADS:
            f = OVERLOADS[key]
        elif key in IN_CALLER:
            return in_caller(f, args, kwargs, 1)
        elif f is print and scope.options.uses(Feature.BUILTIN_FUNCTIONS):
            f = print_
        elif kind is type and isinstance(f.__init__, FunctionType):
            note_reason(f.__init__.__code__, "it is a constructor")
    elif scope.options.recursive and CONVERSION.status is not Status.DISABLED:
        f, args = target_of(f, args, scope.options)
        if is_ours(f):
            args = tuple([_callback(a) for a in args])
            kwargs = {k: _callback(v) for k, v in kwargs.items()} if kwargs else kwargs
    return f(*args, **kwargs) if kwargs else f(*args)


def _callback(value: Any) -> object:
    """Convert an argument of a function of this package, where it is a function of the user's that may be called."""
    return like_caller(value) if type(value) in (FunctionType, MethodType) and not is_ours(value) else value


def like_caller(function: Callable[..., Any]) -> Callable[..., Any]:
    """``function``, converted if this is called below converted code: for functions that call their arguments."""
    if CONVERSION.status is not Status.ENABLED or not current_options().recursive:
        return function
    options = current_options()

    def call(*args: Any, **kwargs: Any) -> Any:
        with entered(Status.ENABLED, options):
            target, first = target_of(function, args, options)
            return target(*first, **kwargs)

    return functools.update_wrapper(call, function)


def target_of(
    f: Any, args: tuple[object, ...], options: Options, requested: bool = False
) -> tuple[Callable[..., Any], tuple[object, ...]]:
    """(callable, positional arguments) to use instead of ``f`` and ``args``: its converted form, or ``f`` itself.

    Args:
      f: a callable of any kind; methods, partials and objects with ``__call__`` are taken apart.
      args: the positional arguments of the call.
      options: of the conversion; part of the key of converted code.
      requested: the user asked for this function, wherever its code lies.
    """
    if isinstance(f, functools.partial):
        target, bound = target_of(f.func, f.args, options, requested)
        if target is f.func:
            return f, args
        return functools.partial(target, **f.keywords), (*bound, *args)
    function, first = f, args
    if isinstance(f, MethodType | WeakMethod):
        function, first = f.__func__, (f.__self__, *args)
    elif not isinstance(f, FunctionType):
        if isinstance(f, type) or not callable(f):
            return f, args
        function, first = type(f).__call__, (f, *args)
    if not isinstance(function, FunctionType):
        return f, args
    conversion = conversion_of(function, options, requested)
    if isinstance(conversion, Converted):
        return conversion.bind(function, operators(options)), first
    return f, args


@functools.cache
def operators(options: Options) -> SimpleNamespace:
    """The namespace that is ``ag__`` in converted code."""
    return SimpleNamespace(
        options=options,
        FunctionScope=scopes.FunctionScope,
        with_function_scope=scopes.with_function_scope,
        Undefined=variables.Undefined,
        UndefinedReturnValue=variables.UndefinedReturnValue,
        ld=variables.ld,
        ldu=variables.ldu,
        if_stmt=conditionals.if_stmt,
        if_exp=conditionals.if_exp,
        while_stmt=loops.while_stmt,
        for_stmt=iteration.for_stmt,
        and_=logical.and_,
        or_=logical.or_,
        not_=logical.not_,
        eq=logical.eq,
        not_eq=logical.not_eq,
        assert_stmt=assert_stmt,
        converted_call=converted_call,
        caught=lambda: sys.exc_info()[1],
        autograph_artifact=lambda function: function,
    )
