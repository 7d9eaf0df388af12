"""Names that Python and numpy had when the programs were written, and have not any more.

``install`` gives the modules that had them a ``__getattr__``, now or when they are imported; modules that are gone are
found by a finder that comes last. A name is looked up when it is asked for, and said once on standard error. It needs
nothing but the standard library: children of a program load it without towerstrat.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

_ABC = """
    AsyncGenerator AsyncIterable AsyncIterator Awaitable ByteString Callable Collection Container Coroutine Generator
    Hashable ItemsView Iterable Iterator KeysView Mapping MappingView MutableMapping MutableSequence MutableSet
    Reversible Sequence Set Sized ValuesView"""
_NUMPY = """
    bool=bool complex=complex float=float int=int long=int object=object str=str unicode=str
    Inf=numpy.inf Infinity=numpy.inf NAN=numpy.nan NINF=.numpy_names.NINF NZERO=.numpy_names.NZERO NaN=numpy.nan
    PINF=numpy.inf
    PZERO=.numpy_names.PZERO infty=numpy.inf
    bool8=numpy.bool_ bytes0=numpy.bytes_ cfloat=numpy.complex128 clongfloat=numpy.clongdouble complex_=numpy.complex128
    float_=numpy.float64 int0=numpy.intp longcomplex=numpy.clongdouble longfloat=numpy.longdouble object0=numpy.object_
    singlecomplex=numpy.complex64 str0=numpy.str_ string_=numpy.bytes_ uint0=numpy.uintp unicode_=numpy.str_
    void0=numpy.void
    alltrue=numpy.all cumproduct=numpy.cumprod mat=numpy.asmatrix product=numpy.prod rank=numpy.ndim
    round_=numpy.round row_stack=numpy.vstack sometrue=numpy.any trapz=numpy.trapezoid
    alen=.numpy_names.alen asfarray=.numpy_names.asfarray asscalar=.numpy_names.asscalar cast=.numpy_names.cast
    disp=.numpy_names.disp
    fastCopyAndTranspose=.numpy_names.fastCopyAndTranspose find_common_type=.numpy_names.find_common_type
    in1d=.numpy_names.in1d
    issctype=.numpy_names.issctype issubclass_=.numpy_names.issubclass_ issubsctype=.numpy_names.issubsctype
    maximum_sctype=.numpy_names.maximum_sctype msort=.numpy_names.msort nbytes=.numpy_names.nbytes
    obj2sctype=.numpy_names.obj2sctype
    recfromcsv=.numpy_names.recfromcsv recfromtxt=.numpy_names.recfromtxt sctype2char=.numpy_names.sctype2char
    sctypes=.numpy_names.sctypes
    safe_eval=ast.literal_eval source=inspect.getsource typeDict=numpy.sctypeDict
    AxisError=numpy.exceptions.AxisError ComplexWarning=numpy.exceptions.ComplexWarning
    ModuleDeprecationWarning=numpy.exceptions.ModuleDeprecationWarning RankWarning=numpy.exceptions.RankWarning
    TooHardError=numpy.exceptions.TooHardError VisibleDeprecationWarning=numpy.exceptions.VisibleDeprecationWarning
    DataSource=numpy.lib.npyio.DataSource byte_bounds=numpy.lib.array_utils.byte_bounds
    compare_chararrays=numpy.char.compare_chararrays
    format_parser=numpy.rec.format_parser
    math=math sys=sys warnings=warnings"""
_STANDARD = {
    "asyncio": "coroutine=types.coroutine",
    "base64": "decodestring=base64.decodebytes encodestring=base64.encodebytes",
    "cgi": "escape=.stdlib_functions.escape parse_qs=urllib.parse.parse_qs parse_qsl=urllib.parse.parse_qsl",
    "collections": " ".join(f"{name}=collections.abc.{name}" for name in _ABC.split()),
    "fractions": "gcd=math.gcd",
    "inspect": "ArgSpec=.stdlib_functions.ArgSpec formatargspec=.stdlib_functions.formatargspec "
    "getargspec=.stdlib_functions.getargspec",
    "os": "errno=errno",
    "platform": "dist=.stdlib_functions.linux_distribution linux_distribution=.stdlib_functions.linux_distribution",
    "time": "clock=time.process_time",
    "numpy": _NUMPY,
}
NAMES = {
    module: dict(entry.split("=") for entry in entries.split()) for module, entries in _STANDARD.items()
}  # fmt: skip
"""Module -> name -> what it is now: a dotted path, a builtin, or with a leading dot one of this package."""
_FOLDER = Path(__file__).parent / "stdlib"
MODULES = {
    "distutils": _FOLDER / "distutils" / "__init__.py",
    "imp": _FOLDER / "imp.py",
    "xml.etree.cElementTree": _FOLDER / "cElementTree.py",
}
"""Modules that are gone, and the files that stand in for them where no other module of that name is found."""
COMPLETED = {"h5py._hl.attrs": ".h5py_attributes.decodable", "numpy": ".numpy_arrays.complete"}
"""Modules whose values were other ones or had other methods, and what completes them, as in ``NAMES``."""

_said: set[str] = set()


def install() -> None:
    """Gives this process the names. A second call changes nothing."""
    if any(type(finder).__qualname__ == _Later.__qualname__ for finder in sys.meta_path):
        return
    sys.meta_path.insert(0, _Later())
    sys.meta_path.append(_Last())
    for name in {**NAMES, **COMPLETED}:
        if name in sys.modules:
            _extend(sys.modules[name])


def resolve(target: str) -> Any:
    """What a value of ``NAMES`` means.

    Raises:
      AttributeError: this version of Python or numpy has not that either.
    """
    if target.startswith("."):
        module, _, name = target[1:].partition(".")
        return getattr(importlib.import_module(f".{module}", __name__), name)
    module, _, name = target.rpartition(".")
    if not module:
        builtins = vars(importlib.import_module("builtins"))
        return builtins[name] if name in builtins else importlib.import_module(name)
    return getattr(importlib.import_module(module), name)


def _extend(module: ModuleType) -> None:
    """Completes a module; lets it answer for the names that it had, and leaves others to its own ``__getattr__``."""
    if module.__name__ in COMPLETED:
        resolve(COMPLETED[module.__name__])(module, _say)
    table = NAMES.get(module.__name__)
    if table is None:
        return
    own: Callable[[str], Any] | None = vars(module).get("__getattr__")

    def __getattr__(name: str) -> Any:
        if name not in table:
            if own is not None:
                return own(name)
            raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")
        value = resolve(table[name])
        now = "one of towerstrat's" if table[name].startswith(".") else table[name]
        _say(f"{module.__name__}.{name}", f"it is {now} here")
        return value

    vars(module)["__getattr__"] = __getattr__


_SERVING = "keras.src."
"""Modules that serve ``tensorflow``: what they use is not the program's."""


def _say(name: str, instead: str) -> None:
    """One line per name, at its first use by a file."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and frame.f_code.co_filename.startswith("<frozen importlib"):
        frame = frame.f_back
    if name in _said or (frame is not None and frame.f_globals.get("__name__", "").startswith(_SERVING)):
        return
    _said.add(name)
    place = f"{frame.f_code.co_filename}:{frame.f_lineno}" if frame is not None else "the program"
    print(f"towerstrat: {place} uses {name}, which is no more: {instead}", file=sys.stderr)


class _Later(MetaPathFinder):
    """Extends modules of ``NAMES`` and ``COMPLETED`` that are imported from now on, whoever finds them."""

    def __init__(self) -> None:
        self._looking: set[str] = set()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname not in (*NAMES, *COMPLETED) or fullname in self._looking:
            return None
        self._looking.add(fullname)
        try:
            spec = importlib.util.find_spec(fullname)
        finally:
            self._looking.discard(fullname)
        execute = getattr(spec and spec.loader, "exec_module", None)
        if spec is not None and execute is not None and hasattr(spec.loader, "__dict__"):

            def exec_module(module: ModuleType) -> None:
                execute(module)
                _extend(module)

            vars(spec.loader)["exec_module"] = exec_module
        return spec


class _Last(MetaPathFinder):
    """Finds modules that are gone, where nothing else of that name is there."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        file = MODULES.get(fullname)
        if file is None:
            return None
        _say(fullname, "towerstrat has what programs used of it")
        return importlib.util.spec_from_file_location(fullname, file)
