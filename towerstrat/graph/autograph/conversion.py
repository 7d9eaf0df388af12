"""Cache and compilation of converted code: per code object the converted form, or the reason why there is none.

``conversion_of`` decides once per (code object, options). Not converted are this package, installed packages (unless
asked for by name), generators and coroutines, code whose source cannot be found, and statements that the front end
refuses.

The converted tree is compiled inside a factory, so that it can be bound to any closure over the same code:

    def ag__factory():
        n = None                      for each free variable of the original, so that it is free in the converted code
        def ag__bound(ag__):
            def tf__f(x): ...         the converted function
            return tf__f
        return ag__bound

``Converted.bound`` makes a function of ag__bound's code with the original's globals and closure cells, calls it with
the operators, and copies defaults and names. Line numbers and names are the user's, so tracebacks show his code.
"""

from __future__ import annotations

import ast
import functools
import inspect
import os
import sysconfig
import threading
import weakref
from collections.abc import Mapping
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any

import towerstrat
from towerstrat.graph.autograph.options import Options, Refused
from towerstrat.graph.autograph.source import SourceError, definition_of
from towerstrat.graph.ir.user_lines import note_reason
from towerstrat.platform import logs
from towerstrat.platform.deferred import Deferred

if TYPE_CHECKING:
    from towerstrat.graph.autograph import front
else:  # its converters take a tenth of the time that JAX takes to import
    front = Deferred("towerstrat.graph.autograph.front")

_OURS = os.path.dirname(os.path.abspath(towerstrat.__file__)) + os.sep
_LIBRARY = tuple(
    os.path.realpath(path) + os.sep
    for path in {sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
)
_INSTALLED = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")
_FUTURE = 0x1FF0000
"""Mask of the flags of ``from __future__`` in ``co_flags``."""
_GENERATORS = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


class Converted:
    """The converted form of one code object.

    Attributes:
      code: the text of the converted function, for people.
    """

    def __init__(self, factory: CodeType, name: str, code: str):
        self.code = code
        self._factory = factory
        self._name = name

    def bind(self, function: FunctionType, operators: object) -> FunctionType:
        """The converted form of ``function``, over its globals, closure and defaults.

        Args:
          function: has the code that was converted; its closure may differ from call to call.
          operators: the value of ``ag__`` in it.
        """
        cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
        closure = tuple(cells[name] for name in self._factory.co_freevars)
        factory = FunctionType(self._factory, function.__globals__, self._name, (), closure)
        form: FunctionType = factory(operators)
        form.__defaults__ = function.__defaults__
        form.__kwdefaults__ = function.__kwdefaults__
        form.__name__ = function.__name__
        form.__qualname__ = function.__qualname__
        form.__doc__ = function.__doc__
        form.__module__ = function.__module__
        return form


def is_ours(function: object) -> bool:
    """Whether a function or method is part of this package."""
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    return code is not None and code.co_filename.startswith(_OURS)


class Left:
    """The reason why a code object stays as it is."""

    def __init__(self, reason: str):
        self.reason = reason


_lock = threading.RLock()
_known: dict[tuple[int, Options], tuple[weakref.ref[CodeType], Converted | Left]] = {}
_CONVERTED = Left("")
_verbosity = int(os.environ.get("AUTOGRAPH_VERBOSITY") or 0)
_printed = False


def set_level(level: int, printed: bool) -> None:
    """Set whether conversions are logged (from level 1 on), and printed too."""
    global _verbosity, _printed
    _verbosity, _printed = level, printed


def conversion_of(function: FunctionType, options: Options, requested: bool = False) -> Converted | Left:
    """The converted form of a function's code, or the reason why there is none.

    Args:
      function: its code object is the key; functions made by one ``def`` share a conversion.
      options: of the conversion, the other part of the key.
      requested: the user asked for this function, wherever its code lies.
    """
    code = function.__code__
    entry = _known.get((id(code), options))
    if entry is not None and entry[0]() is code and not (requested and entry[1] is _INSTALLED_CODE):
        return entry[1]
    with _lock:
        conversion = _decide(function, options, requested)
        _note(code, options, conversion)
    return conversion


def _forget(known: dict[Any, Any], key: Any, _: Any) -> None:
    """Drop the entry of a collected code object. The table is an argument: a process that ends has no globals."""
    known.pop(key, None)


def _note(code: CodeType, options: Options, conversion: Converted | Left) -> None:
    key = (id(code), options)
    _known[key] = (weakref.ref(code, functools.partial(_forget, _known, key)), conversion)
    if isinstance(conversion, Left):
        note_reason(code, conversion.reason)


_INSTALLED_CODE = Left("it lies in an installed package")
_OWN_CODE = Left("it is part of towerstrat")


def _decide(function: FunctionType, options: Options, requested: bool) -> Converted | Left:
    code = function.__code__
    if code.co_filename.startswith(_OURS):
        return _OWN_CODE
    if not requested and _is_installed(code.co_filename):
        return _INSTALLED_CODE
    if code.co_flags & _GENERATORS:
        return Left("it is a generator" if code.co_flags & inspect.CO_GENERATOR else "it is a coroutine")
    conversion: Converted | Left
    try:
        conversion = _convert(function, options)
    except (SourceError, Refused) as error:
        conversion = Left(str(error))
    if _verbosity >= 1:
        text = conversion.code if isinstance(conversion, Converted) else f"left as it is: {conversion.reason}"
        line = f"AutoGraph: {code.co_qualname} ({code.co_filename}:{code.co_firstlineno})\n{text}"
        logs.info("%s", line)
        if _printed:
            print(line)
    return conversion


def _is_installed(filename: str) -> bool:
    if filename.startswith("<frozen"):
        return True
    if filename.startswith("<"):
        return False
    path = os.path.realpath(filename)
    return path.startswith(_LIBRARY) or any(part in path for part in _INSTALLED)


def _convert(function: FunctionType, options: Options) -> Converted:
    code = function.__code__
    rewritten = front.rewrite(definition_of(function), code.co_filename, _namespace(function), options)
    text = "\n".join(ast.unparse(node) for node in rewritten.nodes)
    tree = ast.parse("def ag__factory():\n def ag__bound(ag__):\n  pass\n  return bound\n return ag__bound")
    outer: Any = tree.body[0]
    inner: Any = outer.body[0]
    inner.body[:1] = rewritten.nodes
    inner.body[-1].value.id = rewritten.name
    outer.body[:0] = [ast.Assign([ast.Name(name, ast.Store())], ast.Constant(None)) for name in code.co_freevars]
    ast.fix_missing_locations(tree)
    try:
        module = compile(tree, code.co_filename, "exec", code.co_flags & _FUTURE, dont_inherit=True)
    except (SyntaxError, ValueError, TypeError) as error:
        raise Refused(f"its converted form does not compile: {error}") from error
    names: dict[str, Any] = {}
    exec(module, names)
    factory = names["ag__factory"]().__code__
    factory = _restore_names(factory, code, rewritten.generated, options)
    return Converted(factory, rewritten.name, text)


def _namespace(function: FunctionType) -> Mapping[str, Any]:
    values = dict(function.__globals__)
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            values[name] = cell.cell_contents
        except ValueError:
            values.pop(name, None)
    return values


def _restore_names(factory: CodeType, original: CodeType, generated: frozenset[str], options: Options) -> CodeType:
    """Restore the user's names in the functions inside of a factory, and note that these are converted."""

    def rename(code: CodeType, name: str, qualname: str) -> CodeType:
        code = code.replace(co_name=name, co_qualname=qualname, co_consts=inside(code, name, qualname))
        _note(code, options, _CONVERTED)
        return code

    def inside(code: CodeType, name: str, qualname: str) -> tuple[Any, ...]:
        consts = []
        for const in code.co_consts:
            if isinstance(const, CodeType):
                is_generated = const.co_name in generated
                const = rename(
                    const,
                    name if is_generated else const.co_name,
                    qualname if is_generated else f"{qualname}.<locals>.{const.co_name}",
                )
            consts.append(const)
        return tuple(consts)

    return factory.replace(co_consts=inside(factory, original.co_name, original.co_qualname))
