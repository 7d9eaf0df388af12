"""Notices of deprecation that a program gives its own users: ``tensorflow.python.util.deprecation``."""

from __future__ import annotations

import functools
import inspect
import re
import sys
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any, NoReturn

from towerstrat.compat.utilities import decorators, inspection
from towerstrat.graph.eager.mode import executing_eagerly
from towerstrat.platform import logs

Decorator = Callable[[Any], Any]


class DeprecatedNamesAlreadySet(Exception):
    """``deprecated_endpoints`` twice on one symbol."""


class _Notices:
    """Whether notices are logged. Programs turn them off by ``silence``."""

    def __init__(self) -> None:
        self.silent = False


_notices = _Notices()


@decorators.contextmanager
def silence() -> Iterator[None]:
    """Inside, no notice is logged."""
    before, _notices.silent = _notices.silent, True
    try:
        yield
    finally:
        _notices.silent = before


class _Once:
    """Logs each notice once, or each time.

    Args:
      warn_once: which of the two.
    """

    def __init__(self, warn_once: bool):
        self._warn_once = warn_once
        self._said: set[Hashable] = set()

    def say(self, what: Hashable, message: str, *args: Any) -> None:
        """Logs ``From FILE:LINE: message``, the line that called the wrapper that calls this."""
        if _notices.silent or what in self._said:
            return
        if self._warn_once:
            self._said.add(what)
        frame = sys._getframe(2)
        logs.warning(f"From %s:%s: {message}", frame.f_code.co_filename, frame.f_lineno, *args)


def _when(date: str | None) -> str:
    return "in a future version" if date is None else f"after {date}"


def _check(date: str | None, instructions: str) -> None:
    if date is not None and not re.match(r"20\d\d-[01]\d-[0123]\d", date):
        raise ValueError(f"Date must be YYYY-MM-DD, got {date!r}.")
    if not instructions:
        raise ValueError("Don't deprecate things without conversion instructions!")


def _noted(doc: str | None, what: str, notice: str, instructions: str) -> str:
    """A docstring whose first line says that ``what``, such as ``arguments``, is deprecated, with a notice below it."""
    if doc:
        first, *rest = inspect.cleandoc(doc).splitlines()
        first += f" (deprecated{what})"
    else:
        first, rest = f"DEPRECATED FUNCTION{what.upper()}", []
    distance = [""] if rest and rest[0].strip() else []
    return "\n".join([first, "", notice, "Instructions for updating:", instructions, *distance, *rest])


def deprecated(date: str | None, instructions: str, warn_once: bool = True) -> Decorator:
    """Decorator: calls log that the function is deprecated; a class stays one, and logs where it is made.

    Args:
      date: when it goes, YYYY-MM-DD, or None. instructions: what to use instead.
      warn_once: whether one notice is enough.

    Raises:
      ValueError: another form of date, or no instructions.
    """
    _check(date, instructions)

    def decorate(func: Any) -> Any:
        decorators.validate_callable(func, "deprecated")
        if isinstance(func, type):
            constructor = "__init__" if func.__new__ is object.__new__ else "__new__"
            setattr(func, constructor, decorate(getattr(func, constructor)))
            return func
        notices = _Once(warn_once)

        @functools.wraps(func)
        def call(*args: Any, **kwargs: Any) -> Any:
            notices.say(
                None,
                "%s (from %s) is deprecated and will be removed %s.\nInstructions for updating:\n%s",
                decorators.get_qualified_name(func), func.__module__, _when(date), instructions,
            )  # fmt: skip
            return func(*args, **kwargs)

        notice = f"THIS FUNCTION IS DEPRECATED. It will be removed {_when(date)}."
        return decorators.make_decorator(func, call, "deprecated", _noted(func.__doc__, "", notice, instructions))

    return decorate


def deprecated_alias(deprecated_name: str, name: str, func_or_class: Any, warn_once: bool = True) -> Any:
    """The function, or a class derived from the class, that logs when it is used under its deprecated name."""
    notices = _Once(warn_once)
    message = "The name %s is deprecated. Please use %s instead.\n"
    if inspect.isclass(func_or_class):

        class Alias(func_or_class):
            def __init__(self, *args: Any, **kwargs: Any) -> None:
                notices.say(None, message, deprecated_name, name)
                super().__init__(*args, **kwargs)

        Alias.__name__, Alias.__qualname__ = func_or_class.__name__, func_or_class.__qualname__
        Alias.__module__ = func_or_class.__module__
        return Alias
    decorators.validate_callable(func_or_class, "deprecated")

    @functools.wraps(func_or_class)
    def call(*args: Any, **kwargs: Any) -> Any:
        notices.say(None, message, deprecated_name, name)
        return func_or_class(*args, **kwargs)

    doc = _noted(func_or_class.__doc__, "", f"THIS FUNCTION IS DEPRECATED. It will be removed {_when(None)}.",
                 f"Please use {name} instead.")  # fmt: skip
    return decorators.make_decorator(func_or_class, call, "deprecated", doc)


def deprecated_endpoints(*args: str) -> Decorator:
    """Decorator: notes deprecated names on a symbol. Raises DeprecatedNamesAlreadySet where it has some."""

    def decorate(func: Any) -> Any:
        if "_tf_deprecated_api_names" in func.__dict__:
            raise DeprecatedNamesAlreadySet(
                f"Cannot set deprecated names for {func.__name__} to {args}. Deprecated names are already set to "
                f"{func._tf_deprecated_api_names}."
            )
        func._tf_deprecated_api_names = args
        return func

    return decorate


def deprecated_args(
    date: str | None,
    instructions: str,
    *deprecated_arg_names_or_tuples: str | tuple[str, Any],
    warn_once: bool = True,
) -> Decorator:
    """Decorator: calls that give certain arguments log that these are deprecated, where operations build a graph.

    Args:
      deprecated_arg_names_or_tuples: names; with a value, ``(name, value)``, giving that one is silent.
      The others: see ``deprecated``.

    Raises:
      ValueError: no such argument, or as ``deprecated``.
    """
    _check(date, instructions)
    if not deprecated_arg_names_or_tuples:
        raise ValueError("Specify which argument is deprecated.")
    given = [entry if isinstance(entry, tuple) else (entry,) for entry in deprecated_arg_names_or_tuples]
    allowed = {name: values for name, *values in given}

    def decorate(func: Any) -> Any:
        decorators.validate_callable(func, "deprecated_args")
        spec = inspection.getfullargspec(func)
        known = [*spec.args, spec.varargs, spec.varkw]
        unknown = [name for name in allowed if name not in known]
        if unknown:
            raise ValueError(
                f"The following deprecated arguments are not present in the function signature: {unknown}. Found next "
                f"arguments: {known}."
            )
        notices = _Once(warn_once)

        @functools.wraps(func)
        def call(*args: Any, **kwargs: Any) -> Any:
            for name in _deprecated_in(func, spec, allowed, args, kwargs) if not executing_eagerly() else ():
                notices.say(name, _CALLING, *_called(func, name), _when(date), instructions)
            return func(*args, **kwargs)

        names = ", ".join(sorted(allowed))
        notice = f"SOME ARGUMENTS ARE DEPRECATED: `({names})`. They will be removed {_when(date)}."
        doc = _noted(func.__doc__, " arguments", notice, instructions)
        return decorators.make_decorator(func, call, "deprecated", doc)

    return decorate


_CALLING = "calling %s (from %s) with %s is deprecated and will be removed %s.\nInstructions for updating:\n%s"


def _called(func: Any, argument: str) -> tuple[str, str, str]:
    return decorators.get_qualified_name(func), func.__module__, argument


def _deprecated_in(
    func: Any,
    spec: inspection.FullArgSpec,
    allowed: dict[str, list[Any]],
    args: Sequence[Any],
    kwargs: dict[str, Any],
) -> Iterator[str]:
    """The deprecated arguments that a call gives."""
    values = inspection.getcallargs(func, *args, **kwargs)
    by_name = {*spec.args[: len(args)], *kwargs}
    for name, silent in allowed.items():
        if name in by_name:
            given = not any(_same(values[name], value) for value in silent)
        else:
            given = len(args) > len(spec.args) if name == spec.varargs else name == spec.varkw and bool(kwargs)
        if given:
            yield name


def _same(a: Any, b: Any) -> bool:
    if a is b:
        return True
    try:
        equal = a == b
    except TypeError:
        return False
    return equal if isinstance(equal, bool) else False


def deprecated_arg_values(
    date: str | None, instructions: str, warn_once: bool = True, **deprecated_kwargs: Any
) -> Decorator:
    """Decorator: calls that give certain arguments certain values log that these are deprecated.

    Args:
      deprecated_kwargs: the arguments and values. The others: see ``deprecated``.

    Raises:
      ValueError: no argument, or as ``deprecated``.
    """
    _check(date, instructions)
    if not deprecated_kwargs:
        raise ValueError("Specify which argument values are deprecated.")

    def decorate(func: Any) -> Any:
        decorators.validate_callable(func, "deprecated_arg_values")
        notices = _Once(warn_once)

        @functools.wraps(func)
        def call(*args: Any, **kwargs: Any) -> Any:
            values = inspection.getcallargs(func, *args, **kwargs)
            for name, value in deprecated_kwargs.items():
                if name in values and _same(values[name], value):
                    notices.say(name, _CALLING, *_called(func, f"{name}={value}"), _when(date), instructions)
            return func(*args, **kwargs)

        shown = ", ".join(f"{name}={value!r}" for name, value in sorted(deprecated_kwargs.items()))
        notice = f"SOME ARGUMENT VALUES ARE DEPRECATED: `({shown})`. They will be removed {_when(date)}."
        doc = _noted(func.__doc__, " argument values", notice, instructions)
        return decorators.make_decorator(func, call, "deprecated", doc)

    return decorate


def deprecated_argument_lookup(new_name: str, new_value: Any, old_name: str, old_value: Any) -> Any:
    """The value of an argument that has two names. Raises ValueError where both are given."""
    if old_value is None:
        return new_value
    if new_value is not None:
        raise ValueError(f"Cannot specify both '{old_name}' and '{new_name}'")
    return old_value


def rewrite_argument_docstring(old_doc: str, old_argument: str, new_argument: str) -> str:
    """A docstring with another name of an argument."""
    renamed = old_doc.replace(f"`{old_argument}`", f"`{new_argument}`")
    return renamed.replace(f"{old_argument}:", f"{new_argument}:")


def hide_attribute_from_api(message: str) -> property:
    """An attribute that hides one of a base class: asking an instance for it raises AttributeError with ``message``."""

    def refuse(instance: Any) -> NoReturn:
        raise AttributeError(message)

    return property(refuse)
