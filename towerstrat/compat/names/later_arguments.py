"""Arguments that 1.13 to 1.15 gave to functions of 1.12: who writes one means none before 1.13.

``scripts/original_api.py`` writes the file from the originals.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import resources


@cache
def later_arguments() -> Mapping[str, frozenset[str]]:
    """Public name, such as ``tf.gather``, to the arguments that came later."""
    text = resources.files("towerstrat.compat.names").joinpath("later_arguments.txt").read_text(encoding="utf-8")
    pairs = (line.split(": ") for line in text.splitlines())
    return {name: frozenset(arguments.split()) for name, arguments in pairs}
