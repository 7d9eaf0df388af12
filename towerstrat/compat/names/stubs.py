"""Corners: names of the original that towerstrat does not have, to be imported and mentioned, but not used."""

from __future__ import annotations

import dis
import functools
import inspect
import itertools
import linecache
import sys
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any, NoReturn, TypeVar, Union

from towerstrat.compat.names import bases, missing_names
from towerstrat.graph.ir.composite_values import Convertible, Fetchable
from towerstrat.graph.ir.types import DType

_C = TypeVar("_C", bound=type)
_OF_VALUES = {"dtype", "shape", "ndim"}
"""Attributes by which numpy and JAX recognise arrays: a corner is none."""
_USES = """
    __bool__ __iter__ __len__ __getitem__ __contains__ __enter__ __exit__ __int__ __float__ __complex__ __index__
    __array__ __lt__ __le__ __gt__ __ge__ __neg__ __pos__ __abs__ __invert__ __add__ __radd__ __sub__ __rsub__ __mul__
    __rmul__ __truediv__ __rtruediv__ __floordiv__ __rfloordiv__ __mod__ __rmod__ __pow__ __rpow__ __matmul__
    __rmatmul__ __and__ __rand__ __xor__ __rxor__ __lshift__ __rlshift__ __rshift__ __rrshift__"""
"""What a corner refuses, besides calls."""


def _refuses(kind: _C) -> _C:
    """Gives a class the methods of ``_USES``."""

    def refuse(self: MissingName, *args: Any) -> NoReturn:
        raise self._error()

    for name in _USES.split():
        setattr(kind, name, refuse)
    return kind


@functools.cache
def stub_of(name: str, api: int, mount: str) -> MissingName | type[Exception]:
    """The object that stands for a missing name; names of errors are classes of exceptions that nothing raises.

    Args:
      name: the dotted name, such as ``tf.keras.Model``. api: 1 or 2. mount: what programs call that namespace.
    """
    found = MissingName(name, api, mount)
    if name.endswith(("Error", "Exception")):
        return _refusing_class(found, Exception)
    return found


@_refuses
class MissingName(Convertible, Fetchable):
    """A missing class, function or constant of the original, or what is below one.

    It can be a base class, a default argument, an annotation, an entry of a table, the second argument of
    ``isinstance``, a decorator. Instances of classes here that derive from it in the original are its instances.
    Calling it, making an instance of a class derived from it, calling what it decorates, and asking for its value raise
    UnknownSymbolError.
    """

    is_tensor_like = False

    def __init__(self, name: str, api: int, mount: str):
        self._place = (name, api, mount)
        module, _, self.__name__ = name.rpartition(".")
        self.__qualname__ = self.__name__
        self.__module__ = missing_names.place(module, mount).replace("tf", "tensorflow", 1)
        self.__bases__ = (object,)

    def _error(self) -> AttributeError:
        return missing_names.missing(*self._place)

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        # `inspect.isclass` and `functools.singledispatch` ask: a capital letter is what tells.
        return type if self.__name__[:1].isupper() else MissingName

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name in _OF_VALUES:
            raise AttributeError(f"{self!r} has no attribute {name!r}")
        public, api, mount = self._place
        return stub_of(f"{public}.{name}", api, mount)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        written = _decorator(sys._getframe(1))
        if written is None:
            raise self._error()
        # `@corner(...)` calls twice: first for the decorator.
        return self._decorated if written.endswith(")") else self._decorated(*args)

    def _decorated(self, decorated: Any) -> Any:
        """What a missing decorator makes of a function or a class: calling it is what fails."""
        if isinstance(decorated, type):
            return _without_instances(decorated, self._error)

        @functools.wraps(decorated)
        def refuse(*args: Any, **kwargs: Any) -> NoReturn:
            raise self._error()

        return refuse

    @functools.cached_property
    def _base(self) -> type[Any]:
        return _refusing_class(self)

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[type[Any]]:
        return (self._base,)

    def __instancecheck__(self, instance: Any) -> bool:
        return self.__subclasscheck__(type(instance))

    def __subclasscheck__(self, subclass: Any) -> bool:
        above = {self._base, *bases.derived(*self._place[:2])}
        return subclass is self or (
            inspect.isclass(subclass) and not above.isdisjoint(getattr(subclass, "__mro__", ()))
        )

    def __eq__(self, other: object) -> bool:
        # The originals' constants are strings and numbers; which one this is, is not known.
        if isinstance(other, str | bytes | int | float):
            raise self._error()
        return self is other

    __hash__ = object.__hash__

    def __or__(self, other: Any) -> Any:
        return Union[self, other]  # noqa: UP007 - an annotation, as of classes

    def __ror__(self, other: Any) -> Any:
        return Union[other, self]  # noqa: UP007

    def _to_tensor(self, dtype: DType | None, name: str | None) -> NoReturn:
        raise self._error()

    def _fetch_parts(self) -> tuple[Sequence[Any], Callable[[list[Any]], Any]]:
        raise self._error()

    def __repr__(self) -> str:
        return f"<{self.__module__.replace('tensorflow', 'tf', 1)}.{self.__name__}, which towerstrat does not have>"

    def __reduce__(self) -> tuple[Any, ...]:
        return stub_of, self._place


def _refusing_class(missing: MissingName, *bases: type[Any]) -> type[Any]:
    """A class that has no instances, nor has any class derived from it."""

    class Base(*bases):  # type: ignore[misc]
        def __init_subclass__(cls, **kwargs: Any) -> None:
            super().__init_subclass__(**kwargs)
            # Whichever base comes first, and whatever the class itself makes.
            _without_instances(cls, missing._error)

    Base.__name__, Base.__qualname__, Base.__module__ = missing.__name__, missing.__qualname__, missing.__module__
    return _without_instances(Base, missing._error)


def _without_instances(cls: type[Any], error: Callable[[], AttributeError]) -> type[Any]:
    def refuse(cls: type[Any], *args: Any, **kwargs: Any) -> NoReturn:
        raise error()

    cls.__new__ = staticmethod(refuse)  # type: ignore[assignment]
    return cls


def _decorator(frame: FrameType) -> str | None:
    """The last line of the call that a frame executes, up to its end, where the call is written after ``@``."""
    code = frame.f_code
    line, end_line, start, end = next(itertools.islice(code.co_positions(), frame.f_lasti // 2, None))
    if line is None or end_line is None:
        return None
    if linecache.getline(code.co_filename, line, frame.f_globals).encode()[:start].strip() != b"@":
        return None
    return linecache.getline(code.co_filename, end_line, frame.f_globals).encode()[:end].decode()


def is_probing(frame: FrameType) -> bool:
    """Whether a frame asks for an attribute by calling ``hasattr`` or ``getattr``, where a program might do without."""
    code = frame.f_code
    by_import = code.co_filename.startswith("<frozen importlib")
    return not by_import and dis.opname[code.co_code[frame.f_lasti]].startswith("CALL")
