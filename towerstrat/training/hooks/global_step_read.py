"""The global step as hooks fetch it."""

from __future__ import annotations

from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.training.base.global_step import get_or_create_global_step_read


def required_step_read(hook: str) -> Tensor:
    """The tensor of the global step before the run. Raises RuntimeError, naming the hook, where there is no step."""
    read = get_or_create_global_step_read()
    if read is None:
        raise RuntimeError(
            f"Global step should be created to use {hook}. Call tf.train.get_or_create_global_step() first, and pass "
            "it to Optimizer.minimize."
        )
    return read
