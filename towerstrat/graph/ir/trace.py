"""Where in the user's program something was created."""

from __future__ import annotations

import contextlib
import linecache
import os
import sys
from collections.abc import Callable
from types import CodeType
from typing import NamedTuple

_OURS = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))) + os.sep
_CONTEXTS = contextlib.__file__
"""Where the frames between a ``with`` of ours and its body lie."""


class UserLine(NamedTuple):
    """A line of the user's program: file, 1-based line number and function name."""

    filename: str
    lineno: int
    function: str

    @property
    def text(self) -> str:
        return linecache.getline(self.filename, self.lineno).strip()

    def __str__(self) -> str:
        place = f"{self.filename}:{self.lineno} in {self.function}"
        return f"{place}: {self.text}" if self.text else place


def user_line() -> UserLine:
    """The innermost frame of the calling thread that is not towerstrat's own."""
    frame = sys._getframe(1)
    last = frame
    while frame is not None:
        code = frame.f_code
        if not code.co_filename.startswith(_OURS) and code.co_filename != _CONTEXTS:
            return UserLine(code.co_filename, frame.f_lineno, code.co_name)
        last = frame
        frame = frame.f_back  # type: ignore[assignment]
    return UserLine(last.f_code.co_filename, last.f_lineno, last.f_code.co_name)


def user_code() -> CodeType | None:
    """The code of that frame; None where there is none."""
    frame = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        if not code.co_filename.startswith(_OURS) and code.co_filename != _CONTEXTS:
            return code
        frame = frame.f_back  # type: ignore[assignment]
    return None


_explanations: list[Callable[[], str]] = []


def explain_unconverted_with(function: Callable[[], str]) -> None:
    """Sets what ``unconverted`` asks: source conversion, which stands above this module."""
    _explanations[:] = [function]


def unconverted() -> str:
    """For the end of a message: which code of the user's was not converted to graph operations, and why, if known."""
    said = _explanations[0]() if _explanations else ""
    return f"\n  {said}" if said else ""
