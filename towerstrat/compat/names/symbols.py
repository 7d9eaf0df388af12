"""Public functions as programs get them: they know their public names, and dispatchers may take them over."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import FunctionType
from typing import Any, NamedTuple

from towerstrat.compat.names import table
from towerstrat.compat.names.named import Named
from towerstrat.graph.ir.dispatch import dispatching

_ROOMS = ("graph.ops.", "graph.ir.convert", "compat.v1names.", "compat.v2names.", "towers.ops.", "training.ranks")
"""Where functions of tensors are."""
_FIRST = ("math", "linalg", "io", "strings", "bitwise", "sparse", "sets", "image", "signal", "nn", "random", "dtypes")
"""Of several names of a function the canonical one is below one of these, where there is such a one."""


class Symbol(NamedTuple):
    """A name of a table; what it stands for, where it is a function of tensors, is ``dispatching``."""

    named: Named

    def value(self) -> Any:
        found = self.named.value()
        if not isinstance(found, FunctionType) or not self.named.module.startswith(_ROOMS):
            return found
        made = dispatching(found)
        for api, attribute in ((1, "_tf_api_names_v1"), (2, "_tf_api_names")):
            setattr(made, attribute, _places(api).get(self.named, ()))
        return made


@cache
def _places(api: int) -> Mapping[Named, tuple[str, ...]]:
    """Each object's public names without ``tf.``, the canonical one first."""
    found: dict[Named, list[str]] = {}
    for name, value in table.entries(api).items():
        if isinstance(value, Named):
            found.setdefault(value, []).append(name.removeprefix("tf."))
    return {named: tuple(sorted(names, key=_order)) for named, names in found.items()}


def _order(name: str) -> tuple[int, int, str]:
    top, _, below = name.partition(".")
    rank = _FIRST.index(top) if below and top in _FIRST else len(_FIRST) + name.count(".")
    return rank, len(name), name
