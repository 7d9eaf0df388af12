"""Functions as they are written, without tracing: for looking at what happens inside of them."""

from __future__ import annotations

from towerstrat.graph.functions.polymorphic import EAGERLY


def run_functions_eagerly(run_eagerly: bool) -> None:
    """From now on a ``tf.function`` calls its Python function each time, one operation at a time; False: traces."""
    EAGERLY[0] = bool(run_eagerly)


def functions_run_eagerly() -> bool:
    """Whether functions are called as they are written."""
    return EAGERLY[0]
