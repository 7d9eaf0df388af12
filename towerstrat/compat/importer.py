"""``import tensorflow`` in this process only: a finder that answers for ``tensorflow`` and everything below it.

It stands first, so that it answers even where a TensorFlow is installed; nothing is written to disk.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import cache
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from towerstrat.compat.estimator.package_loader import ESTIMATOR
from towerstrat.compat.keras.package_loader import KERAS, NAME
from towerstrat.compat.names import keras_modules, missing_names, name_file, tf_slim
from towerstrat.compat.names.lazy_names import held, named
from towerstrat.compat.names.name_file import Row
from towerstrat.compat.names.namespace import InternalModule, Namespace, build, serve, set_version, tree

ROOT = "tensorflow"


class _Ready(Loader):
    """Hands out a module that exists already."""

    def __init__(self, module: ModuleType):
        self._module = module
        self._own = module.__spec__

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return self._module

    def exec_module(self, module: ModuleType) -> None:
        # A module that is imported by a second name stays what it is.
        module.__spec__ = self._own or spec(module.__name__, module)


def nothing(line: str) -> None:
    """Says nothing."""


def spec(name: str, module: ModuleType) -> ModuleSpec:
    """How a module that exists already is imported by a name."""
    return ModuleSpec(name, _Ready(module), origin="towerstrat", is_package=True)


class Finder(MetaPathFinder):
    """Finds the modules of both trees; what is missing below ``tensorflow`` is an ImportError that says what works.

    Args:
      api: whose names ``tensorflow`` itself has; the other tree is below ``tensorflow.compat``.
      version: what ``tf.__version__`` is; None: the version of that namespace.

    Attributes:
      say: is given a line for the program's user.
      undo: undoes what Keras serves while these names are installed.
      slim: the modules of tf-slim that were loaded before these names were installed.
    """

    undo: Callable[[], None]
    slim: frozenset[str]

    def __init__(self, api: int = 1, version: str | None = None) -> None:
        self.api = api
        roots = [ROOT if api == own else f"{ROOT}.compat.v{own}" for own in (1, 2)]
        first, second = build(roots[0], roots[1], bound, later)
        self._first = first.__name__
        self._modules: dict[str, Namespace] = {m.__name__: m for root in (first, second) for m in tree(root)}
        self._modules[f"{ROOT}.compat.v{api}"] = self._modules[ROOT]
        if version is not None:
            set_version(self._modules[ROOT], version)
        self.say: Callable[[str], None] = nothing
        for path, rows in sorted(name_file.inside().items()):  # a module before those below it
            served = [row for row in rows if row.is_of(api)]
            if served and not keras_modules.serves(path, api):
                self._add_internal(f"{ROOT}.{path}", served)
        if keras_modules.available():
            serve(self._modules[ROOT], "python.keras", api, later)

    @property
    def root(self) -> Namespace:
        """The module ``tensorflow``."""
        return self._modules[ROOT]

    def _add_internal(self, path: str, rows: Sequence[Row]) -> None:
        sources = [source for row in rows if row.attribute == "*" for source in row.module.split()]
        found = tuple(self._modules[self._first + source.removeprefix("tf")] for source in sources)
        own = {row.name.rpartition(".")[2]: named(row, bound) for row in rows if row.attribute != "*"}
        if path not in self._modules:
            self._modules[path] = InternalModule(path, found, own, self.api)
        parent, _, last = path.rpartition(".")
        if parent not in self._modules:
            self._add_internal(parent, ())
        above = held(self._modules[parent])
        # Code inside the public tree keeps its own meaning of a name.
        if last not in above["_deferred"]:
            above.setdefault(last, self._modules[path])

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if fullname in tf_slim.OURS:
            return spec(fullname, tf_slim.OURS[fullname])
        if ESTIMATOR.has(fullname):
            return spec(fullname, ESTIMATOR.module(fullname, nullcontext))
        if fullname == NAME and keras_modules.available() and KERAS.has_name():
            self.say(f"import keras is the package keras 2.15 with the names of {self.api}.x, as tf.keras is")
            return keras_modules.spec(fullname, later)
        if fullname != ROOT and not fullname.startswith(ROOT + "."):
            return None
        return spec(fullname, self.module(fullname))

    def module(self, fullname: str) -> ModuleType:
        """A module below ``tensorflow``. Raises ModuleNotFoundError, which says what works, where there is none."""
        # The trees reach each other without end: only the last step counts, and one's own is none.
        place = re.sub(r"^tensorflow(\.compat\.v[12])+(?=\.compat\.v[12](\.|$))", ROOT, fullname)
        place = re.sub(rf"^tensorflow\.compat\.v{self.api}(?=\.)", ROOT, place)
        module = self._packaged(place) or self._module(place)
        if module is None:
            raise ModuleNotFoundError(self._described(place))
        return module

    def _packaged(self, place: str) -> ModuleType | None:
        """The module of a package that stands there."""
        other = f"{ROOT}.compat.v{3 - self.api}."
        api = 3 - self.api if place.startswith(other) else self.api
        path = place.removeprefix(other).removeprefix(f"{ROOT}.")
        if keras_modules.serves(path, api):
            return keras_modules.Served(path, api, later, self._module(place)).value()
        return tf_slim.module_at(path) if api == 1 else None

    def _module(self, place: str) -> Namespace | None:
        """The module, here or only in an original."""
        if place in self._modules:
            return self._modules[place]
        parent, _, last = place.rpartition(".")
        if parent == ROOT and missing_names.is_module(place, self.api):
            # The originals' root has `compiler` and its kin as an attribute only after an import.
            found: object = Namespace(place, place, self.api)
        else:
            found = getattr(self._module(parent), last, None) if parent else None
        if isinstance(found, keras_modules.View):
            found = found.otherwise
        if isinstance(found, Namespace):
            self._modules[place] = found
            return found
        return None

    def _described(self, place: str) -> str:
        if place.startswith((f"{ROOT}.python", f"{ROOT}.core")) or ".python." in place:
            return missing_names.describe(place, self.api)
        other = 3 - self.api
        mount = f"{ROOT}.compat.v{other}"
        if place.startswith(f"{mount}."):
            return missing_names.describe("tf" + place.removeprefix(mount), other, f"tf.compat.v{other}")
        return missing_names.describe("tf" + place.removeprefix(ROOT), self.api)


def installed() -> Finder | None:
    """The finder at work in this process, or None."""
    return next((f for f in sys.meta_path if isinstance(f, Finder)), None)


def install(api: int = 1, version: str | None = None, say: Callable[[str], None] = nothing) -> None:
    """Makes ``import tensorflow`` mean towerstrat from now on.

    Args:
      api: 1 for the names of 1.x, 2 for those of 2.x.
      version: what ``tf.__version__`` is; None: the version of that namespace.
      say: is given a line for the program's user.

    Raises:
      RuntimeError: another ``tensorflow`` was imported already, or the names of the other one are installed.
    """
    finder = installed()
    if finder is not None:
        if finder.api != api:
            raise RuntimeError(f"tensorflow has the names of {finder.api}.x already; uninstall them first.")
        return
    present = sys.modules.get(ROOT)
    if present is not None:
        raise RuntimeError(
            f"{ROOT} was already imported from {getattr(present, '__file__', None)}; "
            "install towerstrat's names before the first import of it."
        )
    finder = Finder(api, version)
    finder.say = say
    sys.meta_path.insert(0, finder)
    finder.undo = KERAS.serve(api, finder.root.__version__)
    finder.slim = frozenset(_modules_of(tf_slim.PACKAGE))


@cache
def _later() -> Finder:
    """The names of 2.x for packages, whatever ``import tensorflow`` means to programs."""
    return Finder(2)


def later(name: str) -> ModuleType:
    """A module of TensorFlow 2.x, such as ``tensorflow.compat.v1.logging``, for packages that were written for it.

    Modules of the package that serves ``tf.estimator`` are given too.

    Raises:
      ModuleNotFoundError: it is neither here nor there.
    """
    if ESTIMATOR.has(name):
        return ESTIMATOR.module(name, bound)
    finder = installed()
    return (finder if finder is not None and finder.api == 2 else _later()).module(name)


@contextmanager
def bound() -> Iterator[None]:
    """Inside, ``import tensorflow`` means towerstrat; names that are installed already stay so."""
    with nullcontext() if installed() is not None else names_installed():
        yield


def uninstall() -> None:
    """Undoes ``install`` for imports to come."""
    finder = installed()
    if finder is None:
        return
    sys.meta_path.remove(finder)
    finder.undo()
    # What tf-slim took from the inside of 2.x would be missing in a program of 1.x.
    slim = set(_modules_of(tf_slim.PACKAGE)) - finder.slim if finder.api == 2 else set()
    for name in {*_modules_of(ROOT), *slim}:
        del sys.modules[name]


def _modules_of(package: str) -> list[str]:
    return [name for name in sys.modules if name == package or name.startswith(f"{package}.")]


@contextmanager
def names_installed(api: int = 1) -> Iterator[None]:
    """Inside, ``import tensorflow`` means towerstrat."""
    install(api)
    try:
        yield
    finally:
        uninstall()
