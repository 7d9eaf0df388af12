"""What the package asks of eager contexts: which is current, and what of the process it stands for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import jax

from towerstrat.graph.eager import mode
from towerstrat.graph.eager.context import context as eager_context
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.runtime.programs.eager_programs import SINGLE_OPERATIONS
from towerstrat.platform.messages import ConfigProto


class Context:
    """The eager context of the process, as libraries see it."""

    @property
    def executing_eagerly(self) -> Callable[[], bool]:
        return mode.executing_eagerly

    def clear_kernel_cache(self) -> None:
        """Forgets the compiled programs of single operations."""
        SINGLE_OPERATIONS.forget()

    def num_gpus(self) -> int:
        """How many GPUs there are."""
        return sum(device.platform == "gpu" for device in jax.devices())


_CONTEXT = Context()


def context() -> Context:
    """The eager context."""
    return _CONTEXT


def async_wait() -> None:
    """Waits for what was begun: for the values of the eager state."""
    eager_context().session.state.wait()


def get_config() -> ConfigProto:
    """The configuration of sessions that are made without one."""
    return ConfigProto()


def get_device_name() -> str:
    """The device that operations are put on, '' where none is named."""
    graph = get_default_graph()
    return graph.current_device


def execute_fn_for_device(
    device_branch_fns: Mapping[str, Callable[[], Any]], default_fn: Callable[[], Any], name: str = "execute_fn"
) -> Any:
    """``default_fn()``: one program is lowered for every kind of device, and no branch is for one alone."""
    return default_fn()


def get_name_scope() -> str:
    """The name scope that is current, without a slash at its end."""
    return get_default_graph().get_name_scope()


def TF_ListPluggablePhysicalDevices() -> list[bytes]:
    """The names of devices that came as plug-ins of TensorFlow's: there are none."""
    return []


def get_enclosing_xla_context() -> None:
    """None: every program is XLA's, and none is a part of a graph that is."""
