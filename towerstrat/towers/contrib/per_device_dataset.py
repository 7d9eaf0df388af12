"""Datasets whose iterators give one element to each tower."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from towerstrat.data.api.dataset import Dataset
from towerstrat.data.api.dataset_v1 import make_initializable_iterator, one_shot_iterator
from towerstrat.data.files.file_sharding import of_files
from towerstrat.data.iterators.collective_reads import are_alike, gather_next
from towerstrat.data.iterators.iterator_resource import IteratorResource
from towerstrat.data.iterators.session_iterators import Iterator, Session, iterator_resource, with_operation
from towerstrat.data.pipeline.ordering import Shard
from towerstrat.errors import InvalidArgumentError, OutOfRangeError
from towerstrat.graph.eager.context import context
from towerstrat.graph.eager.positions import ShardedTensor
from towerstrat.graph.ir import nest
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.graph.ir.mesh import Axis
from towerstrat.graph.ir.op_registry import Signature, define_op
from towerstrat.graph.ir.uneven_shards import UnevenShards
from towerstrat.hosts.process_index import PROCESSES
from towerstrat.towers.engine.batch_splitting import ElementPerReplica, share_of
from towerstrat.towers.engine.distributed_values import per_device
from towerstrat.towers.engine.local_batches import dealt


class PerDeviceDataset:
    """A dataset of which each tower gets every n-th element.

    Args:
      dataset: its elements go to the towers in turn.
      devices: the towers' devices.
      axis: the towers' axis, None for one tower.
      uneven: whether the towers' elements may have different shapes.
      sharded: whether each of several processes gets every n-th file, or every n-th element where there are none, for
        its own towers. Processes whose datasets differ have divided them themselves: the towers of each get the
        elements of its own. Else all have the same one, whose elements go to all towers in turn.
    """

    def __init__(
        self, dataset: Dataset, devices: Sequence[str], axis: Axis | None, uneven: bool = False, sharded: bool = False
    ):
        self._uneven = uneven
        self._dataset = dataset
        if axis is not None and axis.is_multi_process:
            source = dataset.node
            apart = not are_alike(source)
            if sharded and not apart:
                shared = of_files(source, PROCESSES.count, PROCESSES.index)
                source, apart = shared or Shard(source, PROCESSES.count, PROCESSES.index), True
            share = share_of(axis, apart)
            whole = ElementPerReplica([source], share, apart=apart)
            whole.whole = True
            own = None if apart else dealt(source, share, share.count, whole)
            self._dataset = Dataset._made(whole if own is None else own)
        self._devices = list(devices)
        self._axis = axis

    @property
    def output_types(self) -> Any:
        return self._dataset.node.structure.types

    @property
    def output_shapes(self) -> Any:
        return self._dataset.node.structure.shapes

    @property
    def output_classes(self) -> Any:
        return self._dataset.node.structure.classes

    def make_one_shot_iterator(self) -> PerDeviceDataIterator:
        return PerDeviceDataIterator(one_shot_iterator(self._dataset), self._devices, self._axis, self._uneven)

    def make_initializable_iterator(self, shared_name: str | None = None) -> PerDeviceDataIterator:
        iterator = make_initializable_iterator(self._dataset, shared_name)
        return PerDeviceDataIterator(iterator, self._devices, self._axis, self._uneven)


class PerDeviceDataIterator:
    """An iterator over a distributed dataset."""

    def __init__(self, iterator: Iterator, devices: Sequence[str], axis: Axis | None, uneven: bool = False):
        self._uneven = uneven
        self.iterator = iterator
        self.iterator.in_parts = axis is not None and axis.is_multi_process
        self._devices = list(devices)
        self._axis = axis

    @property
    def initializer(self) -> Operation:
        return self.iterator.initializer

    @property
    def output_types(self) -> Any:
        return self.iterator.output_types

    @property
    def output_shapes(self) -> Any:
        return self.iterator.output_shapes

    @property
    def output_classes(self) -> Any:
        return self.iterator.output_classes

    def get_next(self, name: str | None = None) -> Any:
        """The next element for each tower: a structure of per-device values.

        Running it takes one element per tower, in order; ``OutOfRangeError`` where not every tower can have one, and
        the elements that were left stay in the iterator.
        """
        if self._axis is None:
            return self.iterator.get_next(name)
        types, dims = self.iterator.structure.dtypes, self.iterator.structure.dims
        op = get_default_graph().add(
            "DistributedIteratorGetNext",
            self.iterator.handles(),
            {
                **{"types": types, "dims": dims, "axis": self._axis, "iterator": self.iterator.position},
                "uneven": self._uneven,
            },
            name or "IteratorGetNext",
        )
        found: Sequence[Tensor] = op.outputs
        if get_default_graph().executing_eagerly:
            found = [
                ShardedTensor(context(), t.host(), t.dtype, self._axis, t.dims[1:])  # type: ignore[attr-defined, index]
                for t in found
            ]
        for tensor in found:
            tensor.varies = True
        parts = [per_device(t, self._devices, self._axis) for t in found]
        return nest.pack_sequence_as(self.iterator.output_types, parts)


def _next_for_all(session: Session, op: Operation, values: Sequence[Any]) -> list[Any]:
    source = iterator_resource(session, op, values)
    axis: Axis = op.attrs["axis"]
    if axis.is_multi_process:
        return _of_processes(source, op, axis)
    taken: list[Any] = []
    for _ in range(axis.size):
        try:
            taken.append(source.next())
        except StopIteration:
            count = len(taken)
            source.push_back(taken)
            raise OutOfRangeError(
                None,
                op,
                f"End of sequence: {axis.size} towers need {axis.size} elements, {count} "
                f"{'is' if count == 1 else 'are'} left.",
            ) from None
        except BaseException as error:
            source.push_back(taken)
            raise with_operation(error, op) from error.__cause__
    shapes = [[np.shape(part) for part in element] for element in taken]
    alike = all(other == shapes[0] for other in shapes)
    if not alike and op.attrs["uneven"]:
        return [UnevenShards.of(parts) for parts in zip(*taken, strict=True)]
    if not alike:
        source.push_back(taken)
        raise InvalidArgumentError(
            None,
            op,
            f"The towers' next elements have different shapes: {shapes}. Use batch(..., drop_remainder=True).",
        )
    return [np.stack(parts) for parts in zip(*taken, strict=True)]


def _of_processes(source: IteratorResource, op: Operation, axis: Axis) -> list[Any]:
    try:
        return gather_next(source, axis, op.attrs["uneven"])
    except StopIteration as end:
        said = f"End of sequence: {axis.size} towers need {axis.size} elements, fewer are left{end.value or ''}."
        raise OutOfRangeError(None, op, said) from None
    except Exception as error:
        raise with_operation(error, op) from error.__cause__


def _rule(inputs: Sequence[Any], attrs: Mapping[str, Any]) -> list[Signature]:
    return [Signature(t, d) for t, d in zip(attrs["types"], attrs["dims"], strict=True)]


define_op(
    "DistributedIteratorGetNext",
    _rule,
    host=_next_for_all,
    stateful=True,
    differentiable=False,
    hidden=("iterator", "axis", "uneven"),
)
