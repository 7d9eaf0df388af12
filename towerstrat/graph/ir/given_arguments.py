"""Arguments of the originals: given by a new or an older name, left out, or with a value that nothing here honors."""

from __future__ import annotations

import enum
from typing import Any

from towerstrat.errors import UnsupportedError


def one_of(new: Any, old: Any, new_name: str, old_name: str) -> Any:
    """The argument that was given under its new or its deprecated name."""
    if old is not None and new is not None:
        raise ValueError(f"Cannot specify both '{old_name}' and '{new_name}'.")
    return old if new is None else new


def check_given(function: str, **arguments: object) -> None:
    """Refuses a call that leaves out what has a default only because it may be given by an older name as well.

    Raises:
      TypeError: one of ``arguments`` is None; it names them.
    """
    missing = [name for name, value in arguments.items() if value is None]
    if missing:
        raise TypeError(f"{function}() missing required arguments: {', '.join(missing)}.")


class UnconnectedGradients(enum.Enum):
    """The gradient by an x that no y depends on: None, or zeros of its shape."""

    NONE = "none"
    ZERO = "zero"


def refuse(function: str, instead: str, **arguments: tuple[object, object]) -> None:
    """Raises UnsupportedError for an argument (value, what it may be) that is not what it may be.

    Raises:
      UnsupportedError: it names the function, the argument and what to do instead.
    """
    for name, (value, allowed) in arguments.items():
        if value is not allowed and value != allowed:
            raise UnsupportedError(f"{function}({name}={value!r}): only {name}={allowed!r} is supported. {instead}")
