"""Destinations of reductions: what names devices, checked and read as a list of their names."""

from __future__ import annotations

from typing import Any

from towerstrat.graph.ir.device_names import canonical
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.indexed_slices import IndexedSlices
from towerstrat.graph.variables.variables import Variable
from towerstrat.towers.engine.distributed_values import DistributedValues
from towerstrat.towers.engine.distributed_variables import Component

_PLACED = Tensor | Variable | Component | IndexedSlices


def check_destinations(destinations: Any) -> bool:
    """Whether there are any destinations."""
    if isinstance(destinations, DistributedValues | Tensor | IndexedSlices):
        return True
    if isinstance(destinations, _PLACED):
        return bool(destinations.device)
    return bool(destinations)


def validate_destinations(destinations: Any) -> None:
    """Raises ValueError for destinations that name no device."""
    if not isinstance(destinations, DistributedValues | str | list | tuple | _PLACED):
        raise ValueError(
            "destinations must be one of a `DistributedValues` object, a tf.Variable object, a device string, a list "
            f"of device strings, got {destinations!r}."
        )
    if not check_destinations(destinations):
        raise ValueError("destinations can not be empty")


def get_devices_from(destinations: Any) -> list[str]:
    """The full names of the devices of destinations."""
    if isinstance(destinations, DistributedValues):
        return list(destinations.devices)
    if isinstance(destinations, str):
        return [canonical(destinations)]
    if isinstance(destinations, list | tuple):
        return [canonical(destination) for destination in destinations]
    return [canonical(destinations.device or "")]


def devices_match(left: Any, right: Any) -> bool:
    """Whether two destinations are the same devices."""
    return left is right or set(get_devices_from(left)) == set(get_devices_from(right))
