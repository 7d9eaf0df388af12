"""``and``, ``or``, ``not`` and comparisons of converted code; chained comparisons arrive here as ``and``.

A staged ``a and b`` must not run b where a is False, if b has effects, can fail, or is dear: then it is an ``If``. If b
consists only of cheap operations that cannot fail (``_CHEAP``), both run and a ``logical_and`` joins them:

    x > 0 and x < 9         logical_and(greater, less)
    x > 0 and f(1 / x)      If(x > 0, f(1 / x), False)
"""

from __future__ import annotations

from collections.abc import Callable

from towerstrat.graph.autograph.values import Staged, is_staged, is_unset_flag, keep_effects, scalar_condition
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Block, Tensor
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.graph.ir.types import bool_
from towerstrat.graph.ops.control.branches import add_if
from towerstrat.graph.ops.math.arithmetic import equal, logical_and, logical_not, logical_or

_CHEAP = frozenset(
    ("Abs", "Add", "AddV2", "Cast", "Const", "Equal", "Greater", "GreaterEqual", "Identity", "Less", "LessEqual",
     "LogicalAnd", "LogicalNot", "LogicalOr", "Maximum", "Minimum", "Mul", "Neg", "NotEqual", "ReadVariableOp", "Sub")
)  # fmt: skip
"""Types of operations that may run although nobody asks for their value: quick, without effect, and never failing."""


def and_(a: Callable[[], object], b: Callable[[], object]) -> object:
    left = a()
    if not is_staged(left):
        return left and b()
    return _lazy(left, b, "and")


def or_(a: Callable[[], object], b: Callable[[], object]) -> object:
    left = a()
    if not is_staged(left):
        return left or b()
    return _lazy(left, b, "or")


def not_(a: object) -> bool | Tensor:
    if not is_staged(a):
        return not a
    return True if is_unset_flag(a) else logical_not(a)


def eq(a: object, b: object) -> object:
    return equal(a, b) if is_staged(a) or is_staged(b) else a == b


def not_eq(a: object, b: object) -> bool | Tensor:
    return not_(eq(a, b))


def _lazy(left: Staged, right: Callable[[], object], sign: str) -> Tensor:
    """Evaluate the right side only where the left one does not decide; cheap right sides in any case."""
    pred = scalar_condition(left, f"left side of `{sign}`")
    graph = get_default_graph()
    with keep_effects(graph):
        with graph.body(f"the right side of `{sign}`") as block:
            block.predicate = graph.own(pred)
            value = scalar_condition(right(), f"right side of `{sign}`")
        if all(op.type in _CHEAP for op in block.ops):
            _dissolve(block)
            both: Tensor = logical_and(pred, value) if sign == "and" else logical_or(pred, value)
            return both
        with graph.body(f"the left side of `{sign}`") as decided:
            decided.predicate = graph.own(pred)
        block.finish([value])
        decided.finish([convert_to_tensor(sign == "or", bool_)])
        sides = (block, decided) if sign == "and" else (decided, block)
        return add_if(pred, *sides)[0]


def _dissolve(block: Block) -> None:
    """Move the operations of a region that was just built to the region around it."""
    outer = block.parent
    assert outer is not None
    for op in block.ops:
        op.block = outer
    outer.ops += block.ops
    block.ops = []
