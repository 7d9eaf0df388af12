"""The files of a program: those where it starts, and those of its own modules that they import."""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

from towerstrat.compat.program import source_reader
from towerstrat.compat.program.source_reader import Meaning, Source

_PYTHON = Path(os.__file__).parent
_APART = {
    "towerstrat", "keras", "tensorflow_estimator", "jax", "jaxlib", "numpy", "scipy", "sklearn", "pandas", "matplotlib",
}  # fmt: skip
"""Packages that are imported with a tensorflow of their own, and large ones that do without."""


class Program(NamedTuple):
    """What was read of a program.

    Attributes:
      own: the files where it starts. helpers: those of its modules that these import, and so on.
      folder: what its files' names are shown relative to.
      packages: gives the files of installed packages that these import, and so on, as far as they know tensorflow.
    """

    own: list[Source]
    helpers: list[Source]
    folder: Path
    packages: Callable[[], Iterable[Source]] = tuple

    @property
    def imports(self) -> bool:
        """Whether it imports tensorflow."""
        return any(source.imports for source in (*self.own, *self.helpers))


class Files:
    """Sources of programs, each read once."""

    def __init__(self) -> None:
        self._sources: dict[Path, Source] = {}
        self._imported: dict[tuple[Path, tuple[Path, ...]], list[Path]] = {}

    def source(self, path: Path, roots: Sequence[Path] = ()) -> Source:
        """A file as it was read first.

        Args:
          roots: further folders whose modules it imports.

        Raises:
          OSError: it cannot be opened. SyntaxError: it is not Python. ValueError: it is not text.
        """
        if path not in self._sources:
            self._sources[path] = Source(path, "")  # of a file that imports itself in a circle
            try:
                self._sources[path] = source_reader.read(path, partial(self._module, path, (*roots_of(path), *roots)))
            except (OSError, SyntaxError, ValueError):
                del self._sources[path]
                raise
        return self._sources[path]

    def _module(self, path: Path, roots: tuple[Path, ...], name: str, level: int) -> Module | None:
        """A module that a file imports, if it is the program's own."""
        for root in [path.parents[level - 1]] if level else roots:
            found = Module(self, roots, root.joinpath(*filter(None, name.split("."))))
            if found.exists and (not is_installed(found.path) or found.path.is_relative_to(_outermost(path))):
                return found
        return None

    def program(self, starts: Sequence[Path], roots: Sequence[Path]) -> Program:
        """What starts in some files. What cannot be read is left to Python.

        Installed packages are not the program's, unless it starts in one; then that one is.

        Args:
          roots: the folders that its modules are in.
        """
        waiting = [path.resolve() for path in starts]
        own = dict.fromkeys(waiting)
        packages = {_outermost(path) for path in own}
        seen: dict[Path, Source | None] = {}
        while waiting:
            path = waiting.pop(0)
            if path in seen or (is_installed(path) and not any(path.is_relative_to(package) for package in packages)):
                continue
            try:
                source = self.source(path, roots)
            except (OSError, SyntaxError, ValueError):
                seen[path] = None
            else:
                seen[path] = source
                waiting += self._imported_by(source, tuple(roots))
        helpers = [found for path, found in seen.items() if found is not None and path not in own]
        files = [found for path in own if (found := seen[path]) is not None]
        return Program(files, helpers, roots[0], partial(self._packages, [*files, *helpers]))

    def _packages(self, sources: Sequence[Source]) -> Iterator[Source]:
        waiting, seen = list(sources), set()
        places = [Path(place) for place in sys.path if is_installed(Path(place, "any"))]
        while waiting:
            source = waiting.pop(0)
            named = (file.resolve() for node in source.statements for file in _named(node, source.path, places))
            for file in named:
                if file in seen or _APART & set(file.parts) or not is_installed(file):
                    continue
                seen.add(file)
                try:
                    if file.name != "__init__.py" and b"tensorflow" not in file.read_bytes():
                        continue
                    found = self.source(file)
                except (OSError, SyntaxError, ValueError):
                    continue
                waiting.append(found)
                yield found

    def _imported_by(self, source: Source, roots: tuple[Path, ...]) -> list[Path]:
        key = source.path, roots
        if key not in self._imported:
            found = (file for node in source.statements for file in _named(node, source.path, roots))
            self._imported[key] = [file.resolve() for file in dict.fromkeys(found)]
        return self._imported[key]


@dataclass(frozen=True)
class Module:
    """A module of a program's own, as ``source_reader.Module``.

    Attributes:
      sources: the program's. roots: folders whose modules it imports. path: its folder, or its file without ``.py``.
    """

    sources: Files
    roots: tuple[Path, ...]
    path: Path

    @property
    def file(self) -> Path | None:
        """What is executed when it is imported; None where there is no such module, or it is a folder of modules."""
        files = (self.path / "__init__.py", Path(f"{self.path}.py"))
        return next((file for file in files if file.is_file()), None)

    @property
    def exists(self) -> bool:
        return self.file is not None or self.path.is_dir()

    @property
    def meanings(self) -> Mapping[str, Meaning]:
        try:
            return self.sources.source(self.file.resolve(), self.roots).meanings if self.file else {}
        except (OSError, SyntaxError, ValueError):
            return {}

    def get(self, name: str) -> Meaning | None:
        inner = Module(self.sources, self.roots, self.path / name)
        return self.meanings.get(name) or (inner if inner.exists else None)


def is_installed(path: Path) -> bool:
    """Whether a file belongs to Python or to a package that was installed."""
    return bool({"site-packages", "dist-packages"} & set(path.parts)) or path.is_relative_to(_PYTHON)


def roots_of(path: Path) -> list[Path]:
    """The folders whose modules are a script's own: its own one, and the one that its package is in."""
    path = path.resolve()
    return list(dict.fromkeys([path.parent, _outermost(path).parent]))


def _outermost(path: Path) -> Path:
    """The folder of the outermost package that a file is in; the file where it is in none."""
    while (path.parent / "__init__.py").is_file():
        path = path.parent
    return path


def _named(node: ast.Import | ast.ImportFrom, path: Path, roots: Sequence[Path]) -> list[Path]:
    """The files that a statement in a file imports."""
    if isinstance(node, ast.Import):
        return [file for alias in node.names for file in files_of(alias.name, roots)]
    module = node.module or ""
    if node.level:
        roots = [path.parents[node.level - 1]]
    names_in = [f"{module}.{alias.name}".lstrip(".") for alias in node.names]
    return [*files_of(module, roots), *(file for name in names_in for file in files_of(name, roots))]


def files_of(module: str, roots: Sequence[Path]) -> list[Path]:
    """The files that importing a module of these folders executes: its packages' and its own."""
    if source_reader.meaning_of(module) is not None:
        return []  # whatever is there, `tensorflow` is ours
    parts = module.split(".") if module else []
    for root in roots:
        places = [root.joinpath(*parts[:i]) for i in range(1, len(parts) + 1)] or [root]
        found = [f for place in places for f in (place / "__init__.py", place.with_suffix(".py")) if f.is_file()]
        if found:
            return found
    return []
