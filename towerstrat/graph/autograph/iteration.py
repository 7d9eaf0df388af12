"""``for`` statements: over tensors, over ``tf.range``, over Python iterables, and over types that register a loop.

    for i in tf.range(5)         staged: a counter, the range is not stored
    for row in x                 staged: the rows of a TensorArray, or x[i] for strings
    for batch in dataset         ``StagedIterable._staged_loop``, which its type implements
    for name in ["a", "b"]       Python's loop: unrolled in the trace

Eagerly all are Python's loop. ``extra_test`` is the flag of a break or return: it joins the condition; a known count is
then passed as ``maximum_iterations``, since the condition alone no longer tells the number of iterations.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from towerstrat.graph.autograph.logical import and_
from towerstrat.graph.autograph.loops import State, Variables, python_condition, staged_while
from towerstrat.graph.autograph.values import is_staged
from towerstrat.graph.autograph.variables import Undefined
from towerstrat.graph.ir.argument_types import TensorLike
from towerstrat.graph.ir.constant_folding import constant_value
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.graph.ir.types import string
from towerstrat.graph.ir.user_lines import user_line
from towerstrat.graph.ops.array import arrays
from towerstrat.graph.ops.control.tensor_array import TensorArray
from towerstrat.graph.ops.math.arithmetic import add, greater, greater_equal, less, logical_and, logical_or

Body = Callable[[Any], object]
Test = Callable[[], TensorLike] | None


class StagedIterable:
    """Base of iterables whose ``for`` statements, in converted code, become loops of the graph."""

    def _staged_loop(self, body: Body, variables: Variables, goes_on: Test) -> None:
        """Add the loop to the current graph.

        Args:
          body: ``body(element)`` runs the statements for one element.
          variables: those that the statements assign.
          goes_on: where it is not None, called before each element: whether there was no break or return so far.
        """
        raise NotImplementedError


def for_stmt(
    iter_: object,
    extra_test: Test,
    body: Body,
    get_state: Callable[[], State],
    set_state: Callable[[State], None],
    symbol_names: tuple[str, ...],
    opts: Mapping[str, Any],
) -> None:
    """Run a ``for`` statement, staged where the iterable is a tensor or a ``StagedIterable``.

    Args:
      iter_: the iterable.
      extra_test: whether there was no break or return so far, where the loop has any.
      body: ``body(element)`` runs the statements for one element.
      get_state: reads the variables that the loop assigns.
      set_state: writes them.
      symbol_names: their names.
      opts: arguments of ``set_loop_options``, and the name of the loop's target.
    """
    variables = Variables(get_state, set_state, symbol_names, opts)
    if get_default_graph().executing_eagerly:
        _over_python(iter_, body, extra_test)
        return
    if isinstance(iter_, StagedIterable):
        iter_._staged_loop(body, variables, extra_test)
    elif not is_staged(iter_):
        _over_python(iter_, body, extra_test)
    elif isinstance(iter_, Tensor) and iter_.op.type == "Range" and iter_.graph is get_default_graph():
        _over_range(iter_, body, variables, extra_test)
    else:
        _over_rows(convert_to_tensor(iter_), body, variables, extra_test)


def _over_python(iterable: Any, body: Body, goes_on: Test) -> None:
    def proceeds() -> bool:
        description = "A break or return in this Python loop depends on a tensor"
        return goes_on is None or python_condition(goes_on(), description)

    if not proceeds():
        return
    for target in iterable:
        body(target)
        if not proceeds():
            break


def _both(test: Tensor, goes_on: Test) -> object:
    return test if goes_on is None else and_(lambda: test, goes_on)


def _with_bound(variables: Variables, count: int | None, goes_on: Test) -> Variables:
    """Add ``maximum_iterations``, where a break makes the condition alone not tell the number of iterations."""
    if count is None or goes_on is None or "maximum_iterations" in variables.options:
        return variables
    return variables._replace(options={**variables.options, "maximum_iterations": count})


def _over_range(iterable: Tensor, body: Body, variables: Variables, goes_on: Test) -> None:
    """Stage a loop over ``tf.range``: its numbers are counted, not stored."""
    start, limit, delta = iterable.op.inputs
    current = start
    step = constant_value(delta)

    def set_current(value: Tensor) -> None:
        nonlocal current
        current = value

    def get() -> State:
        # Python's target is unbound after no iteration; the original gives it the start of the range.
        named = zip(variables.names, variables.get(), strict=True)
        target = variables.options.get("iterate_names")
        return tuple(current if n == target and isinstance(v, Undefined) else v for n, v in named)

    def test() -> object:
        if step is not None:
            inside = less(current, limit) if step >= 0 else greater(current, limit)
        else:
            up = logical_and(greater_equal(delta, _zero(delta)), less(current, limit))
            inside = logical_or(up, logical_and(less(delta, _zero(delta)), greater(current, limit)))
        return _both(inside, goes_on)

    def advance() -> None:
        body(current)
        set_current(add(current, delta))

    known = iterable.dims[0] if iterable.dims else None
    state = _with_bound(variables._replace(get=get), known, goes_on)
    staged_while(
        test, advance, state.with_hidden("the number of the range", lambda: current, set_current), "for loop", body
    )


def _zero(like: Tensor) -> Tensor:
    return convert_to_tensor(0, like.dtype)


def _over_rows(iterable: Tensor, body: Body, variables: Variables, goes_on: Test) -> None:
    dims = iterable.dims
    if dims == ():
        raise ValueError(
            f"A for loop needs a tensor with a first dimension, got the scalar {iterable!r} (at {user_line()})."
        )
    known = dims[0] if dims is not None else None
    count = arrays.shape(iterable)[0] if known is None else known
    if iterable.dtype is string:
        row: Callable[[Tensor], Tensor] = lambda i: iterable[i]  # noqa: E731
    else:
        row = TensorArray(iterable.dtype, size=count).unstack(iterable).read
    index = convert_to_tensor(0)

    def set_index(value: Tensor) -> None:
        nonlocal index
        index = value

    def advance() -> None:
        element = row(index)
        if dims is not None:
            element.set_shape(dims[1:])
        body(element)
        set_index(add(index, 1))

    def test() -> object:
        return _both(less(index, count), goes_on)

    state = _with_bound(variables, known, goes_on)
    staged_while(test, advance, state.with_hidden("the index of the row", lambda: index, set_index), "for loop", body)
