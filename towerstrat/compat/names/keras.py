"""Where ``tf.keras`` is: modules of the package keras 2.15."""

from __future__ import annotations

from types import ModuleType
from typing import Any, NamedTuple

from towerstrat.compat.keras.package import KERAS, Names

PUBLIC = {1: "keras.api._v1.keras", 2: "keras.api._v2.keras"}
"""By namespace: the package's module whose names ``tf.keras`` has."""
_INSIDE = "python.keras"


class Served(NamedTuple):
    """``tf.keras`` of one namespace, loaded when it is asked for.

    Attributes:
      api: 1 or 2. names: what the package imports.
    """

    api: int
    names: Names

    def value(self) -> Any:
        return KERAS.module(PUBLIC[self.api], self.names)


def available() -> bool:
    """Whether the package is installed."""
    return KERAS.available()


def module_at(path: str, api: int, served: Names) -> ModuleType | None:
    """The package's module that stands at ``path`` below ``tensorflow``; None where it has none.

    Args:
      path: such as ``keras.layers``, or ``python.keras.layers`` of the original's inside.
      served: what the package imports.
    """
    if path.split(".")[:2] == _INSIDE.split("."):
        path = path.removeprefix("python.")
    if path.partition(".")[0] != "keras" or not KERAS.available():
        return None
    below = path.removeprefix("keras")
    found = (f"{PUBLIC[api]}{below}", f"keras.src{below}")
    return next((KERAS.module(name, served) for name in found if KERAS.has(name)), None)
