"""The switch that makes functions run without tracing, for debugging.

With it a ``tf.function`` is its Python function, so that a debugger, ``print`` and ``numpy()`` work at each call. It is
one switch for the process, as in the original, and is looked at when a function is called (``polymorphic``), so that
functions that have traces follow it too. What strategies trace themselves, to run on several replicas at once, is made
with ``always`` and traced all the same.

>>> run_functions_eagerly(True)
>>> functions_run_eagerly()
True
>>> run_functions_eagerly(False)
"""

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
