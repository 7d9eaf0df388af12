"""``inspect`` that sees through decorators: ``tensorflow.python.util.tf_inspect`` and ``function_utils``."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from inspect import (  # noqa: F401 - the same here
    FullArgSpec,
    getframeinfo,
    getmembers,
    getmodule,
    getmro,
    isframe,
    isgenerator,
    ismodule,
    signature,
    stack,
    unwrap,
)
from types import CodeType, FrameType
from typing import Any, NamedTuple

from towerstrat.compat.utilities import decorators


class ArgSpec(NamedTuple):
    """A signature without keyword-only arguments, as ``inspect.getargspec`` of Python 2 gave it."""

    args: list[str]
    varargs: str | None
    keywords: str | None
    defaults: tuple[Any, ...] | None


def _of_target(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of ``inspect`` that is asked about what is decorated in the end."""

    @functools.wraps(function)
    def inspected(object: Any) -> Any:
        return function(decorators.unwrap(object)[1])

    return inspected


getfile = _of_target(inspect.getfile)
getsource = _of_target(inspect.getsource)
getsourcefile = _of_target(inspect.getsourcefile)
getsourcelines = _of_target(inspect.getsourcelines)
isbuiltin = _of_target(inspect.isbuiltin)
isclass = _of_target(inspect.isclass)
isfunction = _of_target(inspect.isfunction)
isgeneratorfunction = _of_target(inspect.isgeneratorfunction)
ismethod = _of_target(inspect.ismethod)
isroutine = _of_target(inspect.isroutine)


def currentframe() -> FrameType:
    """The frame of the caller."""
    return sys._getframe(1)


def getdoc(object: Any) -> str | None:
    """The docstring of an object, of its outermost decorator where it is decorated."""
    return inspect.getdoc(object)


def getargspec(obj: Any) -> ArgSpec:
    """The signature of a callable as ArgSpec: that of the outermost decorator that has one, else the target's.

    Raises:
      ValueError: a ``functools.partial`` gives a value to an argument before one that has none.
    """
    if isinstance(obj, functools.partial):
        return _argspec_of_partial(obj)
    return ArgSpec(*getfullargspec(obj)[:4])


def _argspec_of_partial(obj: functools.partial[Any]) -> ArgSpec:
    names, varargs, keywords, defaults = getargspec(obj.func)
    given = dict(zip(names[len(names) - len(defaults or ()) :], defaults or (), strict=True))
    names = names[len(obj.args) :]
    if not keywords and set(obj.keywords) - set(names):
        raise ValueError("Function does not have **kwargs parameter, but contains an unknown partial keyword.")
    given = {name: value for name, value in (given | obj.keywords).items() if name in names}
    first = next((i for i, name in enumerate(names) if name in given), len(names))
    without = [name for name in names[first:] if name not in given]
    if without:
        raise ValueError(
            f"Some arguments {without} do not have default value, but they are positioned after those with default "
            "values. This can not be expressed with ArgSpec."
        )
    return ArgSpec(names, varargs, keywords, tuple(given[name] for name in names[first:]) or None)


def getfullargspec(obj: Any) -> FullArgSpec:
    """The signature of a callable: that of the outermost decorator that has one, else the target's."""
    found, target = decorators.unwrap(obj)
    for decorator in found:
        spec = decorator.decorator_argspec
        if spec is not None:
            return (
                spec if isinstance(spec, FullArgSpec) else FullArgSpec(spec[0], spec[1], spec[2], spec[3], [], None, {})
            )
    spec = inspect.getfullargspec(target)
    # The originals' functions have no annotations, and libraries compare specifications with those of their own.
    return spec._replace(annotations={}) if _is_ours(target) else spec


def _is_ours(target: Any) -> bool:
    return (getattr(target, "__module__", None) or "").partition(".")[0] == "towerstrat"


def getcallargs(func: Any, /, *positional: Any, **named: Any) -> dict[str, Any]:
    """The values that the arguments of a callable take in a call, by name."""
    spec = getfullargspec(func)
    bound = getattr(func, "__self__", None)
    if inspect.ismethod(func) and bound is not None:
        positional = (bound, *positional)
    defaults = spec.defaults or ()
    by_place = zip([name for name in spec.args if name not in named], positional, strict=False)
    by_default = zip(spec.args[len(spec.args) - len(defaults) :], defaults, strict=True)
    return {**dict(by_default), **(spec.kwonlydefaults or {}), **named, **dict(by_place)}


# ---- functions -----------------------------------------------------------------------------------------------------


def _called(fn: Any) -> Any:
    """The method that calling an object calls, or the function itself."""
    call = getattr(fn, "__call__", None)  # noqa: B004 - not whether, but what
    return call if inspect.ismethod(call) else fn


def fn_args(fn: Any) -> tuple[str, ...]:
    """The names of the arguments that a callable still takes: without ``self``, and those that a partial gives."""
    if isinstance(fn, functools.partial):
        names = fn_args(fn.func)[len(fn.args) :]
        return tuple(name for name in names if name not in fn.keywords)
    fn = _called(fn)
    names = tuple(getfullargspec(fn).args)
    return names[1:] if inspect.ismethod(decorators.unwrap(fn)[1]) else names


def has_kwargs(fn: Any) -> bool:
    """Whether a callable takes any keyword. Raises TypeError for what cannot be called."""
    if isinstance(fn, functools.partial):
        fn = fn.func
    if not callable(fn):
        raise TypeError(f"fn should be a function-like object, but is of type {type(fn)}.")
    return getfullargspec(_called(fn)).varkw is not None


def get_func_name(func: Any) -> str:
    """The name of a callable, ``Class.method`` for a method. Raises ValueError for what cannot be called."""
    target = _callable(func)
    if inspect.isfunction(target):
        return target.__name__
    if inspect.ismethod(target):
        return f"{type(target.__self__).__name__}.{target.__func__.__name__}"
    return str(type(target))


def get_func_code(func: Any) -> CodeType | None:
    """The code of a callable, None where it has none. Raises ValueError for what cannot be called."""
    target = _callable(func)
    if not (inspect.isfunction(target) or inspect.ismethod(target)):
        target = target.__call__
    return getattr(target, "__code__", None)


def _callable(func: Any) -> Any:
    target = decorators.unwrap(func)[1]
    if not callable(target):
        raise ValueError("Argument must be callable")
    return target
