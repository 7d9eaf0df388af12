"""Operations that write events while a program runs.

Numbers go to the host from inside of device programs, also from branches, loops, towers and step loops, in the order in
which they are computed; of towers only the first one writes. Strings are the host's, between device programs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from towerstrat.errors import InvalidArgumentError, OpError
from towerstrat.graph.ir.context_stacks import SessionLike
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.graph.ir.op_registry import Rule, define_op, lookup, nothing
from towerstrat.graph.ir.types import HostArray, float32, string
from towerstrat.graph.lowering.lowering import Lowering
from towerstrat.graph.ops.collectives.all_reduce import position
from towerstrat.graph.ops.host.python_calls import check_place, emit
from towerstrat.platform import logs
from towerstrat.training.summaries.summary_ops import IMAGES, REAL, taking

Write = Callable[..., None]
"""Called with the values of an operation's inputs."""


def _lower(lowering: Lowering, op: Operation) -> list[Any]:
    emit(lowering, op, lambda write, *values: write(*values))
    return []


def _host(session: SessionLike, op: Operation, values: Sequence[Any]) -> list[Any]:
    _at_once(op.attrs["_write"], [np.asarray(v) for v in values])
    return []


_OF_NUMBERS: dict[str, Rule] = {
    "FlushSummaryWriter": nothing,
    "WriteAudioSummary": taking((float32,), "tensor", -1),
    "WriteHistogramSummary": taking(REAL, "values", -1),
    "WriteImageSummary": taking(IMAGES, "tensor", -1),
    "WriteScalarSummary": taking(REAL, "value", -1),
    "WriteSummary": nothing,
}
_OF_STRINGS = ("ImportEvent", "WriteGraphSummary", "WriteStringSummary")
for _type, _rule in _OF_NUMBERS.items():
    define_op(
        _type,
        _rule,
        lower=_lower,
        stateful=True,
        callback=True,
        differentiable=False,
        own="_write",
        hidden=("_write", "_skip"),
    )
for _type in ("CloseSummaryWriter", "CreateSummaryFileWriter", *_OF_STRINGS):
    define_op(_type, nothing, host=_host, stateful=True, differentiable=False, hidden=("_write",))


def write_numbers(type: str, inputs: Sequence[Tensor], write: Write, name: str | None = None) -> Operation | None:
    """Adds an operation that calls ``write`` with numbers from inside of the program; on towers the first one does.

    Args:
      type: one of those that run in programs.
      write: raises ValueError for values that it cannot show. In a program that is logged, and the program goes on.

    Returns:
      The operation; None where operations are executed eagerly: it is done.

    Raises:
      TypeError: values of a type that it cannot show.
      InvalidArgumentError: eagerly: ``write`` raises ValueError.
    """
    graph = get_default_graph()
    if graph.executing_eagerly:
        lookup(type).rule(inputs, {})
        _at_once(write, [np.asarray(t.numpy()) for t in inputs])
        return None
    axis = graph.axis

    def first(*values: Any) -> None:
        if axis is None or values[0] == 0:
            try:
                write(*(values if axis is None else values[1:]))
            except (OpError, ValueError) as error:
                logs.error("%s: nothing was written. %s", type, error)

    whole = inputs if axis is None else [position(axis), *inputs]
    return graph.add(type, whole, {"_write": first, "_skip": 0}, name)


def write_strings(type: str, inputs: Sequence[Tensor], write: Write, name: str | None = None) -> Operation | None:
    """Adds an operation of the host that calls ``write`` with values that may be strings. As ``write_numbers``.

    Raises:
      UnsupportedError: inside of towers.
    """
    graph = get_default_graph()
    if graph.executing_eagerly:
        _at_once(write, [np.asarray(t.numpy(), object if t.dtype is string else None) for t in inputs])
        return None
    check_place(type)
    return graph.add(type, inputs, {"_write": write}, name)


def _at_once(write: Write, values: Sequence[HostArray]) -> None:
    """Calls ``write``. What it cannot show is an InvalidArgumentError."""
    try:
        write(*values)
    except ValueError as error:
        raise InvalidArgumentError(None, None, str(error)) from None
