"""``tensorflow.python.distribute.device_util``: names of devices with all their parts."""

from __future__ import annotations

from towerstrat.graph.eager.mode import executing_eagerly_outside_functions
from towerstrat.graph.ir.device_names import merge_device
from towerstrat.graph.ir.graph import get_default_graph


def canonicalize(d: str | None, default: str | None = None) -> str:
    """A device's name with the parts that it lacks taken from ``default``, then from the first CPU's name.

    Raises:
      ValueError: it is malformed.
    """
    job = "/job:localhost" if executing_eagerly_outside_functions() else ""
    return merge_device(merge_device(f"{job}/replica:0/task:0/device:CPU:0", default or ""), d or "")


def current() -> str:
    """The name of the device that operations are placed on here, with the parts that were chosen."""
    return get_default_graph().current_device


def resolve(d: str | None) -> str:
    """``canonicalize`` with the parts of the current device."""
    return canonicalize(d, default=current())
