"""The front end: from a function's syntax tree to one that calls operators; the only user of ``malt``.

``malt`` (diastatic-malt) is autograph's own front end without TensorFlow. Its converters rewrite a tree in steps; the
operators that the result calls (as attributes of ``ag__``) are ours. The order of the steps matters: ``break``,
``continue`` and ``return`` become flags first, so that the control flow step meets only ``if`` and loops.

    while x < n:               def get_state(): return (x,)
        if x == 3: break       def loop_body(): ...                  break_ = True, below ``if not break_``
        x = x + 1              ag__.while_stmt(loop_test, loop_body, get_state, set_state, ("break_", "x"), {})

Around malt's steps: ``_Prepared`` writes out syntax that they do not expect, ``_Checked`` refuses by name what they do
not know, and ``_Repaired`` and ``_place`` make a tree that ``compile`` takes, with the user's line at each node.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from types import ModuleType, SimpleNamespace
from typing import Any, NamedTuple

from malt.converters import (
    break_statements,
    call_trees,
    conditional_expressions,
    continue_statements,
    control_flow,
    directives,
    functions,
    logical_expressions,
    return_statements,
    variables,
)
from malt.core import converter
from malt.lang import directives as marks
from malt.pyct import anno, cfg, naming, origin_info, parser, qual_names, templates, transformer
from malt.pyct.errors import PyCTError
from malt.pyct.static_analysis import activity, reaching_definitions

from towerstrat.graph.autograph.options import Options, Refused, set_loop_options
from towerstrat.graph.autograph.source import Definition


class Rewritten(NamedTuple):
    """A converted definition.

    Attributes:
      nodes: the statements that define ``name``.
      generated: names of functions that the conversion made.
    """

    nodes: list[Any]
    name: str
    generated: frozenset[str]


def rewrite(node: Definition, filename: str, namespace: Mapping[str, Any], options: Options) -> Rewritten:
    """Convert ``node``: operators instead of statements, each node with the user's line.

    Args:
      node: the function's definition, or a lambda; changed in place.
      filename: of the user's source, for tracebacks.
      namespace: the values of the names that the function sees from outside.
      options: of the conversion; malt's converters ask them.

    Raises:
      Refused: something in it cannot be converted.
    """
    name = node.name if isinstance(node, ast.FunctionDef) else "lambda_"
    _remember_lines(node, filename, name)
    _strip(node)
    _Prepared().visit(node)
    namer = naming.Namer(namespace)
    new_name = namer.new_symbol(f"tf__{name}", ())
    info = transformer.EntityInfo(new_name, "", filename, (), namespace)
    context = transformer.Context(info, namer, converter.ProgramContext(options))
    try:
        statement = _convert(node, context)
    except (PyCTError, NotImplementedError, ValueError, AttributeError, KeyError, AssertionError, TypeError) as error:
        raise Refused(f"{str(error) or type(error).__name__}") from error
    if isinstance(statement, ast.Lambda):
        statement = ast.Assign([ast.Name(new_name, ast.Store())], statement)
    else:
        statement.name = new_name
    nodes = [statement]
    generated = frozenset(namer.generated_names)
    _Repaired().visit(statement)
    _place(statement, node.lineno)
    return Rewritten(nodes, new_name, generated)


def _remember_lines(node: Definition, filename: str, name: str) -> None:
    for part in ast.walk(node):
        if isinstance(part, ast.expr | ast.stmt | ast.arg | ast.excepthandler | ast.keyword):
            location = origin_info.Location(filename, part.lineno, part.col_offset)
            anno.setanno(part, anno.Basic.ORIGIN, origin_info.OriginInfo(location, name, "", None))


def _strip(node: Definition) -> None:
    """Remove defaults and annotations, which are evaluated where the original is defined."""
    args = node.args
    args.defaults = [ast.Constant(None) for _ in args.defaults]
    args.kw_defaults = [None if d is None else ast.Constant(None) for d in args.kw_defaults]
    for arg in (*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg):
        if arg is not None:
            arg.annotation = None
    if isinstance(node, ast.FunctionDef):
        node.returns = None


def _convert(node: Any, context: Any) -> Any:
    _Checked().visit(node)
    graphs = cfg.build(node)
    node = qual_names.resolve(node)
    node = activity.resolve(node, context, None)
    node = reaching_definitions.resolve(node, context, graphs)
    anno.dup(node, {anno.Static.DEFINITIONS: anno.Static.ORIG_DEFINITIONS})
    node = functions.transform(node, context)
    node = _LoopOptions(context).visit(node)
    node = break_statements.transform(node, context)
    node = _Asserts(context).visit(node)
    node = continue_statements.transform(node, context)
    node = return_statements.transform(node, context)
    _give_lines_to_guards(node)
    node = call_trees.transform(node, context)
    node = control_flow.transform(node, context)
    node = _Choices(context).visit(node)
    node = logical_expressions.transform(node, context)
    return variables.transform(node, context)


def _give_lines_to_guards(node: ast.AST) -> None:
    """Give a line to each ``if`` that the converters put around statements after a break, continue or return."""
    for guard in ast.walk(node):
        if isinstance(guard, ast.If) and not anno.hasanno(guard, anno.Basic.ORIGIN):
            inside = (part for statement in guard.body for part in ast.walk(statement))
            origin = next(
                (anno.getanno(p, anno.Basic.ORIGIN) for p in inside if anno.hasanno(p, anno.Basic.ORIGIN)), None
            )
            if origin is not None:
                anno.setanno(guard, anno.Basic.ORIGIN, origin)


class _Prepared(ast.NodeTransformer):
    """Rewrites syntax that the converters do not expect: docstring-only bodies, ``else`` of try, ``except as``."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        if len(node.body) == 1 and ast.get_docstring(node) is not None:
            node.body.append(ast.copy_location(ast.Pass(), node.body[0]))
        return self.generic_visit(node)

    def visit_Try(self, node: ast.Try) -> ast.AST:
        if node.orelse:
            node.orelse.insert(0, ast.copy_location(ast.Pass(), node.orelse[0]))
        return self.generic_visit(node)

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> ast.AST:
        if node.name is not None:
            caught = ast.Assign([ast.Name(node.name, ast.Store())], parser.parse_expression("ag__.caught()"))
            node.body.insert(0, ast.fix_missing_locations(ast.copy_location(caught, node)))
            node.name = None
        return self.generic_visit(node)


class _Checked(ast.NodeVisitor):
    """Refuses syntax that the converters do not know, by name."""

    def _refuse(self, node: ast.AST, description: str) -> None:
        raise Refused(f"{description} (line {getattr(node, 'lineno', '?')})")

    def visit_Yield(self, node: ast.Yield) -> None:
        self._refuse(node, "it holds a generator")

    def visit_YieldFrom(self, node: ast.YieldFrom) -> None:
        self._refuse(node, "it holds a generator")

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        self._refuse(node, "it holds a coroutine")

    def visit_Match(self, node: ast.Match) -> None:
        self._refuse(node, "it holds a match statement")

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._refuse(node, "it defines a class")

    def visit_NamedExpr(self, node: ast.NamedExpr) -> None:
        self._refuse(node, "it holds an assignment expression (`:=`)")

    def visit_TryStar(self, node: ast.AST) -> None:
        self._refuse(node, "it holds an except* clause")


class _LoopOptions(directives.DirectivesTransformer):  # type: ignore[misc]  # malt has no types
    """Removes calls of ``set_loop_options`` from loops and notes their arguments on the loop."""

    def visit_Attribute(self, node: Any) -> Any:
        node = self.generic_visit(node)
        parent = anno.getanno(node.value, directives.STATIC_VALUE, default=None)
        if isinstance(parent, ModuleType | SimpleNamespace) and hasattr(parent, node.attr):
            anno.setanno(node, directives.STATIC_VALUE, getattr(parent, node.attr))
        return node

    def visit_Expr(self, node: Any) -> Any:
        self.state[directives._LoopScope].statements_visited += 1
        node = self.generic_visit(node)
        call = node.value
        if not isinstance(call, ast.Call):
            return node
        if anno.getanno(call.func, directives.STATIC_VALUE, default=None) is not set_loop_options:
            return node
        scope = self.state[directives._LoopScope]
        if scope.level < 2 or scope.statements_visited > 1:
            raise Refused(f"set_loop_options must be the first statement of a loop (line {call.lineno})")
        noted = anno.getanno(scope.ast_node, anno.Basic.DIRECTIVES, {})
        noted[marks.set_loop_options] = directives._map_args(call, marks.set_loop_options)
        anno.setanno(scope.ast_node, anno.Basic.DIRECTIVES, noted)
        return None


class _Asserts(converter.Base):  # type: ignore[misc]  # malt has no types
    def visit_Assert(self, node: Any) -> Any:
        self.generic_visit(node)
        message = ast.Constant(None) if node.msg is None else node.msg
        statements = templates.replace("ag__.assert_stmt(test, lambda: msg)", test=node.test, msg=message)
        origin_info.copy_origin(node, statements[-1])
        return statements


class _Choices(conditional_expressions.ConditionalExpressionTransformer):  # type: ignore[misc]  # malt has no types
    """Converter of conditional expressions, nested ones too."""

    def visit_IfExp(self, node: Any) -> Any:
        return super().visit_IfExp(self.generic_visit(node))


class _Repaired(ast.NodeTransformer):
    """Makes a tree that was only meant to be printed acceptable to ``compile``."""

    def generic_visit(self, node: ast.AST) -> ast.AST:
        for field in type(node)._fields:
            if isinstance(getattr(node, field, None), tuple):
                setattr(node, field, list(getattr(node, field)))
        if "ctx" in type(node)._fields and getattr(node, "ctx", None) is None:
            node.ctx = ast.Load()  # type: ignore[attr-defined]
        return super().generic_visit(node)


def _place(node: ast.AST, line: int) -> int:
    """Set the user's line on a node and those below; a node without one gets the last line before it."""
    origin = anno.getanno(node, anno.Basic.ORIGIN, default=None)
    line = line if origin is None else origin.loc.lineno
    if "lineno" in type(node)._attributes:
        # Without columns: those of the tree are not those of the line.
        node.lineno = node.end_lineno = line  # type: ignore[attr-defined]
        node.col_offset = node.end_col_offset = -1  # type: ignore[attr-defined]
    for field in type(node)._fields:
        value = getattr(node, field, None)
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                line = _place(child, line)
    return line
