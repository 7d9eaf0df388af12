"""Training as one step loop on all towers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from towerstrat.compat.estimator.tpu.host_calls import Stacked
from towerstrat.compat.estimator.tpu.row_weights import Rows, check_rank
from towerstrat.data.iterators.session_iterators import Iterator
from towerstrat.graph.ir import nest
from towerstrat.graph.ir.default_graph import control_dependencies
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.graph.ir.mesh import Axis
from towerstrat.graph.ir.tensor_conversion import placeholder
from towerstrat.graph.ops.array.arrays import expand_dims, identity
from towerstrat.graph.ops.collectives import all_reduce
from towerstrat.graph.ops.control.branches import group
from towerstrat.towers.distribute.replica_api import ReplicaApi
from towerstrat.towers.engine.step_tracing import trace_step_loop
from towerstrat.towers.shards.shard_tracing import inside
from towerstrat.training.hooks.steps_per_run import get_or_create_steps_per_run_variable


class Trained(NamedTuple):
    """A loop of training steps.

    Attributes:
      spec: what the model function returned. train_op: runs the loop.
      loss: of the last step, the mean over the towers.
      host_call: (function, stand-ins for the tensors), None where there is none.
      holders: the stand-ins. stacks: the values after each step that they stand for.
    """

    spec: Any
    train_op: Operation
    loss: Tensor
    host_call: tuple[Callable[..., Any], Any] | None
    holders: list[Tensor]
    stacks: list[Stacked]


class _Loop(ReplicaApi):
    loop_method = "TPUEstimator.train"


def trained(axis: Axis | None, iterator: Iterator, model: Callable[[Any, Any], Any]) -> Trained:
    """Builds a loop of as many steps as ``get_or_create_steps_per_run_variable`` says.

    Args:
      axis: the towers.
      iterator: its elements have a part for each tower, where there are several.
      model: (features, labels) -> a spec with a training operation.

    Raises:
      ValueError: the gradients of several towers are not added up anywhere; shapes of elements are not known.
    """
    mapped = axis if axis is not None and axis.size > 1 else None
    towers = 1 if mapped is None else mapped.size
    specs: list[Any] = []
    sent: list[Tensor] = []

    def step(context: Any, element: Any) -> Any:
        local = element if mapped is None else nest.map_structure(lambda part: part.local, element)
        with inside(mapped, towers):
            spec = model(*(local if isinstance(local, tuple) and len(local) == 2 else (local, None)))
            specs.append(spec)
            with control_dependencies([spec.train_op]):
                context.last_step_outputs["loss"] = identity(spec.loss)
                sent.extend(identity(t) for t in _outfed(spec))
                context.step_outputs = {"host_call": sent}
        return spec.train_op

    devices = [f"/device:TPU:{i}" for i in range(towers)]
    count = get_or_create_steps_per_run_variable() + 0
    context = trace_step_loop(_Loop(), mapped, devices, step, iterator, count, None, fixed_shapes=True, partial=True)
    _check_reduced(towers)
    (spec,) = specs
    loss = context.last_step_outputs["loss"]
    if not isinstance(loss, Tensor):
        loss = Rows(mapped, None, None).mean(loss.local)
    stacks = [_stacked(value, mapped) for value in context.step_outputs["host_call"]]
    holders = [_holder(t, towers) for t in sent]
    call = (
        None if getattr(spec, "host_call", None) is None else (spec.host_call[0], _packed(spec.host_call[1], holders))
    )
    return Trained(spec, group(context.run_op), loss, call, holders, stacks)


def _outfed(spec: Any) -> list[Tensor]:
    """The tensors of a spec's host call; of one without any the loss, which tells the number of steps.

    Raises:
      RuntimeError: a tensor is a scalar.
    """
    call = getattr(spec, "host_call", None)
    if call is None:
        return []
    tensors = list(call[1].values()) if isinstance(call[1], Mapping) else list(call[1])
    for tensor in tensors:
        check_rank(tensor)
    return tensors or [expand_dims(spec.loss, 0)]


def _packed(like: Any, holders: list[Tensor]) -> Any:
    return dict(zip(like, holders, strict=False)) if isinstance(like, Mapping) else holders[: len(like)]


def _stacked(value: Any, axis: Axis | None) -> Stacked:
    """What a loop gives for a tensor of each step, by tower where towers differ."""
    if axis is None or isinstance(value, Tensor):
        return Stacked([value], 1 if axis is None else axis.size)
    return Stacked([all_reduce.select(value.local, axis, i) for i in range(axis.size)], axis.size)


def _holder(tensor: Tensor, towers: int) -> Tensor:
    """A placeholder for the rows of all towers together."""
    dims = tensor.dims
    first = None if dims is None or dims[0] is None else dims[0] * towers
    return placeholder(tensor.dtype, None if dims is None else [first, *dims[1:]], name="outfeed")


def _check_reduced(towers: int) -> None:
    """Raises ValueError where no operation of the graph adds up what several towers have."""
    if towers > 1 and not any(op.type == "AllReduce" for op in _all(get_default_graph().get_operations())):
        raise ValueError("CrossShardOptimizer must be used for model training on TPUs.")


def _all(operations: Any) -> Any:
    """Operations, and those in their bodies."""
    for op in operations:
        yield op
        for body in op.bodies:
            yield from _all(body.needed)
