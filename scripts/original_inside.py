"""Writes what the package keeps of the originals' inside: its modules and the names that they define or import.

    python scripts/original_inside.py API OUT.txt.xz FOLDER...

Each FOLDER is ``tensorflow`` (1.15: ``tensorflow_core``) of an installation or an unpacked wheel. Its sources are
read, nothing is imported. OUT has a line per module below ``tensorflow``, with what it defines and imports; a name that
is exported says as what: ``python.framework.ops: Graph=Graph uid``.
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
EXPORT = "tf_export"
SERIALIZED = re.compile(r"AddSerializedFile|DESCRIPTOR")


Names = dict[str, str]
"""Names of a module, each with its public names, or ''."""


class Inside:
    """The modules of one installation.

    Args:
      folder: where ``tensorflow`` is.
      api: 1 or 2, whose public names count.
    """

    def __init__(self, folder: Path, api: int):
        self._api = api
        self._files = {
            ".".join(path.relative_to(folder).with_suffix("").parts).removesuffix(".__init__"): path
            for root in ROOTS
            for path in sorted((folder / root).rglob("*.py"))
            if not path.stem.endswith("_test") and "_api" not in path.parts and "api" not in path.parts[:-1]
        }
        self._names: dict[str, Names] = {}

    def modules(self) -> dict[str, Names]:
        """The names of each module."""
        return {module: self.names(module) for module in self._files}

    def names(self, module: str) -> Names:
        """What a module defines, and what it imports from modules of this installation."""
        if module not in self._names:
            self._names[module] = {}  # a module that imports itself in a circle
            tree = ast.parse(self._files[module].read_bytes())
            found: Names = {}
            for name, public in self._bound(tree.body, found):
                if kept(name):
                    found[name] = public
            self._names[module] = found
        return self._names[module]

    def _bound(self, body: list[ast.stmt], above: Names) -> Iterator[tuple[str, str]]:
        """What statements bind, where the names ``above`` are bound already."""
        for node in body:
            match node:
                case ast.FunctionDef() | ast.ClassDef():
                    yield node.name, self._exported(node.decorator_list)
                case ast.Assign():
                    public = self._assigned(node.value, above)
                    names = (n for t in node.targets for n in ast.walk(t) if isinstance(n, ast.Name))
                    yield from ((n.id, public) for n in names if isinstance(n.ctx, ast.Store))
                    yield from ((name, "") for name in messages(node.value))
                case ast.AnnAssign(target=ast.Name(id=name)):
                    yield name, ""
                case ast.ImportFrom(module=source, level=0) if source and source.startswith("tensorflow"):
                    yield from self._imported(source.partition(".")[2], node.names)
                case ast.Expr(value=ast.Call(func=ast.Attribute(value=export, attr="export_constant"), args=[_, name])):
                    yield ast.literal_eval(name), self._exported([export])
                case ast.If() | ast.Try() | ast.With():
                    yield from self._bound(node.body, above)
                    yield from self._bound(getattr(node, "orelse", []), above)
                    for handler in getattr(node, "handlers", []):
                        yield from self._bound(handler.body, above)

    def _imported(self, source: str, aliases: list[ast.alias]) -> Iterator[tuple[str, str]]:
        found = self.names(source) if source in self._files else {}
        for alias in aliases:
            if alias.name != "*":
                yield alias.asname or alias.name, found.get(alias.name, "")
            else:
                yield from ((name, public) for name, public in found.items() if not name.startswith("_"))

    def _assigned(self, value: ast.expr, above: Names) -> str:
        """The public names of an assigned value: of a function that is exported, or of another name."""
        if isinstance(value, ast.Name):
            return above.get(value.id, "")
        return self._exported([value.func]) if isinstance(value, ast.Call) else ""

    def _exported(self, decorators: list[ast.expr]) -> str:
        """The public names that ``@tf_export("name", v1=["name"])`` gives, with commas between them.

        Names of 1.x are below ``compat.v1`` in 2.x.
        """
        for node in decorators:
            if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(EXPORT):
                lists = [k.value.elts for k in node.keywords if k.arg == "v1" and isinstance(k.value, ast.List)]
                first, second = strings(lists[0]) if lists else None, strings(node.args)
                if self._api == 1:
                    return ",".join(second if first is None else first)
                return ",".join([*second, *(f"compat.v1.{name}" for name in first or ())])
        return ""


def strings(nodes: list[ast.expr]) -> list[str]:
    return [n.value for n in nodes if isinstance(n, ast.Constant) and isinstance(n.value, str)]


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
    parser.add_argument("api", type=int, choices=(1, 2))
    parser.add_argument("out", type=Path)
    parser.add_argument("folders", type=Path, nargs="+", metavar="FOLDER")
    arguments = parser.parse_args()
    found: dict[str, Names] = {}
    for folder in arguments.folders:
        for module, names in Inside(folder, arguments.api).modules().items():
            known = found.setdefault(module, {})
            known.update({name: public or known.get(name, "") for name, public in names.items()})
    lines = [
        f"{module}: {' '.join(entry(*pair) for pair in sorted(names.items()))}"
        for module, names in sorted(found.items())
    ]
    arguments.out.write_bytes(lzma.compress("\n".join(lines).encode() + b"\n", preset=9))
    print(f"{arguments.out}: {len(lines)} modules, {sum(map(len, found.values()))} names")


def entry(name: str, public: str) -> str:
    return f"{name}={public}" if public else name


if __name__ == "__main__":
    main()
