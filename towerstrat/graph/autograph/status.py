"""Whether calls are converted right now, and by which options."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from towerstrat.graph.autograph.options import Options, options_for
from towerstrat.graph.ir.user_lines import CONVERSION, Status


def current_options() -> Options:
    """The options of the converted code that runs in this thread."""
    return CONVERSION.options or options_for()


@contextmanager
def entered(status: Status, options: Options | None = None) -> Iterator[None]:
    """Set the conversion status of calls inside: converted (ENABLED) or not (DISABLED)."""
    saved = CONVERSION.status, CONVERSION.options
    CONVERSION.status = status
    if options is not None:
        CONVERSION.options = options
    try:
        yield
    finally:
        CONVERSION.status, CONVERSION.options = saved
