"""Eight virtual CPU devices, and a fresh default graph for each test."""

import os

os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=8"
os.environ.setdefault("JAX_PLATFORMS", "cpu")

import pytest

import towerstrat.compat.v1  # noqa: F401  (imported first, so that graphs are the default)
from towerstrat.graph.eager import mode
from towerstrat.graph.ir.core import reset_default_graph
from towerstrat.graph.ops.equality import disable_tensor_equality, enable_tensor_equality


@pytest.fixture(autouse=True)
def fresh_graph():
    reset_default_graph()
    yield
    reset_default_graph()


@pytest.fixture
def later_behavior():
    """What 2.x programs find: operations run at once, == of tensors compares values."""
    enable_tensor_equality()
    with mode.eager_mode():
        yield
    disable_tensor_equality()
