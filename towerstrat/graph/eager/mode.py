"""Whether programs run eagerly or as graphs: decided once, before the first operation."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from towerstrat.graph.eager.context import context
from towerstrat.graph.ir.core import enter, entered_graphs, get_default_graph, global_graph, ground, set_ground

_TOO_LATE = "{} must be called at program startup: operations were made already, the first one at {}."


def executing_eagerly() -> bool:
    """Whether an operation made now is executed at once.

    >>> executing_eagerly()
    False
    """
    return get_default_graph().executing_eagerly


def executing_eagerly_outside_functions() -> bool:
    """Whether operations outside of graphs and functions are executed at once."""
    graphs = [g for g in entered_graphs() if not g.building_function]
    return graphs[-1].executing_eagerly if graphs else ground() is not None


def _check_early(what: str) -> None:
    made = [] if ground() is not None else global_graph().get_operations()
    if made:
        raise ValueError(_TOO_LATE.format(what, made[0].line))
    used = context().first_line if ground() is not None else None
    if used is not None:
        raise ValueError(_TOO_LATE.format(what, used))


def enable_eager_execution(config: Any = None, device_policy: Any = None, execution_mode: Any = None) -> None:
    """From now on operations outside of graphs and functions are executed at once.

    Args:
      config: a ``tf.ConfigProto``; its sizes and counts change no value.
      device_policy, execution_mode: placement and asynchrony are JAX's; other values than None change nothing.

    Raises:
      ValueError: operations were made already.
    """
    if ground() is None:
        _check_early("tf.enable_eager_execution")
        set_ground(context())


def disable_eager_execution() -> None:
    """From now on programs are graphs, run by sessions.

    Raises:
      ValueError: operations were executed already.
    """
    if ground() is not None:
        _check_early("tf.disable_eager_execution")
        set_ground(None)


@contextmanager
def eager_mode() -> Iterator[None]:
    """Operations made inside are executed at once."""
    with enter(context()):
        yield


@contextmanager
def graph_mode() -> Iterator[None]:
    """Operations made inside are added to the global graph."""
    with enter(global_graph()):
        yield


def refuse_eager(what: str, instead: str) -> None:
    """Raises where programs run eagerly, of what graphs alone have.

    Raises:
      RuntimeError: it names ``what`` and what to use instead.
    """
    if get_default_graph().executing_eagerly:
        raise RuntimeError(f"{what} is not supported when eager execution is enabled. {instead}")
