"""Loads the package keras 2.15, whose ``tensorflow`` is this library.

The package is what serves ``tf.keras`` in TensorFlow 2.15 as well. Its files are executed as they are, but for what
they import. They are loaded when ``tf.keras`` is first used, under their own names. Versions before 2.4, which ran on
several backends, have the name ``keras`` where they are installed: none of their modules is called as those that are
needed here (``keras.src``, ``keras.api``, ``keras.protobuf``), so that both are in one process.
"""

from __future__ import annotations

import ast
import builtins
import importlib
import os
import random
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from importlib.util import module_from_spec
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from towerstrat.compat.keras.program_release import RELEASE
from towerstrat.compat.utilities import exports
from towerstrat.errors import UnsupportedError
from towerstrat.graph.ir.python_operators import EQUALITY
from towerstrat.platform.deferred import Deferred, without_collections

if TYPE_CHECKING:
    from towerstrat.compat.keras import patches as completed
else:
    completed = Deferred("towerstrat.compat.keras.patches")  # for programs that use tf.keras

NAME = "keras"
VERSION = (2, 15)
_ROOTS = tuple(f"{NAME}.{each}" for each in ("api", "protobuf", "src"))
"""The folders of the package that its modules import from."""
_JOINED = (2, 4)
"""The first version that was ``tf.keras`` under another name. Those before it are packages of their own."""
FOLDER = "TOWERSTRAT_KERAS"
"""The environment variable with a folder that has the package, for where another Keras is installed."""
INSTALL = "pip install 'towerstrat[keras]'"

Names = Callable[[str], ModuleType]
"""The modules of TensorFlow 2.x by their names, such as ``tensorflow.compat.v1``. Raises ModuleNotFoundError."""


class KerasError(UnsupportedError, ImportError):
    """The package that serves ``tf.keras`` cannot be had; it says what to do."""


class _Random(random.Random):
    """Draws as Python 3.11 did, which took whole floats for integers."""

    def randint(self, a: Any, b: Any) -> int:
        return super().randint(int(a), int(b))


class _Former(ModuleType):
    """A module as it was when the package was written.

    Args:
      module: as it is. names: what it had otherwise.
    """

    def __init__(self, module: ModuleType, **names: Any):
        super().__init__(module.__name__, module.__doc__)
        self.__dict__.update({**vars(module), **names}, _module=module)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["_module"], name)


@cache
def _version(file: str) -> tuple[int, ...]:
    """The version that the first file of a Keras says; () where it says none."""
    with open(file, encoding="utf-8") as opened:
        said = re.search(r"""^__version__ = ['"](\d+)\.(\d+)""", opened.read(), re.MULTILINE)
    return tuple(map(int, said.groups())) if said else ()


@cache
def _first(places: tuple[str, ...]) -> str | None:
    """The first file of the first Keras in some folders; None where there is none."""
    found = PathFinder.find_spec(NAME, list(places))
    return found.origin if found is not None and found.has_location else None


@cache
def _found(given: str | None) -> str | None:
    """Where the package's folder is, in a given folder or anywhere where packages are; None where it is not there."""
    files = (_first((place,)) for place in ([given] if given else sys.path))
    return next((os.path.dirname(file) for file in files if file and _version(file) == VERSION), None)


@cache
def _defined(path: str) -> frozenset[str]:
    """The names that a module defines or imports, by its file."""
    with open(path, encoding="utf-8") as file:
        tree = ast.parse(file.read())
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names.update((alias.asname or alias.name).partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
    return frozenset(names)


class _Loader(SourceFileLoader):
    """Executes a file of the package with the package's ``import``."""

    def __init__(self, name: str, path: str, package: Package):
        super().__init__(name, path)
        self._package = package

    def exec_module(self, module: ModuleType) -> None:
        module.__dict__["__builtins__"] = self._package.builtins
        super().exec_module(module)
        if module.__name__ == NAME:
            module.__dict__.setdefault("__version__", ".".join(map(str, (*VERSION, 0))))
        completed.complete(module)


class Package(MetaPathFinder):
    """The package: finds its modules once it is in use."""

    def __init__(self) -> None:
        self._names: Names | None = None
        self._former = {
            "numpy": _Former(np, Inf=np.inf, unicode_=np.str_),
            "random": _Former(random, Random=_Random, randint=lambda a, b: random.randint(int(a), int(b))),
        }
        self._api = 2
        self.builtins = vars(builtins) | {"__import__": self._import}

    @property
    def _folder(self) -> str | None:
        return _found(os.environ.get(FOLDER))

    def available(self) -> bool:
        """Whether keras 2.15 is there."""
        return self._folder is not None

    def has_name(self) -> bool:
        """Whether ``import keras`` can be the package: not where one before 2.4 was imported, or is found first."""
        other = sys.modules.get(NAME)
        if other is None:
            file = _first(tuple(sys.path))
        elif isinstance(other.__spec__ and other.__spec__.loader, _Loader):
            return True
        else:
            file = other.__file__
        return file is None or not () < _version(file) < _JOINED

    def module(self, name: str, names: Names) -> ModuleType:
        """A module by its full name, such as ``keras.src.backend``.

        Args:
          names: what the package's modules import, then and later.

        Raises:
          KerasError: keras 2.15 is not installed, or a Keras that has modules of the same names was imported before.
          ModuleNotFoundError: the package has no such module.
        """
        if name in sys.modules and self in sys.meta_path:
            return sys.modules[name]
        self.use(names)
        with without_collections():
            self._import_root(name)
            return importlib.import_module(name)

    def has(self, name: str) -> bool:
        """Whether ``name`` is a module of the package."""
        return self._place(name) is not None

    def defines(self, module: str, name: str) -> bool:
        """Whether a module of the package has a name, or a module below it; nothing is loaded."""
        place = self._place(module)
        return place is not None and (self.has(f"{module}.{name}") or name in _defined(place))

    def symbol(self, name: str) -> Any:
        """What has a public name of TensorFlow's or the package's, such as ``math.add``; None where nothing has it."""
        found = exports.exported(name)
        if found is not None or self._names is None:
            return found
        found = self._names("tensorflow")
        for part in name.split("."):
            found = getattr(found, part, None)
        return found

    def serve(self, api: int, version: str | None = None) -> Callable[[], None]:
        """Give ``import keras`` the names of 1.x or of 2.x, and follow a release. What is imported keeps its names.

        Returns:
          A function that makes it what it was before.
        """
        before = self._api, RELEASE.version

        def undo() -> None:
            self._api, RELEASE.version = before

        self._api = api
        RELEASE.follow(version)
        return undo

    def use(self, names: Names) -> None:
        """Makes the package's modules importable.

        Raises:
          KerasError: as for ``module``.
        """
        if self in sys.meta_path:
            return
        if self._folder is None:
            beside = f" {NAME} is here in another version." if PathFinder.find_spec(NAME) else ""
            raise KerasError(
                f"tf.keras is served by the package keras 2.15, which is not installed.{beside} Install it: {INSTALL}; "
                f"or beside another Keras: pip install --target FOLDER --no-deps 'keras==2.15.*', and set {FOLDER} to "
                "FOLDER."
            )
        other = sys.modules.get(NAME)
        if other is not None and self.has_name():
            raise KerasError(
                f"tf.keras is served by the package keras 2.15 under the name keras, but {other.__file__} was imported "
                "by that name before. Use one of them in a process, or tf.keras first."
            )
        self._names = names
        EQUALITY.libraries.add(f"{NAME}.src.")
        sys.meta_path.insert(0, self)

    def _place(self, name: str) -> str | None:
        """The path of a module's file; None where there is none."""
        if self._folder is None or name.partition(".")[0] != NAME:
            return None
        path = name.split(".")[1:]
        roots = ["api/_v1/keras", ""] if self._api == 1 and path[:1] not in (["api"], ["src"]) else [""]
        places = (os.path.join(self._folder, root, *path) for root in roots)
        files = (file for place in places for file in (f"{place}.py", os.path.join(place, "__init__.py")))
        return next(filter(os.path.isfile, files), None)

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        place = self._place(fullname)
        if place is None or not (self.has_name() or fullname.startswith(_ROOTS)):
            return None
        is_folder = place.endswith("__init__.py")
        spec = ModuleSpec(fullname, _Loader(fullname, place, self), origin=place, is_package=is_folder)
        spec.has_location = True
        if is_folder:
            spec.submodule_search_locations = [os.path.dirname(place)]
        return spec

    def _import_root(self, name: str) -> None:
        """Imports the folder that a module is in, without ``keras`` itself, where that name is another version's."""
        root = ".".join(name.split(".")[:2])
        spec = None if root in sys.modules or self.has_name() else self.find_spec(root)
        if spec is None or spec.loader is None:
            return
        sys.modules[root] = module_from_spec(spec)
        try:
            spec.loader.exec_module(sys.modules[root])
        except BaseException:
            del sys.modules[root]
            raise

    def _import(
        self,
        name: str,
        globals: Mapping[str, object] | None = None,
        locals: Mapping[str, object] | None = None,
        fromlist: Sequence[str] | None = (),
        level: int = 0,
    ) -> Any:
        """What ``import`` does in the package's modules."""
        if level == 0 and name in self._former:
            return self._former[name]
        if level == 0 and name.partition(".")[0] == "tensorflow":
            assert self._names is not None
            module = self._names(name)
            return module if fromlist else self._names("tensorflow")
        if level == 0 and name.partition(".")[0] == "tensorflow_estimator":
            assert self._names is not None
            return SimpleNamespace(**{each: self._names(f"{name}.{each}") for each in fromlist or ()})
        if level == 0 and name.partition(".")[0] == NAME and not self.has_name():
            self._import_root(name)
            if not fromlist:
                importlib.import_module(name)
                return SimpleNamespace(**{each.partition(".")[2]: sys.modules.get(each) for each in _ROOTS})
            # The builtin one imports what is above a module too, where the module is named in ``fromlist``.
            return importlib.__import__(name, globals, locals, fromlist)
        return builtins.__import__(name, globals, locals, fromlist or (), level)


KERAS = Package()
"""The package that serves ``tf.keras``."""


def get_symbol_from_name(name: str) -> Any:
    """``tensorflow.python.util.tf_export.get_symbol_from_name``: see ``Package.symbol``."""
    return KERAS.symbol(name)
