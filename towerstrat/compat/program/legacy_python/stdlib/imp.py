"""``imp``: how programs loaded modules from files."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable, Sequence
from importlib.machinery import (
    BYTECODE_SUFFIXES,
    EXTENSION_SUFFIXES,
    SOURCE_SUFFIXES,
    ExtensionFileLoader,
    ModuleSpec,
    PathFinder,
    SourceFileLoader,
    SourcelessFileLoader,
)
from importlib.util import cache_from_source, source_from_cache
from pathlib import Path
from types import ModuleType
from typing import Any

__all__ = ["C_BUILTIN", "C_EXTENSION", "PKG_DIRECTORY", "PY_COMPILED", "PY_FROZEN", "PY_SOURCE", "acquire_lock",
           "cache_from_source", "find_module", "get_suffixes", "get_tag", "load_compiled", "load_dynamic",
           "load_module", "load_package", "load_source", "lock_held", "new_module", "release_lock", "reload",
           "source_from_cache"]  # fmt: skip

PY_SOURCE, PY_COMPILED, C_EXTENSION, PKG_DIRECTORY, C_BUILTIN, PY_FROZEN = 1, 2, 3, 5, 6, 7

reload = importlib.reload


def new_module(name: str) -> ModuleType:
    """An empty module that is not imported."""
    return ModuleType(name)


def get_tag() -> str | None:
    return sys.implementation.cache_tag


def get_suffixes() -> list[tuple[str, str, int]]:
    """Endings of files with modules, how to open them, and the kind."""
    kinds = ((EXTENSION_SUFFIXES, "rb", C_EXTENSION), (SOURCE_SUFFIXES, "r", PY_SOURCE),
             (BYTECODE_SUFFIXES, "rb", PY_COMPILED))  # fmt: skip
    return [(suffix, mode, kind) for suffixes, mode, kind in kinds for suffix in suffixes]


def acquire_lock() -> None:
    """Does nothing: each import has a lock of its own."""


def release_lock() -> None:
    """Does nothing: each import has a lock of its own."""


def lock_held() -> bool:
    return False


def _loaded(name: str, path: str, loader: Any, folders: list[str] | None = None) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path, loader=loader,
                                                  submodule_search_locations=folders)  # fmt: skip
    return _executed(name, spec)


def _executed(name: str, spec: ModuleSpec | None) -> ModuleType:
    """A module made from its specification; one of that name that is there already is executed again."""
    if spec is None or spec.loader is None:
        raise ImportError(f"No module named {name!r}", name=name)
    present = sys.modules.get(name)
    module = present or importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        if present is None:
            del sys.modules[name]
        raise
    return sys.modules[name]


def load_source(name: str, pathname: str, file: Any = None) -> ModuleType:
    """The module in a Python file, whatever its ending."""
    return _loaded(name, pathname, SourceFileLoader(name, pathname))


def load_compiled(name: str, pathname: str, file: Any = None) -> ModuleType:
    """The module in a file of compiled Python."""
    return _loaded(name, pathname, SourcelessFileLoader(name, pathname))


def load_dynamic(name: str, path: str, file: Any = None) -> ModuleType:
    """The module in a shared library."""
    return _loaded(name, path, ExtensionFileLoader(name, path))


def load_package(name: str, path: str) -> ModuleType:
    """The package in a folder."""
    start = str(Path(path, "__init__.py"))
    return _loaded(name, start, SourceFileLoader(name, start), [path])


def find_module(name: str, path: Sequence[str] | None = None) -> tuple[Any, str | None, tuple[str, str, int]]:
    """The open file of a module, its path and its description, for ``load_module``, which leaves it to be closed.

    Raises:
      ImportError: it is not there.
    """
    if path is None and name in sys.builtin_module_names:
        return None, None, ("", "", C_BUILTIN)
    spec = PathFinder.find_spec(name, path)
    if spec is None or spec.origin is None:
        raise ImportError(f"No module named {name!r}", name=name)
    if spec.submodule_search_locations is not None:
        return None, str(Path(spec.origin).parent), ("", "", PKG_DIRECTORY)
    suffix, mode, kind = next(s for s in get_suffixes() if spec.origin.endswith(s[0]))
    opened = open(spec.origin, mode, encoding=None if "b" in mode else "utf-8")  # noqa: SIM115
    return opened, spec.origin, (suffix, mode, kind)


def load_module(name: str, file: Any, filename: str | None, details: tuple[str, str, int]) -> ModuleType:
    """What ``find_module`` found, loaded."""
    kind = details[2]
    if filename is None:
        return importlib.import_module(name)
    loads: dict[int, Callable[[str, str], ModuleType]] = {
        PY_SOURCE: load_source,
        PY_COMPILED: load_compiled,
        C_EXTENSION: load_dynamic,
        PKG_DIRECTORY: load_package,
    }
    if kind not in loads:
        raise ImportError(f"Don't know how to import {name} (type code {kind})", name=name)
    return loads[kind](name, filename)
