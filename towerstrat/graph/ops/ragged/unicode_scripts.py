"""The scripts that code points are written in. The table is that of 2.15; ``scripts/unicode_scripts.py`` made it."""

from __future__ import annotations

import lzma
from collections.abc import Sequence
from functools import cache, partial
from importlib import resources
from typing import Any

import jax.numpy as jnp
import numpy as np

from towerstrat.graph.ir.composite_values import of_each
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.op_registry import Attrs, Signature, define_op
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.graph.ir.types import Array, HostArray, int32
from towerstrat.graph.ops.building.op_builder import add_op

NONE = -1
"""Of what is no code point."""


@cache
def _runs() -> tuple[HostArray, HostArray]:
    """Starts of the runs of code points of one script, and their scripts; what is no code point counts as a run."""
    packed = resources.files("towerstrat.graph.ops.ragged").joinpath("scripts.txt.xz").read_bytes()
    rows = [line.split() for line in lzma.decompress(packed).decode().splitlines()]
    starts = np.cumsum([int(distance, 16) for distance, _ in rows])
    scripts = [int(script, 16) for _, script in rows]
    return np.array([np.iinfo(np.int32).min, *starts, 0x110000], np.int32), np.array([NONE, *scripts, NONE], np.int32)


def _rule(inputs: Sequence[Tensor], attrs: Attrs) -> list[Signature]:
    if inputs[0].dtype is not int32:
        raise TypeError(f"Expected code points of int32, got {inputs[0].dtype.name}.")
    return [Signature(int32, inputs[0].dims)]


def _scripts(x: Array, numpy: Any = jnp) -> Array:
    starts, scripts = (numpy.asarray(part) for part in _runs())
    found: Array = scripts[numpy.searchsorted(starts, x, side="right") - 1]
    return found


define_op("UnicodeScript", _rule, _scripts, numpy=partial(_scripts, numpy=np), differentiable=False)


@of_each
def unicode_script(input: Any, name: str | None = None) -> Any:
    """The script of each code point (int32) as the number that ICU has for it: 0 common, 8 Cyrillic, 25 Latin; int32.

    -1 stands for what is no code point, 103 for code points that Unicode 13 did not know.
    """
    return add_op("UnicodeScript", [convert_to_tensor(input, int32)], {}, name or "UnicodeScript")
