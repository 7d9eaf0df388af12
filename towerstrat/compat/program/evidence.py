"""Whether a program is written for 1.x or for 2.x: its files are read, nothing of it runs.

What counts are names that one of the two originals alone has, and keywords that one of them alone takes. Some names
came with 1.13 to 1.15 and stayed (``tf.function``): they speak for 2.x unless something else speaks for 1.x.
"""

from __future__ import annotations

import ast
import enum
import inspect
import os
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from towerstrat.compat.names import known, table

ROOT = "tensorflow"
_FIRST = "tf.compat.v1"
_EITHER = ("tf.compat.v2", "tf.python", "tf.core")
_LEANING = {"tf.GradientTape"}
"""Names of 1.12 too that hardly any program of 1.x uses."""
_GRAPHS = {"placeholder", "Session", "InteractiveSession"}
_SETTLED = ("disable_", "enable_", "Graph")
"""With one of these a program that imports ``tensorflow.compat.v1`` says itself how it runs."""
_ABSENT = {"ImportError", "ModuleNotFoundError", "AttributeError"}


class Weight(enum.Enum):
    """What a use says."""

    FIRST = "1.x alone has it"
    SECOND = "2.x alone has it"
    LEANS = "1.12 does not have it"
    COMPAT = "it is reached through tensorflow.compat.v1"


class Use(NamedTuple):
    """A name, or a keyword of a call, in the program."""

    weight: Weight
    file: str
    line: int
    what: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line} uses {self.what}"


class Decision(NamedTuple):
    """1 or 2, and why; no reason where the program does not import tensorflow."""

    api: int
    reason: str | None


class Conflict(Exception):
    """The program uses what 1.x alone has and what 2.x alone has."""


def decide(files: Sequence[Path], roots: Sequence[Path]) -> Decision:
    """Which names a program means by ``tensorflow``.

    Args:
      files: where it starts. roots: the folders that its own modules are in; those that it imports are read too.

    Raises:
      Conflict: it uses names of both; the message names the two lines.
    """
    found: list[Use] = []
    imports = False
    for path, tree in _program(files, roots):
        reader = _Reader(os.path.relpath(path, roots[0]))
        reader.visit(tree)
        found += reader.uses
        imports = imports or bool(reader.bound)
    by = {weight: [use for use in found if use.weight is weight] for weight in Weight}
    first, second = by[Weight.FIRST], by[Weight.SECOND]
    if first and second:
        raise Conflict(
            f"{first[0]}, which 1.x alone has, and {second[0]}, which 2.x alone has. "
            "Say which names `tensorflow` has: --api 1 or --api 2."
        )
    for api, uses in ((1, first), (2, second), (2, by[Weight.LEANS])):
        if uses:
            return Decision(api, str(uses[0]))
    if by[Weight.COMPAT]:
        return _through_compat(by[Weight.COMPAT])
    return Decision(1, "nothing in the program tells; --api 2 takes those of 2.x" if imports else None)


def _through_compat(uses: Sequence[Use]) -> Decision:
    """Of a program that imports ``tensorflow.compat.v1`` only. Under 2.x it runs eagerly unless it says otherwise."""
    last = {use: use.what.rpartition(".")[2] for use in uses}
    graphs = [use for use in uses if last[use] in _GRAPHS]
    if graphs and not any(name.startswith(_SETTLED) for name in last.values()):
        return Decision(1, f"{graphs[0]}, and nothing turns eager execution off")
    return Decision(2, str(uses[0]))


# ---- the files of a program ----------------------------------------------------------------------------------------


def _program(files: Sequence[Path], roots: Sequence[Path]) -> Iterator[tuple[Path, ast.Module]]:
    """The files and those of the local modules that they import, in the order they are met."""
    waiting = list(files)
    seen: set[Path] = set()
    while waiting:
        path = waiting.pop(0).resolve()
        if path in seen:
            continue
        seen.add(path)
        try:
            tree = ast.parse(path.read_bytes())
        except (OSError, SyntaxError, ValueError):
            continue  # Python says so when it gets there
        yield path, tree
        for node in ast.walk(tree):
            waiting += _imported(node, path, roots)


def _imported(node: ast.AST, path: Path, roots: Sequence[Path]) -> list[Path]:
    if isinstance(node, ast.Import):
        return [file for alias in node.names for file in files_of(alias.name, roots)]
    if not isinstance(node, ast.ImportFrom):
        return []
    module = node.module or ""
    if node.level:
        roots = [path.parents[node.level - 1]]
    names_in = [f"{module}.{alias.name}".lstrip(".") for alias in node.names]
    return [*files_of(module, roots), *(file for name in names_in for file in files_of(name, roots))]


def files_of(module: str, roots: Sequence[Path]) -> list[Path]:
    """The files that importing a module of these folders executes: its packages' and its own."""
    parts = module.split(".") if module else []
    for root in roots:
        places = [root.joinpath(*parts[:i]) for i in range(1, len(parts) + 1)] or [root]
        found = [f for place in places for f in (place / "__init__.py", place.with_suffix(".py")) if f.is_file()]
        if found:
            return found
    return []


# ---- one file ------------------------------------------------------------------------------------------------------


class _Reader(ast.NodeVisitor):
    """Notes what a file uses of tensorflow.

    Attributes:
      uses: in the order of the file. bound: the file's names for modules and names of tensorflow.
    """

    def __init__(self, file: str):
        self._file = file
        self.uses: list[Use] = []
        self.bound: dict[str, str] = {}
        self._optional = 0

    def _bind(self, name: str, meaning: str) -> None:
        # `try: import tensorflow.compat.v1 as tf`, else the plain one, means the first wherever it is there.
        if not (meaning == "tf" and self.bound.get(name, "").startswith(_FIRST)):
            self.bound[name] = meaning

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            if alias.name == ROOT or alias.name.startswith(f"{ROOT}."):
                meaning = "tf" + alias.name.removeprefix(ROOT)
                self._bind(alias.asname or ROOT, meaning if alias.asname else "tf")
                self._note(meaning, node.lineno)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        module = node.module or ""
        if not node.level and (module == ROOT or module.startswith(f"{ROOT}.")):
            for alias in node.names:
                meaning = f"tf{module.removeprefix(ROOT)}.{alias.name}"
                self._bind(alias.asname or alias.name, meaning)
                self._note(meaning, node.lineno)

    def visit_Try(self, node: ast.Try) -> None:
        # What may be missing is no evidence.
        caught = {n.id for h in node.handlers if h.type for n in ast.walk(h.type) if isinstance(n, ast.Name)}
        optional = bool(caught & _ABSENT)
        self._optional += optional
        for statement in node.body:
            self.visit(statement)
        self._optional -= optional
        for rest in (node.handlers, node.orelse, node.finalbody):
            for part in rest:
                self.visit(part)

    def visit_Assign(self, node: ast.Assign) -> None:
        meaning = self._meaning(node.value)
        if meaning is not None and meaning.endswith((".compat.v1", ".compat.v2")):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    self._bind(target.id, meaning)
        self.generic_visit(node)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        meaning = self._meaning(node)
        if meaning is None:
            self.generic_visit(node)
        else:
            self._note(meaning, node.lineno)

    def visit_Call(self, node: ast.Call) -> None:
        self.generic_visit(node)
        meaning = self._meaning(node.func)
        for keyword in node.keywords if meaning is not None else ():
            weight = _weight_of_keyword(meaning, keyword.arg) if keyword.arg else None
            if weight is not None and not self._optional:
                self.uses.append(Use(weight, self._file, keyword.value.lineno, f"{meaning}({keyword.arg}=...)"))

    def _meaning(self, node: ast.AST) -> str | None:
        """The public name that an expression such as ``tf.nn.relu`` spells."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name) or node.id not in self.bound:
            return None
        return ".".join([self.bound[node.id], *reversed(parts)])

    def _note(self, name: str, line: int) -> None:
        weight = _weight(name)
        if weight is not None and not self._optional:
            self.uses.append(Use(weight, self._file, line, name))


def _weight(name: str) -> Weight | None:
    if name.startswith(_EITHER):
        return None
    if name == _FIRST or name.startswith(f"{_FIRST}."):
        return Weight.COMPAT
    first, second = _known_part(name, 1), _known_part(name, 2)
    if len(first) != len(second):
        return Weight.FIRST if len(first) > len(second) else Weight.SECOND
    later = known.original_names(1).get(first) == "TensorFlow 1.15"
    return Weight.LEANS if later or first in _LEANING else None


@cache
def _known_part(name: str, api: int) -> str:
    """The longest beginning of a name that an original has."""
    parts = name.split(".")
    listed = known.original_names(api)
    return next((p for i in range(len(parts), 0, -1) if (p := ".".join(parts[:i])) in listed), "")


@cache
def _weight_of_keyword(name: str, keyword: str) -> Weight | None:
    first, second = (_keywords(table.names(api).get(name)) for api in (1, 2))
    if first is None or second is None or (keyword in first) == (keyword in second):
        return None
    return Weight.FIRST if keyword in first else Weight.LEANS


def _keywords(value: Any) -> frozenset[str] | None:
    """The keywords that a function takes; None where it takes any, as protocol messages do, or is none."""
    if not callable(value) or getattr(value, "DESCRIPTOR", None) is not None:
        return None
    parameters = inspect.signature(value).parameters.values()
    if any(p.kind is p.VAR_KEYWORD for p in parameters):
        return None
    return frozenset(p.name for p in parameters)
