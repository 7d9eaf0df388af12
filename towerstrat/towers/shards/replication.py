"""``tpu.rewrite``, ``replicate``, ``shard`` and ``batch_parallel``: a computation that runs on every shard.

The computation is traced once, under a mesh axis whose positions are the shards, and runs on all of them as one
program. Source: ``tensorflow/contrib/tpu/python/tpu/tpu.py`` and ``tensorflow/python/tpu/tpu.py`` of 1.15.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from towerstrat.errors import UnsupportedError
from towerstrat.graph.ir import nest
from towerstrat.graph.ir.argument_types import TensorLike
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.mesh import Axis
from towerstrat.graph.ir.shapes import TensorShape
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.graph.ir.user_lines import user_line
from towerstrat.graph.ops.array.arrays import identity
from towerstrat.graph.ops.collectives import all_reduce
from towerstrat.towers.cluster.device_assignment import DeviceAssignment
from towerstrat.towers.shards.shard_tracing import Computation, check_place, traced


def replicate(
    computation: Computation,
    inputs: list[Any] | None = None,
    infeed_queue: None = None,
    device_assignment: DeviceAssignment | None = None,
    name: str | None = None,
    maximum_shapes: None = None,
) -> list[Any]:
    """Runs a computation on several shards, each on inputs of its own.

    Args:
      computation: called once, with the inputs of one shard; it returns tensors, operations after them, or a nest of
        tensors alone.
      inputs: ``[shards][inputs]``: for each shard a list of what can be converted to tensors, or nests of that; of the
        same types and shapes everywhere. None: one shard without inputs.
      device_assignment: the devices of the shards; by default the first ones there are.
      name: changes nothing, as in the original.

    Returns:
      For each shard a list of the tensors, or a nest as the computation returned it; where it returned no tensors an
      operation that runs it. Whatever is fetched of it, the operations that were returned run too.

    Raises:
      TypeError: inputs that are no list of lists, or another number of them than the computation takes.
      ValueError: inputs that differ between shards in number, type or shape; outputs that are neither tensors nor
        operations, or tensors after operations; more shards than devices; inside of another computation.
      UnsupportedError: ``infeed_queue`` or ``maximum_shapes``.
    """
    if maximum_shapes is not None:
        raise UnsupportedError(
            "tpu.replicate(maximum_shapes=...): shards of different shapes are not supported. Pad the inputs to one "
            f"shape, with a mask.\n  at: {user_line()}"
        )
    inputs = [[]] if inputs is None else inputs
    if not isinstance(inputs, list) or not all(isinstance(own, list | tuple) for own in inputs):
        raise TypeError(
            f"tpu.replicate() inputs must be a list of lists/tuples, one for each shard, got {inputs!r}.\n"
            f"  at: {user_line()}"
        )
    if not inputs:
        return []
    check_place(infeed_queue)
    flat = [[convert_to_tensor(x) for x in nest.flatten(own)] for own in inputs]
    _check_alike(inputs, flat)

    def entering(axis: Axis | None) -> Any:
        columns = zip(*flat, strict=True)
        return nest.pack_sequence_as(inputs[0], [_own(list(values), axis, i) for i, values in enumerate(columns)])

    names = [t.name for t in flat[0]]
    replicated = traced(computation, entering, len(inputs[0]), names, len(inputs), device_assignment)
    return [replicated.at(shard) for shard in range(len(inputs))]


def rewrite(
    computation: Computation,
    inputs: list[Any] | tuple[Any, ...] | None = None,
    infeed_queue: None = None,
    device_assignment: DeviceAssignment | None = None,
    name: str | None = None,
) -> Any:
    """Runs a computation on one shard. Arguments and result as of one shard of ``replicate``."""
    if inputs is not None and not isinstance(inputs, list | tuple):
        raise TypeError(f"tpu.rewrite() inputs must be a list or tuple, got {inputs!r}.\n  at: {user_line()}")
    return replicate(computation, None if inputs is None else [inputs], infeed_queue, device_assignment, name)[0]


def shard(
    computation: Computation,
    inputs: list[TensorLike] | None = None,
    num_shards: int = 1,
    input_shard_axes: Sequence[int] | None = None,
    outputs_from_all_shards: bool | Sequence[bool] = True,
    output_shard_axes: Sequence[int] | None = None,
    infeed_queue: None = None,
    device_assignment: DeviceAssignment | None = None,
    name: str | None = None,
) -> list[Any]:
    """Runs a computation on the parts of inputs that are divided among shards.

    Args:
      computation: called once, with the part of one shard.
      inputs: a list of what can be converted to tensors; None: none.
      num_shards: the number of shards.
      input_shard_axes: the dimension along which each input is divided; default 0.
      outputs_from_all_shards: for each output, or for all of them, whether to join those of all shards rather than to
        take the first one's.
      output_shard_axes: the dimension along which each output is joined; default 0. Scalars are stacked.
      device_assignment, name: as of ``replicate``.

    Returns:
      A list of tensors, or of one operation where the computation returns no tensors.

    Raises:
      TypeError: inputs that are no list; as ``replicate``.
      ValueError: ``num_shards`` is not positive; a list of another length than there are inputs or outputs; an input
        that does not divide; as ``replicate``.
    """
    if num_shards <= 0:
        raise ValueError(f"num_shards must be a positive integer, got {num_shards}.")
    if not isinstance(inputs, list | None):
        raise TypeError(f"tpu.shard()'s inputs must be a list of Tensors or None, got {inputs!r}.\n  at: {user_line()}")
    check_place(infeed_queue)
    tensors = [convert_to_tensor(x) for x in inputs or ()]
    input_axes = _one_for_each(input_shard_axes, len(tensors), "input_shard_axes", "inputs", 0)

    def entering(axis: Axis | None) -> list[Tensor]:
        return [_part(x, axis, dim, i) for i, (x, dim) in enumerate(zip(tensors, input_axes, strict=True))]

    names = [t.name for t in tensors]
    replicated = traced(computation, entering, len(tensors), names, num_shards, device_assignment)
    if not replicated.tensors:
        return [replicated.at(0)]
    if not isinstance(replicated.structure, list | tuple) or len(replicated.structure) != len(replicated.tensors):
        raise ValueError(
            f"tpu.shard() joins the outputs of a list of tensors; the computation returned {replicated.structure!r}. "
            "tpu.replicate returns nests."
        )
    count = len(replicated.tensors)
    output_axes = _one_for_each(output_shard_axes, count, "output_shard_axes", "outputs", 0)
    if isinstance(outputs_from_all_shards, bool):
        outputs_from_all_shards = [outputs_from_all_shards] * count
    from_all = _one_for_each(outputs_from_all_shards, count, "outputs_from_all_shards", "outputs", True)
    first = None if all(from_all) else replicated.at(0)
    return [
        replicated.joined(i, dim) if whole or first is None else first[i]
        for i, (dim, whole) in enumerate(zip(output_axes, from_all, strict=True))
    ]


def batch_parallel(
    computation: Computation,
    inputs: list[TensorLike] | None = None,
    num_shards: int = 1,
    infeed_queue: None = None,
    device_assignment: DeviceAssignment | None = None,
    name: str | None = None,
) -> list[Any]:
    """``shard`` along the first dimension of all inputs and outputs."""
    return shard(
        computation, inputs, num_shards, infeed_queue=infeed_queue, device_assignment=device_assignment, name=name
    )


def _one_for_each(given: Sequence[Any] | None, count: int, argument: str, of_what: str, default: Any) -> Sequence[Any]:
    values = [default] * count if given is None else given
    if len(values) != count:
        raise ValueError(
            f"Length of {argument} must be equal to the number of {of_what}: got {len(values)} for {count}.\n"
            f"  at: {user_line()}"
        )
    return values


def _check_alike(inputs: list[Any], flat: list[list[Tensor]]) -> None:
    """Raises ValueError where the inputs of the shards differ in number, structure, type or shape."""
    types = [t.dtype for t in flat[0]]
    for i, (own, tensors) in enumerate(zip(inputs, flat, strict=True)):
        if len(own) != len(inputs[0]):
            raise ValueError(
                f"Replicas must have the same number of inputs. Replica 0 had {len(inputs[0])} inputs, replica {i} had "
                f"{len(own)} inputs.\n  at: {user_line()}"
            )
        nest.assert_same_structure(inputs[0], own, check_types=False)
        if [t.dtype for t in tensors] != types:
            raise ValueError(
                f"Replicas must have matching input types. Replica 0 had input types {types}, replica {i} had input "
                f"types {[t.dtype for t in tensors]}.\n  at: {user_line()}"
            )
        for first, tensor in zip(flat[0], tensors, strict=True):
            if not first.shape.is_compatible_with(tensor.shape):
                raise ValueError(
                    f"Replicas must have inputs of one shape. Replica 0 had {first.shape}, replica {i} has "
                    f"{tensor.shape}.\n  at: {user_line()}"
                )


def _part(whole: Tensor, axis: Axis | None, dim: int, index: int) -> Tensor:
    """The part of an input that one shard gets."""
    name = f"replicated_input_{index}"
    return identity(whole, name) if axis is None else all_reduce.divide(whole, axis, dim, name)


def _own(values: list[Tensor], axis: Axis | None, index: int) -> Tensor:
    """An input as one shard sees it, from those of all shards."""
    name = f"replicated_input_{index}"
    if axis is None:
        return identity(values[0], name)
    entered = all_reduce.distribute(values, axis, name)
    shape = TensorShape(None)
    for value in values:
        shape = shape.merge_with(value.shape)
    entered.set_shape(shape)
    return entered
