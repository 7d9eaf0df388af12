"""The user's line that created an operation, and the reasons why code was not converted by autograph.

Every error names a line of the user's program: that of the innermost frame whose file is neither ours nor Python's own
machinery between (``_SKIPPED``). Only file, line and function are kept, a frame would keep its locals alive; the text
is read when a message is made.

    Dimensions must be equal, but are 3 and 4. ...
      operation: MatMul (type MatMul) on (float32(2, 3), float32(4, 5))
      created at: train.py:12 in model: y = tf.matmul(x, w)
"""

from __future__ import annotations

import contextlib
import enum
import functools
import linecache
import os
import sys
import weakref
from types import CodeType, FrameType
from typing import Any, NamedTuple

from towerstrat.platform.threads import ThreadState

_OURS = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))) + os.sep
_SKIPPED = (_OURS, contextlib.__file__, "<frozen ")
"""Where frames are nobody's: ours, and those of ``contextlib`` and of modules frozen into Python between them."""
_PACKAGES = (f"{os.sep}tensorflow_estimator{os.sep}", f"{os.sep}keras{os.sep}src{os.sep}")
"""In the paths of files of the packages that serve ``tf.estimator`` and ``tf.keras``."""


class UserLine(NamedTuple):
    """A line of the user's program: file, 1-based line number and function name."""

    filename: str
    lineno: int
    function: str

    @property
    def text(self) -> str:
        return linecache.getline(self.filename, self.lineno).strip()

    def __str__(self) -> str:
        location = f"{self.filename}:{self.lineno} in {self.function}"
        return f"{location}: {self.text}" if self.text else location


def is_packaged(filename: str) -> bool:
    """Whether a file is one of a package that serves public names: its frames are nobody's either."""
    return any(package in filename for package in _PACKAGES)


@functools.cache
def _is_users(filename: str) -> bool:
    return not filename.startswith(_SKIPPED) and not is_packaged(filename)


def user_line() -> UserLine:
    """The innermost frame of the calling thread that is not towerstrat's own."""
    last = sys._getframe(1)
    frame: FrameType | None = last
    while frame is not None:
        code = frame.f_code
        if _is_users(code.co_filename):
            return UserLine(code.co_filename, frame.f_lineno, code.co_name)
        last = frame
        frame = frame.f_back
    return UserLine(last.f_code.co_filename, last.f_lineno, last.f_code.co_name)


def user_code() -> CodeType | None:
    """The code of the innermost frame that is not towerstrat's own; None where there is none."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        if _is_users(code.co_filename):
            return code
        frame = frame.f_back
    return None


class Status(enum.Enum):
    """The state of autograph in a thread: outside of converted code, inside of it, or below ``do_not_convert``."""

    UNSPECIFIED = 0
    ENABLED = 1
    DISABLED = 2


class _Conversion(ThreadState):
    """The state and options of autograph in this thread."""

    status = Status.UNSPECIFIED
    options: Any = None


CONVERSION = _Conversion()
_REASONS: dict[int, tuple[weakref.ref[CodeType], str]] = {}
_UNCALLED = "it was called by code that is not converted"


def note_reason(code: CodeType, reason: str) -> None:
    """Records why a code object is not converted; "" for code that is itself the result of a conversion."""
    key = id(code)
    _REASONS[key] = (weakref.ref(code, lambda _: _REASONS.pop(key, None)), reason)


def unconverted() -> str:
    """The end of a message about Python control flow on a tensor: which code was not converted, and why.

    The code is that of the innermost frame that is not towerstrat's own. Empty where no conversion is under way.
    """
    code = user_code()
    entry = None if code is None else _REASONS.get(id(code))
    reason = entry[1] if entry is not None and entry[0]() is code else None
    if code is None or (CONVERSION.status is Status.UNSPECIFIED and reason is None):
        return ""
    where = f"{code.co_name} ({code.co_filename}:{code.co_firstlineno})"
    if reason == "":
        return f"\n  {where} is converted, but not at this place: write it as a statement of if, while or for."
    if CONVERSION.status is Status.DISABLED and reason is None:
        reason = "it is below tf.autograph.experimental.do_not_convert"
    return f"\n  {where} was not converted by autograph: {reason or _UNCALLED}."
