"""The switch that makes functions run without tracing, for debugging."""

from __future__ import annotations


class _Setting:
    """The process-wide switch."""

    eagerly = False


def run_functions_eagerly(run_eagerly: bool) -> None:
    """Make each ``tf.function`` call its Python function directly (True), or trace it (False, the default)."""
    _Setting.eagerly = bool(run_eagerly)


def functions_run_eagerly() -> bool:
    """Whether each ``tf.function`` calls its Python function directly."""
    return _Setting.eagerly
