"""Switches between what 1.x and 2.x do: ``tf.compat.v1.enable_v2_behavior`` and the single ones.

Some choose between two implementations of the original that give the same values; here there is one.
"""

from __future__ import annotations

from typing import Any

from towerstrat.graph.eager import mode
from towerstrat.graph.ir.numerics_version import ORIGINAL
from towerstrat.graph.ir.shapes import disable_v2_tensorshape, enable_v2_tensorshape
from towerstrat.graph.ops.math.equality import disable_tensor_equality, enable_tensor_equality

_as_v2 = False


def enable_v2_behavior() -> None:
    """From now on the program runs as under 2.x: eagerly, sizes are integers, ``==`` compares elements.

    Raises:
      ValueError: operations were made already.
    """
    global _as_v2
    mode.enable_eager_execution()
    _as_v2 = True
    enable_v2_tensorshape()
    enable_tensor_equality()


def begin_as_v2() -> None:
    """Sets the process up as one that imported 2.x: its switches, and what no switch of the original changes."""
    enable_v2_behavior()
    ORIGINAL.later = True


def disable_v2_behavior() -> None:
    """From now on the program runs as under 1.x: as a graph, sizes are Dimensions, ``==`` is identity.

    Raises:
      ValueError: operations were executed already.
    """
    global _as_v2
    mode.disable_eager_execution()
    _as_v2 = False
    disable_v2_tensorshape()
    disable_tensor_equality()


def v2_behavior_enabled() -> bool:
    """Whether the program runs as under 2.x (``tensorflow.python.tf2.enabled``)."""
    return _as_v2


def in_xla_context(graph: Any) -> bool:
    """False: everything is compiled here, in no context of a graph."""
    return False


def enable_resource_variables() -> None:
    """Changes nothing: variables always are what the original calls resource variables."""


def disable_resource_variables() -> None:
    """Changes nothing: variables always are what the original calls resource variables."""


def resource_variables_enabled() -> bool:
    """True: variables always are what the original calls resource variables."""
    return True


def enable_control_flow_v2() -> None:
    """Changes nothing: there is one implementation of branches and loops."""


def disable_control_flow_v2() -> None:
    """Changes nothing: there is one implementation of branches and loops."""


def control_flow_v2_enabled() -> bool:
    """True: branches and loops are operations with bodies, as the original calls version 2."""
    return True
