"""Reads what a Python file uses of ``tensorflow``, without running it: names and keywords, each with its place.

A name is followed from where it is bound, scope by scope: ``import tensorflow as tf; layers = tf.layers`` makes
``layers.dense`` a mention of ``tf.layers.dense``, here and in files that import ``layers`` from this one. What lies
beyond an index or an attribute of an object of the program's own cannot be told and is no mention; what lies beyond a
call is ``tf.Session().run``, a member of an object.
"""

from __future__ import annotations

import ast
import copy
import io
import tokenize
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, Protocol

ROOT = "tensorflow"
_ABSENT = {"ImportError", "ModuleNotFoundError", "AttributeError"}
_ANYTHING = {"Exception", "BaseException"}
_PYTHONS = {"PY2", "PY3", "version_info", "python_version", "python_version_tuple"}
_FIRST = "tf.compat.v1"
VERSION = "__version__"
_VERSIONS = {
    f"{tf}.{name}" for tf in ("tf", _FIRST, "tf.compat.v2") for name in (VERSION, "VERSION", "version.VERSION")
}
Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp


class Module(Protocol):
    """A module of the program's own, by what its names mean in tensorflow."""

    @property
    def meanings(self) -> Mapping[str, Meaning]:
        """The names that it binds and that mean something."""

    def get(self, name: str) -> Meaning | None:
        """What a name of it means, or a module in it; None for other names."""


Meaning = str | Module
"""A dotted name such as ``tf.nn``, or a module of the program's own."""
Modules = Callable[[str, int], Module | None]
"""(name, level of a relative import) -> a module that a file imports; None for those that are not the program's own."""


class Mention(NamedTuple):
    """A name of tensorflow in a file, or a keyword of a call of it.

    Attributes:
      name: ``tf.nn.relu``; ``tf.python.framework.ops`` for ``tensorflow.python.framework.ops``.
      keyword: the keyword of a call, or None for the name itself.
      line, column: from 1, in characters. width: how many characters of the line it takes.
      optional: its absence is caught (``try: ... except ImportError``) or asked for (``if hasattr(tf, ...)``).
    """

    name: str
    keyword: str | None
    line: int
    column: int
    width: int
    optional: bool

    def __str__(self) -> str:
        return f"{self.name}({self.keyword}=...)" if self.keyword else self.name


class Condition(NamedTuple):
    """A condition on the version of tensorflow.

    Attributes:
      test: an expression in which the version is the name ``VERSION``.
      wanted: what it has to be for the program to go on (an assertion, or one that raises otherwise); None: either.
      line: from 1. body, otherwise: the lines that are for when it holds, and for when it does not.
    """

    test: ast.expr
    wanted: bool | None
    line: int
    body: range
    otherwise: range


@dataclass
class Source:
    """A file as it was read.

    Attributes:
      mentions: in the order of the file. members: of what calls return, of which no more is known than who was called.
      imports: whether it imports tensorflow at all.
      statements: those that import something. conditions: those on the version of tensorflow.
      attributes: the names of all attributes, of whatever.
      meanings: what the names that the module binds mean in tensorflow.
      unbound: names that are used, that nothing in the file binds. modules: those of others that are imported. Both
        with their places, and only where neither their absence is caught nor Python's version asked before.
    """

    path: Path
    text: str
    mentions: list[Mention] = field(default_factory=list)
    members: list[Mention] = field(default_factory=list)
    imports: bool = False
    statements: list[ast.Import | ast.ImportFrom] = field(default_factory=list)
    conditions: list[Condition] = field(default_factory=list)
    attributes: set[str] = field(default_factory=set)
    meanings: Mapping[str, Meaning] = field(default_factory=dict)
    unbound: list[ast.Name] = field(default_factory=list)
    modules: list[tuple[str, ast.alias]] = field(default_factory=list)

    def by_version(self) -> frozenset[int]:
        """The lines that are for some versions of tensorflow only."""
        return frozenset(line for condition in self.conditions for line in (*condition.body, *condition.otherwise))


def read(path: Path, modules: Modules) -> Source:
    """Reads a file.

    Args:
      modules: finds the modules of the program's own that it imports.

    Raises:
      OSError: it cannot be opened. SyntaxError: it is not Python. ValueError: it is not text.
    """
    content = path.read_bytes()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the program's own strings
        tree = ast.parse(content)
    encoding, _ = tokenize.detect_encoding(io.BytesIO(content).readline)
    text = io.TextIOWrapper(io.BytesIO(content), encoding).read()
    source = Source(path, text)
    _Visitor(source, modules).run(tree)
    source.mentions.sort(key=lambda mention: (mention.line, mention.column))
    return source


def meaning_of(module: str) -> str | None:
    """``tf.nn`` for ``tensorflow.nn``; None for modules of others."""
    return "tf" + module.removeprefix(ROOT) if module == ROOT or module.startswith(f"{ROOT}.") else None


class _Scope:
    """Names that a module, class or function binds: what each means in tensorflow, or None."""

    def __init__(self, outer: _Scope | None = None, is_class: bool = False):
        self.outer = outer
        self.is_class = is_class
        self.bound: dict[str, Meaning | None] = {}
        self.elsewhere: dict[str, _Scope] = {}

    def bind(self, name: str, meaning: Meaning | None) -> None:
        if name in self.elsewhere:
            self.elsewhere[name].bind(name, meaning)
        # `try: import tensorflow.compat.v1 as tf`, else the plain one, means the first wherever it is there.
        elif not (meaning == "tf" and str(self.bound.get(name)).startswith(_FIRST)):
            self.bound[name] = meaning

    def module(self) -> _Scope:
        return self.outer.module() if self.outer else self

    def look_up(self, name: str) -> Meaning | None:
        """What a name means here; functions do not see the names of a class around them."""
        scope: _Scope | None = self
        while scope is not None:
            if name in scope.bound and (scope is self or not scope.is_class):
                return scope.bound[name]
            scope = scope.outer
        return None


class _Visitor(ast.NodeVisitor):
    def __init__(self, source: Source, modules: Modules):
        self._source = source
        self._modules = modules
        self._lines = source.text.split("\n")
        self._scope = _Scope()
        self._optional = False
        self._in_handler = False
        self._asked = False
        self._later: list[Callable[[], None]] = []
        self._stored: set[str] = set()
        self._loaded: list[ast.Name] = []
        self._star = False
        self._of_version: dict[str, ast.expr] = {}

    def run(self, tree: ast.Module) -> None:
        """Visits the module, then the bodies of its functions: they see what the module binds after them too."""
        self.visit(tree)
        while self._later:
            self._later.pop(0)()
        self._source.meanings = {name: meaning for name, meaning in self._scope.bound.items() if meaning is not None}
        if not self._star:
            self._source.unbound = [node for node in self._loaded if node.id not in self._stored]

    # ---- what is noted ---------------------------------------------------------------------------------------------

    def _note(self, name: str, node: ast.expr | ast.alias, keyword: str | None = None) -> None:
        if name == "tf":
            return
        line = self._lines[node.lineno - 1]
        column = characters(line, node.col_offset)
        last = node.end_col_offset if node.end_lineno == node.lineno else None
        end = len(line) if last is None else characters(line, last)
        kind = self._source.members if "()" in name else self._source.mentions
        kind.append(Mention(name, keyword, node.lineno, column + 1, end - column, self._optional))

    def _meaning(self, node: ast.expr | None) -> str | None:
        """The name that an expression such as ``tf.nn.relu`` or ``tf.Session().run`` spells."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        start = self._scope.look_up(node.id) if isinstance(node, ast.Name) else None
        if isinstance(node, ast.Call) and (called := self._meaning(node.func)) is not None:
            start = f"{called}()"
        while parts and start is not None and not isinstance(start, str):
            start = start.get(parts.pop())
        return ".".join([start, *reversed(parts)]) if isinstance(start, str) else None

    def visit_Attribute(self, node: ast.Attribute) -> None:
        self._source.attributes.add(node.attr)
        meaning = self._meaning(node)
        if meaning is None or not isinstance(node.ctx, ast.Load) or "()" in meaning:
            self.generic_visit(node)
        if meaning is not None and isinstance(node.ctx, ast.Load):
            self._note(meaning, node)

    def visit_Call(self, node: ast.Call) -> None:
        self.generic_visit(node)
        meaning = self._meaning(node.func)
        for keyword in node.keywords:
            if meaning is not None and "()" not in meaning and keyword.arg is not None:
                # A keyword's own place is that of its name, not of its value.
                place = ast.copy_location(ast.Name(keyword.arg), keyword)
                place.end_lineno, place.end_col_offset = keyword.lineno, keyword.col_offset + len(keyword.arg.encode())
                self._note(meaning, place, keyword.arg)

    # ---- what binds names ------------------------------------------------------------------------------------------

    def _bind(self, name: str, meaning: Meaning | None) -> None:
        self._stored.add(name)
        if not (self._in_handler and self._scope.look_up(name)):
            self._scope.bind(name, meaning)

    def visit_Name(self, node: ast.Name) -> None:
        if not isinstance(node.ctx, ast.Load):
            self._bind(node.id, None)
        elif not (self._optional or self._in_handler or self._asked):
            self._loaded.append(node)

    def visit_Import(self, node: ast.Import) -> None:
        self._source.statements.append(node)
        for alias in node.names:
            meaning = meaning_of(alias.name)
            bound = alias.name if alias.asname else alias.name.partition(".")[0]
            self._bind(alias.asname or bound, meaning_of(bound) or self._modules(bound, 0))
            self._imported(alias.name, meaning, alias)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        self._source.statements.append(node)
        module = None if node.level else meaning_of(node.module or "")
        own = self._modules(node.module or "", node.level) if module is None else None
        for alias in node.names:
            meaning = module and f"{module}.{alias.name}".removesuffix(".*")
            if alias.name == "*":
                self._star = True
                for name, bound in own.meanings.items() if own else ():
                    if not name.startswith("_"):
                        self._bind(name, bound)
            else:
                self._bind(alias.asname or alias.name, meaning or (own and own.get(alias.name)))
            self._imported("." * node.level + (node.module or ""), meaning, alias)

    def _imported(self, module: str, meaning: str | None, alias: ast.alias) -> None:
        if meaning is not None:
            self._source.imports = True
            self._note(meaning, alias)
        elif not (self._optional or self._in_handler or self._asked):
            self._source.modules.append((module, alias))

    def visit_Assign(self, node: ast.Assign) -> None:
        self.visit(node.value)
        for target in node.targets:
            self._assign(target, node.value)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        self.visit(node.annotation)
        if node.value is not None:
            self.visit(node.value)
            self._assign(node.target, node.value)

    def _assign(self, target: ast.expr, value: ast.expr) -> None:
        pairs: Iterable[tuple[ast.expr, ast.expr]] = [(target, value)]
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
            pairs = zip(target.elts, value.elts, strict=True)
        self._note_version(target, value)
        for one, what in [(one, self._meaning(what)) for one, what in pairs]:
            if isinstance(one, ast.Name):
                self._bind(one.id, what)
            else:
                self.visit(one)

    def visit_withitem(self, node: ast.withitem) -> None:
        self.visit(node.context_expr)
        if node.optional_vars is not None:
            self._assign(node.optional_vars, node.context_expr)

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        if node.name:
            self._bind(node.name, None)
        self.generic_visit(node)

    def visit_Global(self, node: ast.Global) -> None:
        self._scope.elsewhere.update(dict.fromkeys(node.names, self._scope.module()))

    def visit_Try(self, node: ast.Try) -> None:
        # What may be missing is tried only, and what replaces it is never the first choice.
        before = self._optional, self._in_handler
        catches = _catches_absence(node)
        self._optional = self._optional or catches
        self._visit_all(node.body)
        self._optional = before[0]
        self._in_handler = self._in_handler or catches
        self._visit_all(node.handlers)
        self._in_handler = before[1]
        self._visit_all([*node.orelse, *node.finalbody])

    def visit_Assert(self, node: ast.Assert) -> None:
        self._note_condition(node, node.test, True)
        self.generic_visit(node)

    def visit_If(self, node: ast.If) -> None:
        wanted = False if _ends(node.body) else True if _ends(node.orelse) else None
        self._note_condition(node, node.test, wanted, node.body, node.orelse)
        before = self._asked, self._optional
        self._asked = self._asked or bool(_PYTHONS & set(_names_in(node.test)))
        self.visit(node.test)
        self._optional = self._optional or self._asks_for_names(node.test)
        self._visit_all([*node.body, *node.orelse])
        self._asked, self._optional = before

    def _asks_for_names(self, test: ast.expr) -> bool:
        """Whether a condition is about what tensorflow has."""
        calls = (node for node in ast.walk(test) if isinstance(node, ast.Call) and node.args)
        return any("hasattr" in _names_in(call.func) and self._meaning(call.args[0]) for call in calls)

    # ---- the version -----------------------------------------------------------------------------------------------

    def _about_version(self, node: ast.expr) -> ast.expr | None:
        """The expression in terms of the version; None where it is about other things only."""
        found = _Versions(self._meaning, self._of_version)
        changed = found.visit(copy.deepcopy(node))
        return changed if found.found else None

    def _note_version(self, target: ast.expr, value: ast.expr) -> None:
        about = self._about_version(value)
        if about is None:
            return
        if isinstance(target, ast.Name):
            self._of_version[target.id] = about
        elif isinstance(target, ast.Tuple):
            # Maps have no elements that an index gives.
            parts = ast.Call(ast.Name("list", ast.Load()), [about], [])
            for i, part in enumerate(target.elts):
                if isinstance(part, ast.Name):
                    self._of_version[part.id] = ast.Subscript(parts, ast.Constant(i), ast.Load())

    def _note_condition(
        self,
        node: ast.stmt,
        test: ast.expr,
        wanted: bool | None,
        body: Sequence[ast.stmt] = (),
        otherwise: Sequence[ast.stmt] = (),
    ) -> None:
        about = self._about_version(test)
        if about is not None:
            condition = Condition(about, wanted, node.lineno, _lines_of(body), _lines_of(otherwise))
            self._source.conditions.append(condition)

    # ---- scopes ----------------------------------------------------------------------------------------------------

    def _visit_all(self, nodes: Sequence[ast.AST | None]) -> None:
        for node in nodes:
            if node is not None:
                self.visit(node)

    def _inside(self, scope: _Scope, nodes: Sequence[ast.AST]) -> None:
        outer, self._scope = self._scope, scope
        self._visit_all(nodes)
        self._scope = outer

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._visit_all([*node.decorator_list, *node.bases, *node.keywords])
        self._bind(node.name, None)
        self._inside(_Scope(self._scope, is_class=True), node.body)

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self._visit_all([*node.decorator_list, node.returns])
        self._bind(node.name, None)
        self._function(node, node.body)

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self._function(node, [node.body])

    def _function(self, node: Function, body: Sequence[ast.AST]) -> None:
        given = node.args
        arguments = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
        self._visit_all([*given.defaults, *given.kw_defaults, *(a.annotation for a in arguments if a)])
        scope = _Scope(self._scope)
        for argument in arguments:
            if argument is not None:
                scope.bind(argument.arg, None)
                self._stored.add(argument.arg)
        state = self._optional, self._in_handler, self._asked

        def visit_body() -> None:
            self._optional, self._in_handler, self._asked = state
            self._inside(scope, body)

        self._later.append(visit_body)

    def _comprehension(self, node: Comprehension) -> None:
        scope = _Scope(self._scope)
        values: list[ast.AST] = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
        self._inside(scope, [*node.generators, *values])

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _comprehension

    def visit_comprehension(self, node: ast.comprehension) -> None:
        self._visit_all([node.iter, node.target, *node.ifs])


class _Versions(ast.NodeTransformer):
    """Replaces what is the version of tensorflow by the name ``VERSION``."""

    def __init__(self, meaning: Callable[[ast.expr], str | None], derived: Mapping[str, ast.expr]):
        self._meaning = meaning
        self._derived = derived
        self.found = False

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        if self._meaning(node) in _VERSIONS:
            self.found = True
            return ast.Name(VERSION, ast.Load())
        self.generic_visit(node)
        return node

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if self._meaning(node) in _VERSIONS:
            self.found = True
            return ast.Name(VERSION, ast.Load())
        if node.id in self._derived:
            self.found = True
            return copy.deepcopy(self._derived[node.id])
        return node


def _ends(body: Sequence[ast.stmt]) -> bool:
    """Whether a block ends the program: it raises, or calls an exit."""
    last = body[-1] if body else None
    called = last.value.func if isinstance(last, ast.Expr) and isinstance(last.value, ast.Call) else None
    return isinstance(last, ast.Raise) or (
        called is not None and bool({"exit", "_exit", "quit"} & {*_names_in(called)})
    )


def _lines_of(body: Sequence[ast.stmt]) -> range:
    return range(body[0].lineno, (body[-1].end_lineno or body[-1].lineno) + 1) if body else range(0)


def _catches_absence(node: ast.Try) -> bool:
    """Whether a missing name is expected: an error of that kind is caught, or any while modules are imported."""
    caught = {name for h in node.handlers for name in (_names_in(h.type) if h.type else _ANYTHING)}
    if caught & _ANYTHING:
        return isinstance(node.body[0], ast.Import | ast.ImportFrom)
    return bool(caught & _ABSENT)


def _names_in(node: ast.AST) -> Iterator[str]:
    """The last parts of the names in an expression."""
    for inner in ast.walk(node):
        if isinstance(inner, ast.Name):
            yield inner.id
        elif isinstance(inner, ast.Attribute):
            yield inner.attr


def characters(line: str, offset: int) -> int:
    """Python counts columns in bytes of UTF-8."""
    return offset if line.isascii() else len(line.encode()[:offset].decode(errors="ignore"))
