"""``tf.debugging``: whether tracebacks leave out the lines of the package."""

from __future__ import annotations


class _Filtering:
    """Whether they do, in this process."""

    enabled = True


_filtering = _Filtering()


def is_traceback_filtering_enabled() -> bool:
    """Whether errors that come from models show the program's lines alone, without those of keras."""
    return _filtering.enabled


def enable_traceback_filtering() -> None:
    """Errors that come from models show the program's lines alone, as they do at first."""
    _filtering.enabled = True


def disable_traceback_filtering() -> None:
    """Errors that come from models show the lines of keras too."""
    _filtering.enabled = False
