"""Functions as they are written, without tracing: for looking at what happens inside of them."""

from __future__ import annotations


class _Setting:
    eagerly = False


def run_functions_eagerly(run_eagerly: bool) -> None:
    """From now on a ``tf.function`` calls its Python function each time, one operation at a time; False: traces."""
    _Setting.eagerly = bool(run_eagerly)


def functions_run_eagerly() -> bool:
    """Whether functions are called as they are written."""
    return _Setting.eagerly
