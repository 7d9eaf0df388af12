"""The originals' inside: the modules below ``tensorflow.python``, ``contrib``, ``core`` and others, and their names.

1.x means 1.12.3 and 1.15.5 together, 2.x 2.15.1; ``scripts/original_inside.py`` reads their sources. A name is listed
with the public names that its definition is exported under, wherever it is imported.
"""

from __future__ import annotations

import lzma
from collections.abc import Mapping
from functools import cache
from importlib import resources


@cache
def _modules(api: int) -> Mapping[str, str]:
    packed = resources.files("towerstrat.compat.names").joinpath(f"inside_v{api}.txt.xz").read_bytes()
    lines = lzma.decompress(packed).decode().splitlines()
    return {module: names for module, _, names in (line.partition(": ") for line in lines)}


def is_module(path: str, api: int) -> bool:
    """Whether an original has the module ``path``, such as ``python.ops.array_ops``, below ``tensorflow``."""
    return path in _modules(api)


@cache
def names(module: str, api: int) -> Mapping[str, tuple[str, ...]]:
    """The names that a module defines or imports, each with its public names; none where it is no module."""
    entries = (entry.partition("=") for entry in _modules(api).get(module, "").split())
    return {name: tuple(public.split(",")) if public else () for name, _, public in entries}
