"""Switches between eager execution and graphs: which default graph new operations go to.

Both are graphs: the eager context executes operations as they are added, the global graph keeps them for a session. The
ground is the default below all entered graphs; ``enable_eager_execution`` sets it to the eager context, once, before
the first operation. ``eager_mode`` and ``graph_mode`` enter one for a block:

>>> from towerstrat.graph.ir.tensor_conversion import constant
>>> with eager_mode():
...     executing_eagerly(), float(constant(2.0))
(True, 2.0)
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from towerstrat.graph.eager.context import context
from towerstrat.graph.ir.graph import enter, entered_graphs, get_default_graph, global_graph, ground, set_ground

_TOO_LATE = "{} must be called at program startup: operations were made already, the first one at {}."


def executing_eagerly() -> bool:
    """Whether operations execute at once here, in the current thread and scope.

    >>> executing_eagerly()
    False
    """
    return get_default_graph().executing_eagerly


def executing_eagerly_outside_functions() -> bool:
    """As ``executing_eagerly``, seen from outside of the functions that are being traced."""
    graphs = [g for g in entered_graphs() if not g.building_function]
    return graphs[-1].executing_eagerly if graphs else ground() is not None


def _check_early(name: str) -> None:
    operations = [] if ground() is not None else global_graph().get_operations()
    if operations:
        raise ValueError(_TOO_LATE.format(name, operations[0].line))
    used = context().first_line if ground() is not None else None
    if used is not None:
        raise ValueError(_TOO_LATE.format(name, used))


def enable_eager_execution(config: Any = None, device_policy: Any = None, execution_mode: Any = None) -> None:
    """Make eager execution the default: operations outside of graphs and functions execute at once.

    Args:
      config: a ``tf.ConfigProto``; its sizes and counts change no value.
      device_policy: changes nothing: placement is JAX's.
      execution_mode: changes nothing: dispatch is JAX's, asynchronous.

    Raises:
      ValueError: operations were made already.
    """
    if ground() is None:
        _check_early("tf.enable_eager_execution")
        set_ground(context())


def disable_eager_execution() -> None:
    """Make graphs, run by sessions, the default.

    Raises:
      ValueError: operations were executed already.
    """
    if ground() is not None:
        _check_early("tf.disable_eager_execution")
        set_ground(None)


@contextmanager
def eager_mode() -> Iterator[None]:
    """Execute operations at once inside, whatever the default is."""
    with enter(context()):
        yield


@contextmanager
def graph_mode() -> Iterator[None]:
    """Add operations to the global graph inside, whatever the default is."""
    with enter(global_graph()):
        yield


def refuse_eager(name: str, instead: str) -> None:
    """Raise where operations execute eagerly: for functions that only graphs have.

    Args:
      name: the function, for the message.
      instead: a sentence that says what to use.

    Raises:
      RuntimeError: operations execute eagerly here.
    """
    if get_default_graph().executing_eagerly:
        raise RuntimeError(f"{name} is not supported when eager execution is enabled. {instead}")
