"""Hints for calls with a misspelt argument: the argument that was meant."""

from __future__ import annotations

import difflib
import inspect
import re
from collections.abc import Iterator
from typing import Any

from towerstrat.compat.names import public_names

_UNEXPECTED = re.compile(
    r"^(?P<function>[\w.<>]+)\(\) got an unexpected keyword argument '(?P<argument>\w+)'(?P<meant>\. Did you mean .*)?$"
)  # from 3.13 on Python names the nearest itself


def hint(error: BaseException) -> str | None:
    """The argument of one of our functions that is spelt most like the one that it does not take; None otherwise."""
    found = _UNEXPECTED.match(str(error)) if isinstance(error, TypeError) else None
    if found is None:
        return None
    for name, taken in _functions(found["function"]):
        near = difflib.get_close_matches(found["argument"], taken, n=1)
        if near:
            meant = "" if found["meant"] else f"Did you mean {near[0]!r}? "
            return f"{meant}{name} takes {', '.join(taken)}."
    return None


def _functions(qualified: str) -> Iterator[tuple[str, list[str]]]:
    """The public names of a function or method, each with the arguments that it takes by name."""
    owner, _, member = qualified.rpartition(".")
    for api in (1, 2):
        for name, value in sorted(public_names.names(api).items(), key=lambda entry: (entry[0].count("."), entry[0])):
            own = getattr(value, "__qualname__", None)
            if own == qualified and not inspect.isclass(value):
                yield name, _taken(value)
            elif own == owner and inspect.isclass(value) and hasattr(value, member):
                shown = name if member == "__init__" else f"{name}.{member}"
                yield shown, _taken(getattr(value, member))


def _taken(function: Any) -> list[str]:
    parameters = inspect.signature(function).parameters.values()
    return [p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY) and p.name != "self"]
