"""The values that towers have of their own, such as the statistics of batch normalization: saved beside a checkpoint.

The checkpoint has one value for all towers, their sum, mean or the first one's, as the originals write it. A run goes
on to the bit from the values of each: they take the place of that one value wherever it is the one that they make.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import make_varying
from towerstrat.graph.ir.mesh import everywhere
from towerstrat.graph.ir.state import StateStore, StateVariable
from towerstrat.graph.ir.types import HostArray


def own_values(store: StateStore) -> dict[str, HostArray]:
    """The towers' values ``[towers, ...]`` by name, of variables whose one value does not say them."""
    found = {}
    for cell in store:
        if cell.default is None and cell.is_varying and cell.dims is not None:
            values = np.asarray(everywhere(cell.stacked(store.get(cell))))
            if not _same(values, cell.divided(cell.joined(values))):
                found[cell.name] = values
    return found


def take_own_values(store: StateStore, cells: Iterable[StateVariable]) -> None:
    """Gives variables that were restored, as far as values of towers are expected for them, these values."""
    for cell in cells if store.own_values else ():
        values = store.own_values.get(cell.name)
        if values is not None and cell in store and _fits(cell, store.get(cell), values):
            store.update({cell: np.array(values)})


def _fits(cell: StateVariable, value: Any, values: HostArray) -> bool:
    """Whether the values of towers make the value of a variable, which then has one for each."""
    axis = cell.axis if cell.is_varying else cell.own
    if axis is None or axis.size != len(values) or cell.dtype.np != values.dtype:
        return False
    if not cell.is_varying:
        if not get_default_graph().executing_eagerly or not _same(values[0], value):
            return False
        make_varying(cell, get_default_graph())
        return True
    return _same(cell.joined(values), cell.joined(value))


def _same(one: Any, other: Any) -> bool:
    one, other = np.asarray(one), np.asarray(other)
    return one.shape == other.shape and one.tobytes() == other.tobytes()
