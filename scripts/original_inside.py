"""Writes what the package keeps of the originals' inside: its modules and the names that they define or import.

    python scripts/original_inside.py OUT.txt.xz FOLDER...

Each FOLDER is ``tensorflow`` (1.15: ``tensorflow_core``) of an installation or an unpacked wheel. Its sources are
read, nothing is imported. OUT has a line per module, ``python.ops.array_ops: reshape ...``, below ``tensorflow``.
"""

from __future__ import annotations

import argparse
import ast
import lzma
import re
from collections.abc import Iterator
from pathlib import Path

from google.protobuf.descriptor_pb2 import FileDescriptorProto

ROOTS = ("python", "contrib", "core", "compiler", "lite", "tools", "examples")
NOT_API = {"absolute_import", "division", "print_function", "unicode_literals", "annotations"}
SERIALIZED = re.compile(r"AddSerializedFile|DESCRIPTOR")


class Inside:
    """The modules of one installation.

    Args:
      folder: where ``tensorflow`` is.
    """

    def __init__(self, folder: Path):
        self._files = {
            ".".join(path.relative_to(folder).with_suffix("").parts).removesuffix(".__init__"): path
            for root in ROOTS
            for path in sorted((folder / root).rglob("*.py"))
            if not path.stem.endswith("_test") and "_api" not in path.parts and "api" not in path.parts[:-1]
        }
        self._names: dict[str, set[str]] = {}

    def modules(self) -> dict[str, set[str]]:
        """The names of each module."""
        return {module: self.names(module) for module in self._files}

    def names(self, module: str) -> set[str]:
        """What a module defines, and what it imports from modules of this installation."""
        if module not in self._names:
            self._names[module] = set()  # a module that imports itself in a circle
            tree = ast.parse(self._files[module].read_bytes())
            self._names[module] = {name for name in self._bound(tree.body, module) if kept(name)}
        return self._names[module]

    def _bound(self, body: list[ast.stmt], module: str) -> Iterator[str]:
        for node in body:
            match node:
                case ast.FunctionDef() | ast.ClassDef():
                    yield node.name
                case ast.Assign():
                    yield from (n.id for t in node.targets for n in ast.walk(t) if isinstance(n, ast.Name))
                    yield from messages(node.value)
                case ast.AnnAssign(target=ast.Name(id=name)):
                    yield name
                case ast.ImportFrom(module=source, level=0) if source and source.startswith("tensorflow"):
                    yield from self._imported(source.partition(".")[2], node.names)
                case ast.If() | ast.Try() | ast.With():
                    yield from self._bound(node.body, module)
                    yield from self._bound(getattr(node, "orelse", []), module)
                    for handler in getattr(node, "handlers", []):
                        yield from self._bound(handler.body, module)

    def _imported(self, source: str, aliases: list[ast.alias]) -> Iterator[str]:
        for alias in aliases:
            if alias.name != "*":
                yield alias.asname or alias.name
            elif source in self._files:
                yield from (name for name in self.names(source) if not name.startswith("_"))


def kept(name: str) -> bool:
    return name not in NOT_API and not name.startswith("__") and not re.fullmatch(r"_[A-Z0-9_]+", name)


def messages(value: ast.expr) -> Iterator[str]:
    """The messages that a protocol file describes, where the module makes their classes while it is imported."""
    if not SERIALIZED.search(ast.unparse(value)[:200]):
        return
    for node in ast.walk(value):
        if isinstance(node, ast.Constant) and isinstance(node.value, bytes):
            described = FileDescriptorProto.FromString(node.value)
            yield from (message.name for message in described.message_type)
            for enum in described.enum_type:
                yield enum.name
                yield from (entry.name for entry in enum.value)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("folders", type=Path, nargs="+", metavar="FOLDER")
    arguments = parser.parse_args()
    found: dict[str, set[str]] = {}
    for folder in arguments.folders:
        for module, names in Inside(folder).modules().items():
            found.setdefault(module, set()).update(names)
    lines = [f"{module}: {' '.join(sorted(names))}" for module, names in sorted(found.items())]
    arguments.out.write_bytes(lzma.compress("\n".join(lines).encode() + b"\n", preset=9))
    print(f"{arguments.out}: {len(lines)} modules, {sum(map(len, found.values()))} names")


if __name__ == "__main__":
    main()
