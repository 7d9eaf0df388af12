"""``if`` statements and conditional expressions: one branch by Python, or both as regions of an ``If`` operation.

A staged ``if`` builds each branch as a region, from the variables' values before it, and joins the values at the ends
leaf by leaf (``_Joined``). Equal constants and untouched objects stay as they are; leaves that differ must be tensors
or numbers of one dtype:

    if p: y = x + 1.             branch results [x + 1.], [2.]        y = output 0 of If
    else: y = 2.

A variable that only one branch assigns raises, unless it is the return value: then the other branch returns a blank,
which the flag ``do_return`` keeps from being used (``_fill``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from typing import TypeAlias

from towerstrat.graph.autograph.values import (
    ListWatch,
    is_carried,
    is_flag,
    is_number,
    is_staged,
    keep_effects,
    known_true,
    note_flags,
    placeholder_like,
    same_constant,
    scalar_condition,
    shown,
)
from towerstrat.graph.autograph.variables import Undefined, is_missing
from towerstrat.graph.ir import nest
from towerstrat.graph.ir.graph import Graph, get_default_graph
from towerstrat.graph.ir.graph_elements import Block, Tensor, has_effect
from towerstrat.graph.ir.user_lines import user_line
from towerstrat.graph.ops.control.branches import add_if
from towerstrat.graph.ops.control.regions import parts_of, rebuilt

_BRANCHES = ("main", "else")
Joint: TypeAlias = Callable[[Iterator[Tensor]], object]
"""Takes its share of the outputs of both branches; returns a variable's value."""


def if_stmt(
    cond: object,
    body: Callable[[], object],
    orelse: Callable[[], object],
    get_state: Callable[[], tuple[object, ...]],
    set_state: Callable[[tuple[object, ...]], None],
    symbol_names: tuple[str, ...],
    nouts: int,
) -> None:
    """Run an ``if`` statement; where the condition is a tensor, both branches are built and one runs.

    Args:
      cond: the condition; staged where it is a tensor of a graph.
      body: runs the statements of the main branch.
      orelse: runs those of the else branch.
      get_state: reads the variables that either branch assigns.
      set_state: writes them.
      symbol_names: their names.
      nouts: how many of those, the first ones, are used afterwards.
    """
    if not is_staged(cond):
        if cond:
            body()
        else:
            orelse()
        return
    before = get_state()

    def branch(function: Callable[[], object]) -> Callable[[], tuple[object, ...]]:
        def run() -> tuple[object, ...]:
            set_state(before)
            function()
            return get_state()[:nouts]

        return run

    pred = scalar_condition(cond, "if statement")
    watched = (ListWatch(body), ListWatch(orelse))
    try:
        after = branches(pred, (branch(body), branch(orelse)), symbol_names[:nouts], watched)
    except Exception:
        set_state(before)
        raise
    set_state((*after, *before[nouts:]))


def if_exp(cond: object, if_true: Callable[[], object], if_false: Callable[[], object], expr_repr: str) -> object:
    """``if_true() if cond else if_false()``."""
    if not is_staged(cond):
        return if_true() if cond else if_false()
    pred = scalar_condition(cond, f"conditional expression `... if {expr_repr} else ...`")
    return branches(pred, (lambda: (if_true(),), lambda: (if_false(),)), (f"... if {expr_repr} else ...",))[0]


def branches(
    pred: Tensor,
    functions: tuple[Callable[[], tuple[object, ...]], Callable[[], tuple[object, ...]]],
    names: Sequence[str],
    watched: Sequence[ListWatch] = (),
) -> list[object]:
    """Build both branches and return the variables' values after the one that runs.

    Args:
      pred: a scalar bool tensor.
      functions: build a branch and return the variables' values at its end.
      names: of the variables, for errors.
      watched: one per branch, refuses its tensors in Python lists from outside; none for expressions.

    Raises:
      ValueError: a variable has no value, or None, at the end of one branch.
      TypeError: its values differ in structure or type.
    """
    graph = get_default_graph()
    with keep_effects(graph), graph.name_scope("cond"):
        blocks, values = [], []
        for which, function in zip(_BRANCHES, functions, strict=True):
            description = f"the {which} branch of the if statement"
            holds = known_true(pred) if which == "main" else nullcontext()
            with graph.body(f"{description} at {user_line()}") as block, holds:
                block.predicate = graph.own(pred)
                values.append(function())
            for watch in watched:
                watch.check(block, description)
            blocks.append(block)
        joined = _Joined(graph, (blocks[0], blocks[1]))
        forms = [joined.form(name, a, b) for name, a, b in zip(names, *values, strict=True)]
        outputs = joined.outputs(pred)
        after = [form(outputs) for form in forms]
        note_flags(names, after)
        return after


class _Joined:
    """The results of both branches, collected variable by variable."""

    def __init__(self, graph: Graph, blocks: tuple[Block, Block]):
        self.graph = graph
        self.blocks = blocks
        self.results: tuple[list[Tensor], list[Tensor]] = ([], [])

    def form(self, name: str, a: object, b: object) -> Joint:
        """Join a variable's values at the ends of both branches; return a function from outputs to its value."""
        if (a is b and not (is_number(a) and not is_flag(name))) or (is_missing(a) and is_missing(b)):
            return lambda outputs: a
        a, b = _fill(name, a, b, 0), _fill(name, b, a, 1)
        try:
            nest.assert_same_structure(a, b)
        except (TypeError, ValueError) as error:
            raise TypeError(
                f"{shown(name)} must have the same nested structure in the main and else branches of the if statement "
                f"at {user_line()}: {error}"
            ) from None
        leaves = [self._leaf(name, x, y) for x, y in zip(nest.flatten(a), nest.flatten(b), strict=True)]
        return lambda outputs: nest.pack_sequence_as(a, [leaf(outputs) for leaf in leaves])

    def _leaf(self, name: str, a: object, b: object) -> Joint:
        for value, which in zip((a, b), _BRANCHES, strict=True):
            if value is None and a is not b:
                raise ValueError(
                    f"{shown(name)} is None at the end of the {which} branch (if statement at {user_line()})."
                )
        if not is_carried(a) or not is_carried(b):
            if not same_constant(a, b):
                raise TypeError(
                    f"{shown(name)} is {a!r} in the main branch, but {b!r} in the else branch of the if statement at "
                    f"{user_line()}. Only tensors, numbers and structures of them may differ; use tf.constant for text."
                )
            return lambda outputs: a
        first, second = self._parts(0, a), self._parts(1, b)
        if len(first) != len(second) or (len(first) > 1 and type(a) is not type(b)):
            raise TypeError(
                f"{shown(name)} is {a!r} in the main branch, but {b!r} in the else branch (at {user_line()})."
            )
        for x, y in zip(first, second, strict=True):
            if x.dtype is not y.dtype:
                raise TypeError(
                    f"{shown(name)} has dtype {x.dtype.name} in the main branch, but dtype {y.dtype.name} in the else "
                    f"branch of the if statement at {user_line()} ({x.name} was created at {x.op.line}, {y.name} at "
                    f"{y.op.line}). Use tf.cast."
                )
        self.results[0].extend(first)
        self.results[1].extend(second)
        return lambda outputs: rebuilt(a, outputs)

    def _parts(self, which: int, leaf: object) -> list[Tensor]:
        with self.graph.within(self.blocks[which]):
            return parts_of(leaf)

    def outputs(self, pred: Tensor) -> Iterator[Tensor]:
        for block, results in zip(self.blocks, self.results, strict=True):
            block.finish(results)
        if not self.results[0] and not any(has_effect(op) for block in self.blocks for op in block.needed):
            return iter(())
        return iter(add_if(pred, *self.blocks))


def _fill(name: str, value: object, opposite: object, which: int) -> object:
    """``value``, or a blank like the other branch's value where only that one returns."""
    if not is_missing(value):
        return value
    branch = f"the {_BRANCHES[which]} branch of the if statement at {user_line()}"
    if isinstance(value, Undefined):
        raise ValueError(f"'{name}' must also be initialized in {branch}.")
    stand_in = placeholder_like(opposite)
    if stand_in is None and opposite is not None:
        raise ValueError(
            f"{branch[0].upper()}{branch[1:]} must also have a return statement: the other returns {opposite!r}."
        )
    return stand_in
