"""Variables that towers make one after the other: the first tower makes them, the others get what it made.

Source: ``tensorflow/contrib/distribute/python/shared_variable_creator.py``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from typing import Any

_NUMBERED = re.compile(r"_\d+(?=/|$)")
"""What makes a name unique: it may differ by tower."""


class SharedVariables:
    """The variables that the first tower has made so far, by name and order."""

    def __init__(self, made: dict[str, list[Any]] | None = None) -> None:
        self._made: dict[str, list[Any]] = {} if made is None else made

    def creator(self, tower: int, scope: str = "") -> Callable[..., Any]:
        """The variable creator of one tower, which makes its operations in a name scope of its own (``tower_1``).

        It raises RuntimeError where a later tower makes a variable that the first one did not make.
        """
        if tower == 0:
            return self._create
        taken: Counter[str] = Counter()

        def reuse(next_creator: Callable[..., Any], **kwargs: Any) -> Any:
            name = _without_numbers(_outside(kwargs.get("name"), scope))
            made = self._made.get(name, [])
            if taken[name] >= len(made):
                raise RuntimeError(
                    f"Tried to create variable {name} with mismatching name on device {tower}: the first tower made "
                    f"{len(made)} of that name. Every tower makes the same variables, in the same order."
                )
            taken[name] += 1
            return made[taken[name] - 1]

        return reuse

    def _create(self, next_creator: Callable[..., Any], **kwargs: Any) -> Any:
        variable = next_creator(**kwargs)
        self._made.setdefault(_without_numbers(kwargs.get("name")), []).append(variable)
        return variable


def make_fn(shared_variable_store: dict[str, list[Any]], device_id: int) -> Callable[..., Any]:
    """The variable creator of a tower: number 0 makes variables and keeps them in the store, others take them there."""
    return SharedVariables(shared_variable_store).creator(device_id)


def _outside(name: str | None, scope: str) -> str | None:
    """The name that the first tower gives a variable which a later one names after its own scope."""
    return name if name is None or not scope else re.sub(rf"(^|/){scope}/", r"\1", name, count=1)


def _without_numbers(name: str | None) -> str:
    return "Variable" if name is None else _NUMBERED.sub("", name)
