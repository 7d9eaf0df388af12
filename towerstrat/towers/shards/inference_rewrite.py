"""``rewrite_for_inference`` of ``tensorflow/contrib/tpu/python/tpu/tpu.py``: computations that only read variables."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any

from towerstrat.graph.ir.graph import Graph, get_default_graph
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ops.array.arrays import guarantee_const
from towerstrat.graph.scopes.variable_scope import get_variable_scope
from towerstrat.towers.cluster.device_assignment import DeviceAssignment
from towerstrat.towers.shards.replication import rewrite
from towerstrat.towers.shards.shard_scope import for_inference
from towerstrat.towers.shards.shard_tracing import Computation


def rewrite_for_inference(
    computation: Computation,
    inputs: list[Any] | tuple[Any, ...] | None = None,
    infeed_queue: None = None,
    device_assignment: DeviceAssignment | None = None,
    name: str | None = None,
) -> Any:
    """``rewrite`` of a computation in which ``tf.get_variable`` gives values, as the variables have them before it.

    Raises:
      NotImplementedError: the computation writes a variable.
    """

    @wraps(computation)
    def inferring(*args: Any) -> Any:
        with for_inference(), _constant_variables():
            return computation(*args)

    return rewrite(inferring, inputs, infeed_queue, device_assignment, name)


@contextmanager
def _constant_variables() -> Iterator[None]:
    """Inside, ``get_variable`` returns the value of the variable."""
    scope = get_variable_scope()
    outer = scope.custom_getter

    def getter(getter: Callable[..., Any], name: str, *args: Any, **kwargs: Any) -> Tensor:
        found = getter(name, *args, **kwargs) if outer is None else outer(getter, name, *args, **kwargs)
        with get_default_graph().control_dependencies(None):
            return guarantee_const(found, name=f"{name}/GuaranteeConst")

    scope.set_custom_getter(getter)
    try:
        yield
    finally:
        scope.set_custom_getter(outer)


def validate_inference_rewrite_for_variables(graph: Graph) -> None:
    """Raises RuntimeError unless a ``rewrite_for_inference`` in the graph has read a variable."""
    if not any(op.type == "GuaranteeConst" for op in graph.get_operations()):
        raise RuntimeError(
            "No GuaranteeConst ops found in the graph after running tpu.rewrite_for_inference(...). Please check that "
            "you are using tf.get_variable() to create and access variables in your tpu computation."
        )
