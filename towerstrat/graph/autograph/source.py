"""The syntax tree of a function, found in its file by its code object.

A code object knows its file, first line, name and parameters; definitions that fit all of these are candidates. Of
lambdas that begin on one line the innermost whose body spans all of the code's instructions is taken
(``co_positions``). Anything uncertain raises SourceError: converting the wrong definition would be worse than none.

>>> def double(x):
...     return 2 * x
>>> ast.unparse(definition_of(double)).splitlines()[0]
'def double(x):'

The tree is a copy in which names stand as the compiler saw them: ``self.__x`` in class C is ``self._C__x``, and
``super()`` has its two arguments, since converted code is compiled outside of the class.
"""

from __future__ import annotations

import ast
import copy
import linecache
from collections.abc import Iterator, Mapping, Sequence
from types import CodeType, FunctionType
from typing import Any

Definition = ast.FunctionDef | ast.Lambda

Places = Mapping[int, Sequence[tuple[Definition, str | None]]]

_FILES: dict[str, tuple[list[str], Places]] = {}
"""File -> (its lines when it was parsed last, its definitions by first line, each with its class)."""


class SourceError(Exception):
    """The source of a function cannot be determined; the message says why."""


def definition_of(function: FunctionType) -> Definition:
    """A copy of the tree that ``function`` was compiled from, with line numbers of its file.

    Private names (``self.__x``) are written out as the compiler saw them, and so is ``super()``.

    Raises:
      SourceError: there is no file, or it does not say for certain which definition it was.
    """
    code = function.__code__
    lines = linecache.getlines(code.co_filename, function.__globals__)
    # From 3.13 on Python knows the lines of ``python -c``, under the name that code from ``exec`` has too.
    if not lines or (code.co_filename == "<string>" and code not in _codes(lines)):
        raise SourceError(f"its source is not available ({code.co_filename})")
    places = _places(code.co_filename, lines).get(code.co_firstlineno, ())
    candidates = [(node, owner) for node, owner in places if _may_be(node, code)]
    if len(candidates) > 1:
        candidates = _innermost(candidates, code)
    if len(candidates) != 1:
        problem = "is not the only definition at that place" if candidates else "is not in its file, which has changed"
        raise SourceError(f"its source {problem}; give it a line of its own")
    node, owner = candidates[0]
    node = copy.deepcopy(node)
    _Spelled(owner).visit(node)
    return node


def _codes(lines: Sequence[str]) -> Iterator[CodeType]:
    """Yield the code objects that the lines compile to: the module's, and all that are nested in it."""
    try:
        codes = [compile("".join(lines), "<string>", "exec", dont_inherit=True)]
    except SyntaxError:
        return
    for code in codes:
        yield code
        codes += [constant for constant in code.co_consts if isinstance(constant, CodeType)]


def _places(filename: str, lines: list[str]) -> Places:
    known = _FILES.get(filename)
    if known is None or known[0] != lines:
        places: dict[int, list[tuple[Definition, str | None]]] = {}
        try:
            for node, owner in _definitions(ast.parse("".join(lines))):
                decorators = getattr(node, "decorator_list", [])
                places.setdefault(min([node.lineno, *(d.lineno for d in decorators)]), []).append((node, owner))
        except SyntaxError as error:
            raise SourceError(f"its file cannot be parsed: {error}") from None
        _FILES[filename] = known = (lines, places)
    return known[1]


def _definitions(node: ast.AST, owner: str | None = None) -> Iterator[tuple[Definition, str | None]]:
    """Functions and lambdas below a node, with the class whose body they lie in."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.Lambda):
            yield child, owner
        yield from _definitions(child, child.name if isinstance(child, ast.ClassDef) else owner)


def _may_be(node: Definition, code: CodeType) -> bool:
    name = node.name if isinstance(node, ast.FunctionDef) else "<lambda>"
    return name == code.co_name and _parameters(node) == _parameter_names(code)


def _parameters(node: Definition) -> list[str]:
    args = node.args
    packed = [a.arg for a in (args.vararg, args.kwarg) if a is not None]
    return [a.arg for a in (*args.posonlyargs, *args.args, *args.kwonlyargs)] + packed


def _parameter_names(code: CodeType) -> list[str]:
    count = code.co_argcount + code.co_kwonlyargcount
    count += bool(code.co_flags & 0x04) + bool(code.co_flags & 0x08)
    return list(code.co_varnames[:count])


def _innermost(
    candidates: Sequence[tuple[Definition, str | None]], code: CodeType
) -> list[tuple[Definition, str | None]]:
    """Of lambdas that begin on one line, the smallest whose body holds all of the code's instructions."""
    places = [p for p in code.co_positions() if None not in p and p[2:] != (0, 0)]
    held = [(node, owner) for node, owner in candidates if places and all(_holds(node, span) for span in places)]
    return [pair for pair in held if not any(other in ast.walk(pair[0]) for other, _ in held if other is not pair[0])]


def _holds(node: Definition, span: tuple[Any, ...]) -> bool:
    body, (line, end_line, column, end_column) = node.body, span
    if not isinstance(body, ast.expr):
        return True
    first, last = (body.lineno, body.col_offset), (body.end_lineno, body.end_col_offset)
    return first <= (line, column) and (end_line, end_column) <= last


class _Spelled(ast.NodeTransformer):
    """Rewrites names that depend on the class around a definition: private names, and the arguments of ``super()``."""

    def __init__(self, owner: str | None):
        self.owner = (owner or "").lstrip("_")
        self.first: list[str | None] = []

    def _private(self, name: str) -> str:
        hidden = name.startswith("__") and not name.endswith("__")
        return f"_{self.owner}{name}" if hidden and self.owner else name

    def _inside(self, node: Definition) -> ast.AST:
        named = [*node.args.posonlyargs, *node.args.args]
        self.first.append(self._private(named[0].arg) if named else None)
        self.generic_visit(node)
        self.first.pop()
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        if self.first:
            node.name = self._private(node.name)
        return self._inside(node)

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        return self._inside(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        return node

    def visit_Name(self, node: ast.Name) -> ast.AST:
        node.id = self._private(node.id)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        node.attr = self._private(node.attr)
        return self.generic_visit(node)

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.arg = self._private(node.arg)
        return self.generic_visit(node)

    def visit_Nonlocal(self, node: ast.Nonlocal) -> ast.AST:
        node.names = [self._private(n) for n in node.names]
        return node

    def visit_Global(self, node: ast.Global) -> ast.AST:
        node.names = [self._private(n) for n in node.names]
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        bare = isinstance(node.func, ast.Name) and node.func.id == "super" and not node.args
        if bare and self.first and self.first[-1]:
            node.args = [ast.Name("__class__", ast.Load()), ast.Name(self.first[-1], ast.Load())]
            for argument in node.args:
                ast.copy_location(argument, node)
        return self.generic_visit(node)
