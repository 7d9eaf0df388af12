"""Whether calls are converted right now, and what to say about code that was not."""

from __future__ import annotations

import enum
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import CodeType

from towerstrat.graph.autograph.conversion import reason_of
from towerstrat.graph.autograph.front import Options, options_for
from towerstrat.graph.ir import trace


class Status(enum.Enum):
    """Of a thread: outside of converted code, inside of it, and below ``do_not_convert``."""

    UNSPECIFIED = 0
    ENABLED = 1
    DISABLED = 2


class _Current(threading.local):
    def __init__(self) -> None:
        self.status = Status.UNSPECIFIED
        self.options = options_for()


current = _Current()


@contextmanager
def entered(status: Status, options: Options | None = None) -> Iterator[None]:
    saved = current.status, current.options
    current.status = status
    if options is not None:
        current.options = options
    try:
        yield
    finally:
        current.status, current.options = saved


_left: dict[str, str] = {}
_UNCALLED = "it was called by code that is not converted"


def note_left(code: CodeType, reason: str) -> None:
    """Remembers why a call of ``code`` was not converted, where the code itself does not say."""
    _left[f"{code.co_filename}:{code.co_firstlineno}"] = reason


def why_unconverted() -> str:
    """For an error about a tensor that Python control flow was used on: which code was not converted, and why.

    The code is that of the innermost frame that is not towerstrat's own. Empty where there is nothing to say: the code
    is converted, or nothing is being converted in this thread.
    """
    code = trace.user_code()
    if code is None or (current.status is Status.UNSPECIFIED and reason_of(code) is None):
        return ""
    reason = reason_of(code)
    where = f"{code.co_name} ({code.co_filename}:{code.co_firstlineno})"
    if reason == "":
        return f"{where} is converted, but not at this place: write it as a statement of if, while or for."
    if reason is None:
        own = "it is below tf.autograph.experimental.do_not_convert"
        reason = (
            own
            if current.status is Status.DISABLED
            else _left.get(f"{code.co_filename}:{code.co_firstlineno}", _UNCALLED)
        )
    return f"{where} was not converted by autograph: {reason}."


trace.explain_unconverted_with(why_unconverted)
