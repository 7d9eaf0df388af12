"""``import tensorflow`` in this process only: a finder that answers for ``tensorflow`` and everything below it.

It stands first, so that it answers even where a TensorFlow is installed; nothing is written to disk.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from towerstrat.compat import known, names
from towerstrat.compat.internals import INTERNALS
from towerstrat.compat.namespace import Mixture, Namespace, build, tree

ROOT = "tensorflow"


class _Ready(Loader):
    """Hands out a module that exists already."""

    def __init__(self, module: ModuleType):
        self._module = module

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return self._module

    def exec_module(self, module: ModuleType) -> None:
        # A module that is imported by a second name stays what it is.
        module.__spec__ = _spec(module.__name__, module)


def _spec(name: str, module: ModuleType) -> ModuleSpec:
    return ModuleSpec(name, _Ready(module), origin="towerstrat", is_package=True)


class Finder(MetaPathFinder):
    """Finds the modules of one tree; what is missing below ``tensorflow`` is an ImportError that says what works."""

    def __init__(self) -> None:
        self._root = build(ROOT, names.table())
        self._modules: dict[str, Namespace] = {m.__name__: m for m in tree(self._root)}
        for path, (sources, own) in INTERNALS.items():
            self._add_internal(f"{ROOT}.{path}", sources.split(), own)
        v1 = f"{ROOT}.compat.v1"
        self._modules[v1] = self._root
        self._modules[f"{ROOT}.compat"].__dict__["v1"] = self._root

    def _add_internal(self, path: str, sources: Sequence[str], own: dict[str, Any]) -> None:
        found = tuple(self._modules[ROOT + source.removeprefix("tf")] for source in sources)
        if path not in self._modules:
            self._modules[path] = Mixture(path, path, found, own)
        parent, _, last = path.rpartition(".")
        if parent not in self._modules:
            self._add_internal(parent, (), {})
        # Code inside the public tree keeps its own meaning of a name.
        self._modules[parent].__dict__.setdefault(last, self._modules[path])

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if fullname != ROOT and not fullname.startswith(ROOT + "."):
            return None
        module = self._modules.get(fullname)
        if module is None and fullname.startswith(f"{ROOT}.compat.v1."):
            module = self._modules.get(ROOT + fullname.removeprefix(f"{ROOT}.compat.v1"))
        if module is None:
            raise ModuleNotFoundError(known.describe(_public(fullname)))
        return _spec(fullname, module)


def _public(fullname: str) -> str:
    """The dotted name as programs write it: ``tf.nn``; of a module inside TensorFlow the whole path."""
    inside = fullname.startswith((f"{ROOT}.python", f"{ROOT}.core")) or ".python." in fullname
    return fullname if inside else "tf" + fullname.removeprefix(ROOT)


def installed() -> Finder | None:
    """The finder at work in this process, or None."""
    return next((f for f in sys.meta_path if isinstance(f, Finder)), None)


def install() -> None:
    """Makes ``import tensorflow`` mean towerstrat from now on.

    Raises:
      RuntimeError: another ``tensorflow`` was imported already.
    """
    if installed() is not None:
        return
    present = sys.modules.get(ROOT)
    if present is not None:
        raise RuntimeError(
            f"{ROOT} was already imported from {getattr(present, '__file__', None)}; "
            "install towerstrat's names before the first import of it."
        )
    sys.meta_path.insert(0, Finder())


def uninstall() -> None:
    """Undoes ``install`` for imports to come."""
    finder = installed()
    if finder is None:
        return
    sys.meta_path.remove(finder)
    for name in [n for n in sys.modules if n == ROOT or n.startswith(ROOT + ".")]:
        del sys.modules[name]


@contextmanager
def names_installed() -> Iterator[None]:
    """Inside, ``import tensorflow`` means towerstrat."""
    install()
    try:
        yield
    finally:
        uninstall()
