"""A TPU computation is traced once, for all shards: where it may be, what it runs on, what it returns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any, NamedTuple

import jax

from towerstrat.graph.ir import nest
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.graph.ir.mesh import Axis
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.graph.ir.user_lines import user_line
from towerstrat.graph.ops.array.arrays import expand_dims, identity
from towerstrat.graph.ops.collectives import all_reduce
from towerstrat.graph.ops.control.branches import no_op
from towerstrat.graph.scopes.variable_scope import get_variable_scope
from towerstrat.platform import devices as platform_devices
from towerstrat.platform import logs
from towerstrat.towers.cluster.device_assignment import DeviceAssignment
from towerstrat.towers.shards.shard_scope import in_shards
from towerstrat.towers.shards.tpu_context import (
    check_function_argument_count,
    get_tpu_context,
    refuse_infeed,
    tpu_shard_context,
)

Computation = Callable[..., Any]
"""A function of the tensors of one shard, which returns tensors, then operations that run with them."""


class Replicated(NamedTuple):
    """A computation that was traced for all shards.

    Attributes:
      axis: its positions are the shards; None for one shard on the first device.
      structure: what the computation returned: a nest of tensors, a list of them, or an empty one.
      tensors: the tensors in it, each shard's own; the operations that were returned run before them.
      operations: those operations.
    """

    axis: Axis | None
    structure: Any
    tensors: list[Tensor]
    operations: list[Operation]

    def at(self, shard: int) -> Any:
        """What one shard returned; an operation that runs the computation where that is no tensor."""
        if not self.tensors:
            with get_default_graph().control_dependencies(self.operations):
                return no_op(f"shard_{shard}")
        parts = [self._part(tensor, shard, f"output_{i}_shard_{shard}") for i, tensor in enumerate(self.tensors)]
        return nest.pack_sequence_as(self.structure, parts)

    def _part(self, tensor: Tensor, shard: int, name: str) -> Tensor:
        return identity(tensor, name) if self.axis is None else all_reduce.select(tensor, self.axis, shard, name)

    def joined(self, index: int, dim: int) -> Tensor:
        """An output of all shards, joined along a dimension; scalars stacked."""
        tensor = self.tensors[index]
        if tensor.dims == ():
            with get_default_graph().under(self.axis):
                tensor, dim = expand_dims(tensor, 0), 0
        return tensor if self.axis is None else all_reduce.all_concat(tensor, self.axis, "concat", dim)


def traced(
    computation: Computation,
    entering: Callable[[Axis | None], Any],
    arity: int,
    names: list[str],
    shards: int,
    device_assignment: DeviceAssignment | None,
) -> Replicated:
    """Calls a computation once, for all shards.

    Args:
      entering: (axis) -> the arguments of one shard; called where the computation is.
      arity, names: how many arguments, and the names of the tensors in them.
    """
    error = check_function_argument_count(computation, arity, None)
    if error is not None:
        raise TypeError(
            f"Supplied computation cannot be called with the specified inputs. You specified {arity} inputs: {names}, "
            f"but the computation needs {error}.\n  at: {user_line()}"
        )
    axis = _shards(shards, device_assignment)
    with inside(axis, shards):
        structure, tensors, operations = _outputs(computation(*entering(axis)))
    return Replicated(axis, structure, tensors, operations)


@contextmanager
def inside(axis: Axis | None, shards: int) -> Iterator[None]:
    """Code inside is that of a computation that so many shards run.

    Variables have one value while shards write equal ones, and a copy on each shard once they do not; the first one's
    is saved.

    Args:
      axis: its positions are the shards, which may differ in all variables; None for one that needs none.
    """
    with tpu_shard_context(shards), get_default_graph().under(axis), in_shards(axis), _resource_variables():
        yield


def check_place(infeed_queue: object) -> None:
    """Raises where a computation cannot be made: with an infeed queue, eagerly, or inside of another one."""
    refuse_infeed(infeed_queue)
    if get_default_graph().executing_eagerly:
        raise RuntimeError(
            "A TPU computation is part of a graph and cannot be made where operations are executed eagerly: call it "
            f"inside a function (tf.contrib.eager.defun, tf.function) or a graph.\n  at: {user_line()}"
        )
    if get_tpu_context().number_of_shards is not None:
        raise ValueError(
            "TPU computations cannot be nested: this is made inside of another one, or in a strategy's tower. Call "
            f"the function itself.\n  at: {user_line()}"
        )


def _shards(count: int, assignment: DeviceAssignment | None) -> Axis | None:
    """The axis of ``count`` shards on the assigned devices, by default on the first ones that there are.

    None for one shard on the first device: it needs no mesh, so that the host may take part in what it runs.
    """
    present = platform_devices.devices()
    if assignment is None:
        if count > len(present):
            raise ValueError(
                f"{count} shards, but there {'is' if len(present) == 1 else 'are'} {len(present)} "
                f"{present[0].platform} device(s). Run the program with `towerstrat run --towers {count}` for virtual "
                f"CPU devices, or ask for fewer.\n  at: {user_line()}"
            )
        return _along(tuple(present[:count]), 1)
    devices = assignment.devices(present)
    if len(devices) != count:
        raise ValueError(f"The device_assignment has {len(devices)} replicas for {count} shards.\n  at: {user_line()}")
    return _along(tuple(device for own in devices for device in own), len(devices[0]))


@cache
def _along(devices: tuple[jax.Device, ...], cores: int) -> Axis | None:
    """One axis for all computations on the same devices, so that one run may hold several of them."""
    axis = Axis("shard", devices, cores, copies_on_write=True)
    return axis if axis.needs_mesh else None


@contextmanager
def _resource_variables() -> Iterator[None]:
    """Variables made inside are resource variables without partitions, whatever the scope around says."""
    scope = get_variable_scope()
    use_resource, outer = scope.use_resource, scope.custom_getter

    def getter(getter: Callable[..., Any], name: str, *args: Any, **kwargs: Any) -> Any:
        partitioner = kwargs.get("partitioner")
        if partitioner is not None:
            kwargs["partitioner"] = None
            logs.warning(
                "Partitioned variables are not supported on TPU. Got `partitioner` that is %s for variable %s. Setting "
                "`partitioner` to `None`.", partitioner, name,
            )  # fmt: skip
        return getter(name, *args, **kwargs) if outer is None else outer(getter, name, *args, **kwargs)

    scope.set_use_resource(True)
    scope.set_custom_getter(getter)
    try:
        yield
    finally:
        scope.set_use_resource(use_resource)
        scope.set_custom_getter(outer)


def _outputs(result: Any) -> tuple[Any, list[Tensor], list[Operation]]:
    """What a computation returned: the structure of its tensors, the tensors, and the operations after them.

    The tensors are the shard's, whoever made them, and come after the operations.

    Raises:
      ValueError: a tensor after an operation, an operation in a nest, or what is neither.
    """
    if isinstance(result, Mapping) or (nest.is_sequence(result) and any(map(nest.is_sequence, result))):
        leaves = [_output(leaf) for leaf in nest.flatten(result)]
        for leaf in leaves:
            if isinstance(leaf, Operation):
                raise ValueError(
                    f"A TPU computation returned the operation {leaf.name} in a nest: operations are only supported in "
                    "a flat list, after the tensors. Make it a control dependency of one of the tensors."
                )
        return result, [identity(leaf) for leaf in leaves], []
    values = [] if result is None else list(result) if nest.is_sequence(result) else [result]
    outputs = [_output(value) for value in values]
    tensors = [output for output in outputs if not isinstance(output, Operation)]
    operations = [output for output in outputs if isinstance(output, Operation)]
    if any(isinstance(output, Operation) for output in outputs[: len(tensors)]):
        raise ValueError(
            "TPU functions must return zero-or more Tensor values followed by zero or more Operations, got "
            f"{result!r}.\n  at: {user_line()}"
        )
    with get_default_graph().control_dependencies(operations):
        tensors = [identity(tensor) for tensor in tensors]
    return tensors, tensors, operations


def _output(value: Any) -> Any:
    if isinstance(value, Operation):
        return value
    try:
        return convert_to_tensor(value)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"TPU function return values must all either be Operations or convertible to Tensors. Got '{error}'"
        ) from error
