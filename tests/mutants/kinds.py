"""Small wrong changes of a source file, by kind: each is what a hand could write by mistake, found by syntax alone."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

Edit = tuple[ast.AST, str]
"""A node, and the text that takes its place."""

_TOWERS = re.compile(r"^(tower|replica|position|tower_id|replica_id|place|shard|device)$")
_LOCK = re.compile(r"(^|[._])(\w+_)?(lock|condition|mutex)\b", re.IGNORECASE)
_COTANGENT = re.compile(r"^(cotangents?|gradients?|grads?|g|tangents?|dy)$")
_QUESTIONS = {"isinstance", "len", "type", "id", "getattr", "hasattr"}
"""Functions whose result is no number of a gradient."""
_LOG = re.compile(r"^(warn\w*|log\w*|info|debug|print|write_line)$")
_EMPTY = {"None", "0", "[]", "{}", "False", "()", "set()", "0.0", '""'}
_RESETS = {"clear", "reset", "pop", "discard", "remove"}
_ORDERED = re.compile(r"[<>](?![bBcsx]$|[biu]1$)[a-zA-Z0-9]{1,8}")
"""Formats and element types of more than one byte."""
_STRICT = {ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">"}
_SIGNS = {ast.Add: "-", ast.Sub: "+"}
_NO_NUMBERS = (ast.List, ast.Tuple, ast.ListComp, ast.JoinedStr, ast.Dict, ast.GeneratorExp)


class Mutant(NamedTuple):
    """A wrong change of one place.

    Attributes:
      kind: of ``KINDS``.
      file: below the repository.
      line: of the place, from 1.
      start, end: offsets of what is replaced in the file's UTF-8 bytes.
      text, instead: what stands there, and what takes its place.
    """

    kind: str
    file: str
    line: int
    start: int
    end: int
    text: str
    instead: str

    def applied(self, source: bytes) -> bytes:
        """The file's bytes with the change. Raises ValueError where the text is no longer there."""
        if source[self.start : self.end] != self.text.encode():
            raise ValueError(f"{self.file} is another one than the mutant was drawn from.")
        return source[: self.start] + self.instead.encode() + source[self.end :]


class Source:
    """A file, its syntax tree, and the text of nodes."""

    def __init__(self, file: str, data: bytes) -> None:
        self.file = file
        self.data = data
        self.tree = ast.parse(data)
        self._starts = [0]
        for line in data.splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line))
        self.nodes = list(self._walk())
        self._parents = {child: node for node in ast.walk(self.tree) for child in ast.iter_child_nodes(node)}

    def span(self, node: ast.AST) -> tuple[int, int]:
        """The place of a node, in bytes."""
        start = self._starts[node.lineno - 1] + node.col_offset  # type: ignore[attr-defined]
        return start, self._starts[node.end_lineno - 1] + node.end_col_offset  # type: ignore[attr-defined]

    def text(self, node: ast.AST) -> str:
        start, end = self.span(node)
        return self.data[start:end].decode()

    def function(self, node: ast.AST) -> str:
        """The name of the function around a node, "" outside of all."""
        while node := self._parents.get(node):  # type: ignore[assignment]
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                return node.name
        return ""

    def _walk(self) -> Iterator[ast.AST]:
        """All nodes of code that runs: neither annotations nor what only a type checker reads."""
        stack: list[ast.AST] = [self.tree]
        while stack:
            node = stack.pop()
            yield node
            for name, value in ast.iter_fields(node):
                if name in ("annotation", "returns"):
                    continue
                if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
                    continue
                values = value if isinstance(value, list) else [value]
                stack.extend(v for v in reversed(values) if isinstance(v, ast.AST))

    def mutants(self, kind: str) -> list[Mutant]:
        """All changes of a kind, in the order of the file."""
        found = []
        for node in self.nodes:
            for place, instead in KINDS[kind](self, node):
                start, end = self.span(place)
                found.append(Mutant(kind, self.file, place.lineno, start, end, self.text(place), instead))  # type: ignore[attr-defined]
        return sorted(found, key=lambda mutant: mutant.start)


def _numbers(node: ast.BinOp) -> bool:
    sides = (node.left, node.right)
    return not any(
        isinstance(side, _NO_NUMBERS) or (isinstance(side, ast.Constant) and isinstance(side.value, str | bytes))
        for side in sides
    )


def sign(source: Source, node: ast.AST) -> Iterator[Edit]:
    """``a + b`` becomes ``a - b``, and the other way round; ``-a`` becomes ``a``."""
    if isinstance(node, ast.BinOp) and type(node.op) in _SIGNS and _numbers(node):
        yield node, f"{source.text(node.left)} {_SIGNS[type(node.op)]} {source.text(node.right)}"
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and not isinstance(node.operand, ast.Constant):
        yield node, source.text(node.operand)


def factor(source: Source, node: ast.AST) -> Iterator[Edit]:
    """``a * b`` and ``a / b`` become ``a``."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult | ast.Div) and _numbers(node):
        yield node, source.text(node.left)


def bound(source: Source, node: ast.AST) -> Iterator[Edit]:
    """``<`` becomes ``<=`` and the like; ``n + 1`` and ``n - 1`` become ``n``."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _STRICT:
        yield node, f"{source.text(node.left)} {_STRICT[type(node.ops[0])]} {source.text(node.comparators[0])}"
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub) and source.text(node.right) == "1":
        yield node, source.text(node.left)


def effect(source: Source, node: ast.AST) -> Iterator[Edit]:
    """A call for its effect is left out; lines of a log are no effect of a program."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and isinstance(node.value.func, ast.Attribute):
        yield from [] if _LOG.search(node.value.func.attr) or node.value.func.attr == "__init__" else [(node, "pass")]


def axis(source: Source, node: ast.AST) -> Iterator[Edit]:
    """``axis=0`` becomes ``axis=-1``, another number becomes 0."""
    if isinstance(node, ast.keyword) and node.arg in ("axis", "axes", "dim"):
        try:
            value = ast.literal_eval(node.value)
        except ValueError:
            return
        if isinstance(value, int) and not isinstance(value, bool):
            yield node.value, "-1" if value == 0 else "0"


def order(source: Source, node: ast.AST) -> Iterator[Edit]:
    """The byte order of a format or an element type is the other one."""
    if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
        return
    if node.value in ("little", "big"):
        yield node, '"big"' if node.value == "little" else '"little"'
    elif _ORDERED.fullmatch(node.value):
        yield node, '"' + (">" if node.value[0] == "<" else "<") + node.value[1:] + '"'


def tower(source: Source, node: ast.AST) -> Iterator[Edit]:
    """Something that is taken or made for a tower is the first one's."""
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Name) and _TOWERS.match(node.slice.id):
        yield node.slice, "0"
    if isinstance(node, ast.Call) and source.text(node.func).endswith("axis_index"):
        yield node, f"0 * {source.text(node)}"
    if isinstance(node, ast.keyword) and node.arg and _TOWERS.match(node.arg) and isinstance(node.value, ast.Name):
        yield node.value, "0"


def flow(source: Source, node: ast.AST) -> Iterator[Edit]:
    """A cotangent that is used is zero; a stopped gradient flows; what has a gradient has none, and the reverse."""
    if isinstance(node, ast.BinOp) and _numbers(node):
        for side in (node.left, node.right):
            if isinstance(side, ast.Name) and _COTANGENT.match(side.id):
                yield side, f"(0 * {side.id})"
    if isinstance(node, ast.Call):
        for argument in [] if source.text(node.func) in _QUESTIONS else node.args:
            if isinstance(argument, ast.Name) and _COTANGENT.match(argument.id):
                yield argument, f"(0 * {argument.id})"
        if source.text(node.func).endswith("stop_gradient") and len(node.args) == 1:
            yield node, source.text(node.args[0])
    if isinstance(node, ast.keyword) and node.arg == "differentiable" and isinstance(node.value, ast.Constant):
        yield node.value, str(not node.value.value)


def reset(source: Source, node: ast.AST) -> Iterator[Edit]:
    """An attribute that is set back to nothing, outside of a constructor, keeps what it has."""
    if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Attribute):
        emptied = source.text(node.value) in _EMPTY and source.function(node) not in ("__init__", "")
        yield from [(node, "pass")] if emptied else []
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and isinstance(node.value.func, ast.Attribute):
        yield from [(node, "pass")] if node.value.func.attr in _RESETS else []


def lock(source: Source, node: ast.AST) -> Iterator[Edit]:
    """A lock is not taken."""
    if isinstance(node, ast.With) and len(node.items) == 1 and node.items[0].optional_vars is None:
        place = node.items[0].context_expr
        yield from [(place, "__import__('contextlib').nullcontext()")] if _LOCK.search(source.text(place)) else []


def check(source: Source, node: ast.AST) -> Iterator[Edit]:
    """A check never fails."""
    if isinstance(node, ast.If) and isinstance(node.body[0], ast.Raise):
        yield node.test, "False"


KINDS: dict[str, Callable[[Source, ast.AST], Iterator[Edit]]] = {
    "sign": sign, "factor": factor, "bound": bound, "effect": effect, "axis": axis, "byte order": order,
    "tower": tower, "gradient": flow, "reset": reset, "lock": lock, "check": check,
}  # fmt: skip
"""For a node of a file, the places that a change of the kind replaces, and the texts that take their places."""
