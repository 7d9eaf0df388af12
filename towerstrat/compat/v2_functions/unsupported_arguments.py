"""What a translation says of an argument that nothing here can honor."""

from __future__ import annotations

from typing import Any

from towerstrat.errors import UnsupportedError


def refuse(function: str, instead: str, **given: tuple[Any, Any]) -> None:
    """Raises UnsupportedError for an argument (value, what it may be) that is not what it may be.

    Raises:
      UnsupportedError: it names the function, the argument and what to do instead.
    """
    for name, (value, allowed) in given.items():
        if value is not allowed and value != allowed:
            raise UnsupportedError(f"{function}({name}={value!r}): only {name}={allowed!r} is supported. {instead}")
