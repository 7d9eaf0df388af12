"""Places where programs train: those of the table of gradients, and those that only this one has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import towerstrat.compat.v1 as tf
from tests.graph.gradients.strategies import (
    ByHand,
    Contrib,
    ContribMirrored,
    ContribTPU,
    Later,
    LaterMirrored,
    LaterTowers,
    LaterTPU,
    Place,
    Single,
)


class ContribOne(Contrib):
    """The strategy of one device of 1.12."""

    def strategy(self) -> Any:
        return tf.contrib.distribute.OneDeviceStrategy("/cpu:0")


class Mirrored15(LaterTowers):
    """Replicas of ``tf.distribute`` as 1.15 had it."""

    tf = tf
    function = staticmethod(tf.contrib.eager.defun)
    variable = Contrib.variable

    def strategy(self) -> Any:
        return tf.distribute.MirroredStrategy([f"CPU:{i}" for i in range(self.count)])


STRATEGIES: dict[str, tuple[Callable[..., Place], Callable[..., Place], int]] = {
    "none": (Single, Later, 1),
    "by hand 2": (ByHand, ByHand, 2),
    "contrib Mirrored 1": (ContribMirrored, ContribMirrored, 1),
    "contrib Mirrored 2": (ContribMirrored, ContribMirrored, 2),
    "contrib Mirrored 3": (ContribMirrored, ContribMirrored, 3),
    "contrib TPU 2": (ContribTPU, ContribTPU, 2),
    "contrib OneDevice": (ContribOne, ContribOne, 1),
    "1.15 Mirrored 2": (Mirrored15, Mirrored15, 2),
    "2.x Mirrored 2": (LaterMirrored, LaterMirrored, 2),
    "2.x TPU 2": (LaterTPU, LaterTPU, 2),
}
"""By name: where programs in graphs run, where others do, and on how many towers."""


def place_of(strategy: str, graph: bool, values: Any, own: Any) -> Place:
    """The place of a strategy."""
    in_graph, at_once, towers = STRATEGIES[strategy]
    return (in_graph if graph else at_once)(towers, values, own)
