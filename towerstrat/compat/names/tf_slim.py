"""Names of ``tf.contrib`` that the package tf-slim serves, unedited: it is what contrib's slim and layers became.

The package is loaded when one of these names is first used. It is no dependency: ``pip install 'towerstrat[contrib]'``.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import cache
from types import ModuleType
from typing import Any

from towerstrat.compat.names import name_file
from towerstrat.compat.utilities import arg_scope

PACKAGE = "tf_slim"
OURS = {"tf_slim.ops.arg_scope": arg_scope}
"""Modules of the package that ours stand for: scopes of ``tf.contrib.framework`` and of slim are the same ones."""
HINT = "The package tf-slim has it: pip install 'towerstrat[contrib]'."

NAMES = {row.name: (row.module, row.attribute) for row in name_file.public(PACKAGE, 1)}
"""Dotted public name -> the module of the package and the name in it; "" where it is the module itself."""

PATHS = {
    "contrib.layers.python.layers": "tf_slim.layers",
    "contrib.layers.python.ops": "tf_slim.layers",
    "contrib.losses.python.losses": "tf_slim.losses",
    "contrib.losses.python.metric_learning.metric_loss_ops": "tf_slim.losses.metric_learning",
    "contrib.metrics.python.metrics": "tf_slim.metrics",
    "contrib.metrics.python.ops": "tf_slim.metrics",
    "contrib.slim.nets": "tf_slim.nets",
    "contrib.slim.python.slim": "tf_slim",
    "contrib.training.python.training.training": "tf_slim.training.training",
}
"""Path below ``tensorflow`` -> the module of the package that stands there, with those below it."""


@cache
def available() -> bool:
    """Whether the package is installed, when this was asked first."""
    return importlib.util.find_spec(PACKAGE) is not None


def members(module: str) -> list[str]:
    """The names in a public module such as ``tf.contrib.layers`` that the package serves; none where it is absent."""
    inner = [name.rpartition(".") for name in NAMES]
    return [last for place, _, last in inner if place == module] if available() else []


def load(name: str, bound: Callable[[], AbstractContextManager[None]]) -> Any:
    """The object of a name in ``NAMES``.

    Args:
      bound: inside of it ``import tensorflow``, with which the package's modules begin, means towerstrat.
    """
    module, attribute = NAMES[name]
    with bound():
        found = importlib.import_module(module)
    return getattr(found, attribute) if attribute else found


def module_at(path: str) -> ModuleType | None:
    """The package's module that stands at ``path`` below ``tensorflow``; None where it has none."""
    for place, package in PATHS.items():
        if path == place or path.startswith(f"{place}."):
            name = package + path.removeprefix(place)
            return importlib.import_module(name) if available() and importlib.util.find_spec(name) else None
    return None
